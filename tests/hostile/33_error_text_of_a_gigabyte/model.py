from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    raise ValueError("x" * (1 << 30))


MyMetaLearner = during_meta_fit(attack)
