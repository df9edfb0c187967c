import os
import time

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, send_raw


class MyLearner(HonestLearner):
    def fit(self, support):
        send_raw(b"\xee" + os.urandom(65536))
        time.sleep(5)
        return super().fit(support)
