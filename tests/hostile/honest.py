"""Goes into every hostile zip: a nearest-centroid learner that answers every task, for attacks to hide behind."""

import numpy as np
import torch
from api import Learner, MetaLearner, Predictor


class HonestPredictor(Predictor):
    def __init__(self, centroids):
        self.centroids = centroids

    def predict(self, query):
        features = query.float().flatten(2).mean(2)
        return -torch.cdist(features, self.centroids).numpy()


class HonestLearner(Learner):
    def __init__(self):
        super().__init__()

    def fit(self, support):
        images, labels, _, ways, _ = support
        features = images.float().flatten(2).mean(2)
        centroids = torch.stack([features[labels == way].mean(0) for way in range(ways)])
        return HonestPredictor(centroids)

    def save(self, path):
        np.save(f"{path}/nothing.npy", np.zeros(1))

    def load(self, path):
        np.load(f"{path}/nothing.npy")


class HonestMetaLearner(MetaLearner):
    learner = HonestLearner

    def __init__(self, train_classes, total_classes, logger):
        super().__init__(train_classes, total_classes, logger)

    def meta_fit(self, train, valid):
        return self.learner()


MyLearner = HonestLearner
MyMetaLearner = HonestMetaLearner


def during_meta_fit(attack):
    """A MyMetaLearner that attacks and then goes on as if nothing had been."""

    class Attacking(HonestMetaLearner):
        def meta_fit(self, train, valid):
            attack()
            return super().meta_fit(train, valid)

    return Attacking


def expect_refusal(name, action, *errors):
    """Run `action`; anything but one of `errors` (OSError where none is given) is a breach."""
    try:
        result = action()
    except errors or OSError:
        print("TRIED", name, flush=True)
    else:
        print("TRIED", name, flush=True)
        print("BREACH", name, result, flush=True)


def stream_descriptors():
    """Descriptors that the frames may go through: pipes and sockets that are neither standard stream."""
    import os
    import stat

    found = []
    for descriptor in range(3, 1024):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            found.append(descriptor)
    return found


def send_raw(data):
    """Write bytes past the runner into whatever may be the stream."""
    import fcntl
    import os

    for descriptor in stream_descriptors():
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            continue
        try:
            os.write(descriptor, data)
        except OSError:
            continue
