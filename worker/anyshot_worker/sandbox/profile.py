"""The system-call filter: an allow-list in Docker's JSON form, which both backends use."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_PACKAGED = Path(__file__).parent / "seccomp.json"  # where a wheel carries it
_SOURCE = Path(__file__).parents[3] / "docker" / "sandbox" / "seccomp.json"


def profile_path() -> Path:
    """The profile's file."""
    return _PACKAGED if _PACKAGED.exists() else _SOURCE


@cache
def read_profile(runtime: str = "runc") -> str:
    """The profile as one line of JSON, as the daemon wants it.

    gVisor's filter knows one error number only, and glibc falls back from clone3 to clone on another; its kernel
    does not have clone3, so that there the call may pass and is refused by the kernel itself.
    """
    profile = json.loads(profile_path().read_text())
    if runtime == "runsc":
        (rule,) = (rule for rule in profile["syscalls"] if "clone3" in rule["names"])
        rule["action"] = "SCMP_ACT_ALLOW"
        del rule["errnoRet"]
    return json.dumps(profile, separators=(",", ":"))
