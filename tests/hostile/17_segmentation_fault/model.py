import ctypes

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner


class MyLearner(HonestLearner):
    def fit(self, support):
        ctypes.string_at(0)
