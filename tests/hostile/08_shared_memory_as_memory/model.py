import errno

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    block = b"x" * (4 << 20)
    written = 0
    try:
        with open("/dev/shm/filler", "wb", buffering=0) as file:
            while written < (4 << 30):
                written += file.write(block)
        print("BREACH wrote", written)
    except OSError as error:
        print("TRIED", errno.errorcode[error.errno], written)


MyMetaLearner = during_meta_fit(attack)
