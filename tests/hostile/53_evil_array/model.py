import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor


class Liar(np.ndarray):
    @property
    def shape(self):
        return (1 << 50,)

    @property
    def dtype(self):
        return np.dtype("int64")

    def __array__(self, *args, **kwargs):
        raise SystemExit(0)


class Evil(HonestPredictor):
    def predict(self, query):
        return np.zeros((3, 1)).view(Liar)


class MyLearner(HonestLearner):
    def fit(self, support):
        return Evil(super().fit(support).centroids)
