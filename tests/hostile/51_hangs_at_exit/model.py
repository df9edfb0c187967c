import atexit
import threading
import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401

atexit.register(time.sleep, 3600)
threading.Thread(target=time.sleep, args=(3600,)).start()
