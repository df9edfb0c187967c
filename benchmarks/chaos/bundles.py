"""Submissions that are quick and whose score is known."""

import io
import zipfile

_HEAD = '''"""A fast learner without training."""
import numpy as np
from api import Learner, MetaLearner, Predictor


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        return MyLearner()


class MyLearner(Learner):
    def save(self, path):
        pass

    def load(self, path):
        pass

    def fit(self, support_set):
        images, labels, _, ways, _ = support_set
        return MyPredictor(np.asarray(images), np.asarray(labels), ways)

'''
_CONSTANT = """
class MyPredictor(Predictor):
    def __init__(self, images, labels, ways):
        pass

    def predict(self, query_set):
        return np.zeros(len(query_set), dtype=np.int64)
"""
_NEAREST = """
class MyPredictor(Predictor):
    def __init__(self, images, labels, ways):
        flat = images.reshape(len(images), -1)
        self.means = np.stack([flat[labels == way].mean(0) for way in range(ways)])

    def predict(self, query_set):
        flat = np.asarray(query_set).reshape(len(query_set), -1)
        distances = ((flat[:, None] - self.means[None]) ** 2).sum(-1)
        return distances.argmin(1)
"""
_SLOW = """
class MyPredictor(Predictor):
    def __init__(self, images, labels, ways):
        self.sum = work(ROUNDS)

    def predict(self, query_set):
        return np.zeros(len(query_set), dtype=np.int64)


def work(rounds):
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total
"""
_LONG = '''"""Trains and tests for a while, saves its training, and says when it begins."""
import time
import numpy as np
from anyshot_starting_kit import budget
from api import Learner, MetaLearner, Predictor

print(f"begun at {time.time():.3f} with {budget.remaining().run:.3f} s left", flush=True)


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        for _ in meta_train_generator(STEPS):
            time.sleep(SECONDS)
        return MyLearner()

    def checkpoint(self, path):
        np.save(path + "/state.npy", np.zeros(1_000_000))

    def resume(self, path):
        np.load(path + "/state.npy")


class MyLearner(Learner):
    def save(self, path):
        np.save(path + "/state.npy", np.zeros(1_000_000))

    def load(self, path):
        pass

    def fit(self, support_set):
        time.sleep(SECONDS)
        return MyPredictor()


class MyPredictor(Predictor):
    def __init__(self):
        pass

    def predict(self, query_set):
        return np.zeros(len(query_set), dtype=np.int64)
'''
VARIANTS = {"constant": _HEAD + _CONSTANT, "nearest": _HEAD + _NEAREST}


def make_bundle(variant: str, number: int, *, padding: int = 0) -> bytes:
    """The zip of a variant; `number` makes its digest its own, `padding` bytes make it larger."""
    return _zip(f"{VARIANTS[variant]}\n# {number}\n", padding)


def make_slow_bundle(rounds: int, number: int) -> bytes:
    """The zip of a learner that does a fixed amount of work in one thread of plain Python for each task."""
    return _zip(f"{_HEAD}{_SLOW.replace('ROUNDS', str(rounds))}\n# {number}\n", 0)


def make_long_bundle(steps: int, seconds: float) -> bytes:
    """The zip of a learner that takes so many `steps` of training, and as long for each task."""
    config = '{"validation_datasets": 0, "train_config": {"N": 2, "k": 1, "query_images_per_class": 2}}'
    return _zip(_LONG.replace("STEPS", str(steps)).replace("SECONDS", str(seconds)), 0, config)


def _zip(code: str, padding: int, config: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("model.py"), code)
        if config:
            archive.writestr(zipfile.ZipInfo("config.json"), config)
        if padding:
            archive.writestr(zipfile.ZipInfo("weights.bin"), bytes(padding))
    return buffer.getvalue()
