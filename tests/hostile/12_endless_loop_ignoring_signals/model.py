import signal

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


MyMetaLearner = during_meta_fit(attack)
