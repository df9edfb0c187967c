import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    with open("sparse", "wb") as file:
        expect_refusal("truncate", lambda: os.ftruncate(file.fileno(), 1 << 40))
        expect_refusal("seek and write", lambda: os.pwrite(file.fileno(), b"x", 1 << 40))


MyMetaLearner = during_meta_fit(attack)
