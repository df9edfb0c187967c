import _socket
import socket
import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    began = time.monotonic()
    expect_refusal("raw lookup", lambda: _socket.getaddrinfo("localhost.invalid", 80))
    try:
        socket.getaddrinfo("example.invalid", 80)
    except OSError as error:
        print("TRIED lookup", error)
    if time.monotonic() - began > 5:
        print("BREACH it took a network time-out")


MyMetaLearner = during_meta_fit(attack)
