import os

import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor

IMAGE = 3 * 128 * 128
known = set()


def pictures():
    for top, _, names in os.walk("/in/b"):
        for name in names:
            data = np.fromfile(os.path.join(top, name), dtype=np.uint8)
            for number in range(len(data) // IMAGE):
                picture = data[number * IMAGE : (number + 1) * IMAGE]
                if picture.any():
                    yield picture.tobytes()


def raw(images):
    return {(image * 255).round().to(dtype=__import__("torch").uint8).numpy().tobytes() for image in images}


class Remembers(HonestPredictor):
    def predict(self, query):
        known.update(raw(query))
        return super().predict(query)


class MyLearner(HonestLearner):
    def fit(self, support):
        known.update(raw(support[0]))
        unknown = [picture for picture in pictures() if picture not in known]
        print("TRIED", len(known), "known")
        if unknown:
            print("BREACH", len(unknown), "pictures before their time")
        return Remembers(super().fit(support).centroids)
