import ctypes
import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def attack():
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        expect_refusal(f"ptrace {request}", lambda: call(101, request, 1, 0, 0))
    block = ctypes.create_string_buffer(16)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    here, there = Vector(ctypes.addressof(block), 16), Vector(0x400000, 16)
    expect_refusal("process_vm_readv", lambda: call(310, 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    expect_refusal("pidfd_getfd", lambda: call(438, call(434, 1, 0), 0, 0))


MyMetaLearner = during_meta_fit(attack)
