import os

import numpy
from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal

import anyshot_starting_kit


def attack():
    kit, site = os.path.dirname(anyshot_starting_kit.__file__), os.path.dirname(numpy.__file__)
    folders = [
        "/",
        "/etc",
        "/usr/bin",
        "/var",
        "/dev",
        kit,
        site,
        "/in/a",
        "/in/b",
        "/proc/sys/kernel",
        "/sys",
    ]
    for folder in folders:
        expect_refusal(f"create in {folder}", lambda: open(f"{folder}/planted", "w"))
    files = [
        f"{kit}/__init__.py",
        "/etc/passwd",
        "/in/a/0",
        "/in/b/pixels",
        "/proc/sys/kernel/hostname",
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    for path in files:
        expect_refusal(f"write {path}", lambda: open(path, "r+b"))
        expect_refusal(f"chmod {path}", lambda: os.chmod(path, 0o777))
        expect_refusal(f"remove {path}", lambda: os.remove(path))
    expect_refusal("link out of the packs", lambda: os.link("/in/a/0", "stolen"))


MyMetaLearner = during_meta_fit(attack)
