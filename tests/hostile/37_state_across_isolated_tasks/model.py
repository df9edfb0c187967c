import os

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor

PLACES = ("kept", "/tmp/kept", "/dev/shm/kept", "program/kept", os.path.expanduser("~/kept"))
seen = []


class Keeps(HonestPredictor):
    def predict(self, query):
        seen.append(query)
        for path in PLACES:
            try:
                with open(path, "w") as file:
                    file.write("seen")
            except OSError:
                continue
        return super().predict(query)


class MyLearner(HonestLearner):
    folder = None

    def load(self, path):
        MyLearner.folder = path
        super().load(path)

    def fit(self, support):
        print("TRIED")
        kept = [path for path in (*PLACES, f"{MyLearner.folder}/kept") if os.path.exists(path)]
        if kept or seen:
            print("BREACH state of an earlier task:", kept, len(seen))
        with open(f"{MyLearner.folder}/kept", "w") as file:
            file.write("seen")
        return Keeps(super().fit(support).centroids)
