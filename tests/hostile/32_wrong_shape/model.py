import numpy as np

from honest import HonestLearner, HonestPredictor
from honest import HonestMetaLearner as MyMetaLearner


class Wrong(HonestPredictor):
    def predict(self, query):
        logits = super().predict(query)
        return logits[:-1]


class MyLearner(HonestLearner):
    def fit(self, support):
        return Wrong(super().fit(support).centroids)
