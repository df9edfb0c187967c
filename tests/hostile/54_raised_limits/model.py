import os
import resource

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    for name in ("NOFILE", "FSIZE", "NPROC", "CORE"):
        limit = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(limit)
        expect_refusal(name, lambda: resource.setrlimit(limit, (hard + 1, hard + 1)), ValueError, OSError)
    expect_refusal("nice", lambda: os.nice(-5))
    expect_refusal("real-time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))
    expect_refusal("limits of process 1", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)))
    expect_refusal(
        "oom_score_adj", lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000")
    )


MyMetaLearner = during_meta_fit(attack)
