"""The system-call profile: an allow-list, and what is not on it."""

import json

from anyshot_worker.sandbox.profile import PROFILE, read_profile

NEVER = {
    *(
        "ptrace",
        "mount",
        "umount2",
        "unshare",
        "setns",
        "chroot",
        "pivot_root",
        "mknod",
        "mknodat",
        "bpf",
        "keyctl",
    ),
    *(
        "add_key",
        "request_key",
        "perf_event_open",
        "userfaultfd",
        "io_uring_setup",
        "io_uring_enter",
        "kexec_load",
    ),
    *(
        "init_module",
        "finit_module",
        "open_by_handle_at",
        "process_vm_readv",
        "process_vm_writev",
        "kcmp",
        "setuid",
    ),
    *(
        "setgid",
        "setresuid",
        "setgroups",
        "reboot",
        "swapon",
        "syslog",
        "acct",
        "settimeofday",
        "clock_settime",
    ),
    *(
        "pidfd_getfd",
        "move_mount",
        "open_tree",
        "fsopen",
        "fsmount",
        "fanotify_init",
        "quotactl",
        "iopl",
        "ioperm",
    ),
    *("modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl", "memfd_secret", "seccomp", "sethostname"),
}


def allowed() -> dict[str, list[dict[str, object]]]:
    rules = json.loads(read_profile())["syscalls"]
    return {
        name: [entry for entry in rules if name in entry["names"] and entry["action"] == "SCMP_ACT_ALLOW"]
        for rule in rules
        for name in rule["names"]
    }


def test_whatever_is_not_named_is_refused() -> None:
    profile = json.loads(PROFILE.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert profile["architectures"] == ["SCMP_ARCH_X86_64"]
    assert not NEVER & set(allowed())


def test_sockets_are_local_ones() -> None:
    for name in ("socket", "socketpair"):
        rules = allowed()[name]
        assert [rule["args"] for rule in rules] == [
            [{"index": 0, "value": 1, "valueTwo": 0, "op": "SCMP_CMP_EQ"}]
        ]


def test_clone_makes_no_namespaces() -> None:
    (rule,) = allowed()["clone"]
    assert rule["args"] == [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    assert allowed()["clone3"] == []
