import os

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner

made = []


class MyLearner(HonestLearner):
    def load(self, path):
        made.append(1)
        if len(made) == 2:
            os._exit(0)
        super().load(path)
