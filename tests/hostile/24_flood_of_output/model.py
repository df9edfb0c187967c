import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    block = b"spam and more spam\n" * 4096
    while True:
        os.write(1, block)


MyMetaLearner = during_meta_fit(attack)
