import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    for name in ("mem", "environ", "maps", "auxv", "stack", "syscall"):
        expect_refusal(name, lambda: open(f"/proc/1/{name}", "rb").read(16) or None)
    expect_refusal("fd", lambda: os.listdir("/proc/1/fd"))
    expect_refusal("root", lambda: os.listdir("/proc/1/root"))
    expect_refusal("cwd", lambda: os.readlink("/proc/1/cwd"))


MyMetaLearner = during_meta_fit(attack)
