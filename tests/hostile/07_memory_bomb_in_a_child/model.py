import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    child = os.fork()
    if child == 0:
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")
        except OSError:
            pass
        blocks = []
        while True:
            blocks.append(bytearray(b"x") * (16 << 20))
    _, code = os.waitpid(child, 0)
    print("TRIED child ended by signal", os.WTERMSIG(code))


MyMetaLearner = during_meta_fit(attack)
