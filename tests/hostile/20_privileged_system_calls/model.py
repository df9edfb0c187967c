import ctypes
import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal

libc = ctypes.CDLL(None, use_errno=True)
CALLS = {
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "umount2": (166, b"/proc", 0),
    "unshare user": (272, 0x10000000),
    "unshare mount": (272, 0x00020000),
    "setns": (308, 0, 0),
    "chroot": (161, b"/tmp"),
    "mknod": (133, b"/tmp/disk", 0o60644, 0xFE00),
    "mknodat": (259, -100, b"/tmp/disk", 0o60644, 0xFE00),
    "setuid": (105, 0),
    "setresuid": (117, 0, 0, 0),
    "setgroups": (116, 0, 0),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, b"user", b"a", b"b", 1, -3),
    "bpf": (321, 0, 0, 0),
    "io_uring_setup": (425, 8, ctypes.create_string_buffer(120)),
    "perf_event_open": (298, ctypes.create_string_buffer(120), 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "pivot_root": (155, b"/tmp", b"/tmp"),
    "clone new user": (56, 0x10000011, 0, 0, 0, 0),
    "ptrace": (101, 0, 0, 0, 0),
    "kcmp": (312, 1, 1, 0, 0, 0),
    "open_by_handle_at": (304, -1, 0, 0),
    "fsopen": (430, b"tmpfs", 0),
    "open_tree": (428, -100, b"/", 1),
    "move_mount": (429, -1, b"", -100, b"/tmp", 0),
    "landlock": (444, 0, 0, 1),
    "quotactl": (179, 0, 0, 0, 0),
    "swapon": (167, b"/tmp/x", 0),
    "sethostname": (170, b"x", 1),
    "settimeofday": (164, 0, 0),
    "clock_settime": (227, 0, 0),
    "adjtimex": (159, 0),
    "init_module": (175, 0, 0, b""),
    "kexec_load": (246, 0, 0, 0, 0),
    "reboot": (169, 0, 0, 0, 0),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "personality": (135, 0x0040000),
    "syslog": (103, 3, ctypes.create_string_buffer(64), 64),
    "acct": (163, 0),
    "vhangup": (153,),
    "fanotify_init": (300, 0, 0),
    "seccomp": (317, 0, 0, 0),
    "memfd_secret": (447, 0),
    "name_to_handle_at": (
        303,
        -100,
        b"/",
        ctypes.create_string_buffer(128),
        ctypes.create_string_buffer(8),
        0,
    ),
}


def attack():
    for name, (number, *arguments) in CALLS.items():

        def call(number=number, arguments=arguments):
            ctypes.set_errno(0)
            result = libc.syscall(number, *arguments)
            if result == 0 and name == "clone new user":
                return "cloned"
            if result < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return result

        expect_refusal(name, call)


MyMetaLearner = during_meta_fit(attack)
