"""The profile as a BPF program, for backends that load the filter themselves; compiled by the system's libseccomp."""

import ctypes
import errno
import json
import os
import tempfile
from functools import cache
from typing import Any

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.profile import read_profile

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
COMPARE = {"SCMP_CMP_NE": 1, "SCMP_CMP_LT": 2, "SCMP_CMP_LE": 3, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
UNKNOWN_SYSCALL = -1


class _Argument(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@cache
def compile_profile() -> bytes:
    """The filter's instructions. Raises SandboxError where libseccomp is missing or refuses the profile."""
    library = _library()
    profile = json.loads(read_profile())
    context = library.seccomp_init(ERRNO | profile["defaultErrnoRet"])
    if not context:
        raise SandboxError("libseccomp cannot start a filter", Verdict.SANDBOX_START)
    try:
        for rule in profile["syscalls"]:
            for name in rule["names"]:
                _add(library, context, name, rule)
        return _export(library, context)
    finally:
        library.seccomp_release(context)


def _library() -> Any:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise SandboxError(f"libseccomp is not installed: {error}", Verdict.SANDBOX_START) from error
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_rule_add_array.argtypes = [
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Argument)),
    ]
    return library


def _add(library: Any, context: int, name: str, rule: dict[str, Any]) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number == UNKNOWN_SYSCALL:  # newer than this libseccomp: stays refused
        return
    action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else ERRNO | rule["errnoRet"]
    found = [_Argument(a["index"], COMPARE[a["op"]], a["value"], a["valueTwo"]) for a in rule.get("args", ())]
    arguments = (_Argument * max(1, len(found)))(*found)
    code = library.seccomp_rule_add_array(context, action, number, len(found), arguments)
    if code not in (0, -errno.EEXIST):
        raise SandboxError(
            f"libseccomp refuses the rule for {name}: {os.strerror(-code)}", Verdict.SANDBOX_START
        )


def _export(library: Any, context: int) -> bytes:
    with tempfile.TemporaryFile() as program:
        if library.seccomp_export_bpf(context, program.fileno()) != 0:
            raise SandboxError("libseccomp cannot export the filter", Verdict.SANDBOX_START)
        program.seek(0)
        return program.read()
