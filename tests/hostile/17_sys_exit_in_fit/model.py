import sys

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner


class MyLearner(HonestLearner):
    def fit(self, support):
        sys.exit(0)
