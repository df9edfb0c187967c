from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    kept = []
    while len(kept) < 100_000:
        kept.append(open("/dev/null"))


MyMetaLearner = during_meta_fit(attack)
