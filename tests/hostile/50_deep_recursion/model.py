import sys

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")


def attack():
    sys.setrecursionlimit(10**9)
    value = []
    for _ in range(3_000_000):
        value = [value]
    repr(value)


MyMetaLearner = during_meta_fit(attack)
