from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    blocks = []
    while True:
        blocks.append(bytearray(b"x") * (16 << 20))


MyMetaLearner = during_meta_fit(attack)
