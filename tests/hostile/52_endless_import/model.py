import time

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401

time.sleep(3600)
