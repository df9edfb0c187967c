import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    here = os.getcwd()
    for _ in range(1000):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(here)
    for number in range(1_000_000):
        os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))


MyMetaLearner = during_meta_fit(attack)
