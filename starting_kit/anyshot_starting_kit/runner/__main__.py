"""`python -P -m anyshot_starting_kit.runner`: frames on stdin and stdout, see `anyshot_core.wire.frames`."""

import os
import sys

from anyshot_starting_kit.runner.first_process import stand_guard

if __name__ == "__main__":
    if os.getpid() == 1:
        stand_guard()  # only the forked child comes back from here
    from anyshot_starting_kit.runner.session import run

    sys.exit(run())
