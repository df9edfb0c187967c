import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor

made = []


class Odd(HonestPredictor):
    def predict(self, query):
        logits = super().predict(query)
        made.append(1)
        if len(made) == 1:
            return logits.astype(">f8")
        if len(made) == 2:
            return np.asfortranarray(logits)
        return logits[::-1].copy()[::-1]


class MyLearner(HonestLearner):
    def fit(self, support):
        return Odd(super().fit(support).centroids)
