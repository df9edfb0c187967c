import sys

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    for _ in range(200):
        sys.stdout.write("x" * 1_000_000)
    print()


MyMetaLearner = during_meta_fit(attack)
