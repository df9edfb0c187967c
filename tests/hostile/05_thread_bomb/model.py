import threading
import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    while True:
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()


MyMetaLearner = during_meta_fit(attack)
