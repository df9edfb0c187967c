import _socket

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    for family in range(2, 46):
        for kind in (_socket.SOCK_STREAM, _socket.SOCK_DGRAM, _socket.SOCK_RAW, _socket.SOCK_SEQPACKET):
            expect_refusal(f"family {family} kind {int(kind)}", lambda: _socket.socket(family, kind, 0))


MyMetaLearner = during_meta_fit(attack)
