import struct
import sys
import time

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, send_raw


def stolen_turn():
    frame = sys._getframe()
    while frame is not None:
        payload = frame.f_locals.get("payload")
        if isinstance(payload, bytes) and len(payload) >= 8:
            return payload[:8]
        frame = frame.f_back
    return b"\0" * 8


class MyLearner(HonestLearner):
    def fit(self, support):
        for _ in range(2):
            send_raw(struct.pack("<B3xI", 6, 8) + stolen_turn())
        time.sleep(1)
        return super().fit(support)
