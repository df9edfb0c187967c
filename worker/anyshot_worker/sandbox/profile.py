"""The system-call filter: an allow-list in Docker's JSON form, which both backends use."""

import json
from functools import cache
from pathlib import Path

PROFILE = (
    Path(__file__).parents[1] / "_sandbox/seccomp.json"
)  # package data: in a checkout a link to docker/sandbox/


@cache
def read_profile(runtime: str = "runc") -> str:
    """The profile as one line of JSON, as the daemon wants it.

    gVisor's filter knows one error number only, and glibc falls back from clone3 to clone on another; its kernel
    does not have clone3, so that there the call may pass and is refused by the kernel itself.
    """
    profile = json.loads(PROFILE.read_text())
    if runtime == "runsc":
        (rule,) = (rule for rule in profile["syscalls"] if "clone3" in rule["names"])
        rule["action"] = "SCMP_ACT_ALLOW"
        del rule["errnoRet"]
    return json.dumps(profile, separators=(",", ":"))
