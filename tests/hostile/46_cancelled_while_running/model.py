import signal
import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


MyMetaLearner = during_meta_fit(attack)
