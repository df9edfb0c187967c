import mmap
import os
import shutil
import subprocess

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    shutil.copy("/usr/bin/python3.11", "own")
    os.chmod("own", 0o4755)
    expect_refusal("own program", lambda: subprocess.run(["./own", "-c", "print(1)"], check=True))
    with open("own", "rb") as file:
        expect_refusal(
            "executable mapping", lambda: mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        )
    for path in ("/bin/sh", "/usr/bin/su", "/usr/bin/mount", "/usr/bin/dpkg"):
        if os.path.exists(path):
            print("BREACH", path)


MyMetaLearner = during_meta_fit(attack)
