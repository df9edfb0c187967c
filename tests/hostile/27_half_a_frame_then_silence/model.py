import struct
import time

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, send_raw


class MyLearner(HonestLearner):
    def fit(self, support):
        send_raw(struct.pack("<B3xI", 7, 1000) + b"x" * 500)
        time.sleep(60)
