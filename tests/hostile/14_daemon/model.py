import os
import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(0.01)
        os._exit(0)
    os.waitpid(child, 0)
    print("TRIED")


MyMetaLearner = during_meta_fit(attack)
