import time

from anyshot_starting_kit.runner import learnerblob
from honest import HonestLearner as MyLearner  # noqa: F401
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401

export = learnerblob.export


def train_on(*arguments):
    print("TRIED", flush=True)
    until = time.monotonic() + 100
    while time.monotonic() < until:
        sum(range(10_000))
    yield from export(*arguments)


learnerblob.export = train_on
