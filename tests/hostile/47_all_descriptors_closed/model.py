import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit

MyMetaLearner = during_meta_fit(lambda: os.closerange(0, 1024))
