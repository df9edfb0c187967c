import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor


class Wrong(HonestPredictor):
    def predict(self, query):
        logits = super().predict(query)
        return np.concatenate([logits, logits[:, :1]], axis=1)


class MyLearner(HonestLearner):
    def fit(self, support):
        return Wrong(super().fit(support).centroids)
