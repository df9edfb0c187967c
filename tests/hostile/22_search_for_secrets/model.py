import gc
import os
import re

from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner

PATTERN = re.compile(rb"CANAR" + rb"Y[0-9a-f]{16}")
SEED = str(7_310_590 + 1).encode()


def look(where, data):
    if PATTERN.search(data):
        print("BREACH a name of the hidden pool in", where)
    if SEED in data and "maps" not in where:
        print("BREACH the test seed in", where)


def search_memory():
    total = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            low, high = (int(part, 16) for part in span.split("-"))
            while low < high:
                try:
                    memory.seek(low)
                    piece = memory.read(min(high - low, 1 << 24))
                except (OSError, ValueError, OverflowError):
                    break
                if PATTERN.search(piece):
                    print("BREACH a name of the hidden pool in memory")
                total += len(piece)
                low += len(piece) or high
    return total


class MyLearner(HonestLearner):
    def fit(self, support):
        for name, value in os.environ.items():
            look(f"environment {name}", value.encode())
            if re.search("TOKEN|SECRET|KEY|PASSWORD|DATABASE|BROKER", name):
                print("BREACH a secret's name in the environment:", name)
        for folder in (
            "/in",
            "/work",
            "/tmp",
            "/proc/self/mountinfo",
            "/proc/1/cmdline",
            "/proc/self/cgroup",
        ):
            paths = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names] or [
                folder
            ]
            for path in paths:
                look(path, path.encode())
                try:
                    with open(path, "rb") as file:
                        while piece := file.read(1 << 24):
                            look(path, piece)
                except OSError:
                    continue
        for thing in gc.get_objects():
            if isinstance(thing, (dict, list, tuple)) and len(thing) < 1000:
                for item in thing.values() if isinstance(thing, dict) else thing:
                    if isinstance(item, str):
                        look("objects", item.encode("utf-8", "replace"))
        print("TRIED", search_memory() >> 20, "MiB searched")
        return super().fit(support)
