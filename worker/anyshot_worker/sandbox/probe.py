# ruff: noqa: PTH110, PTH112, PTH115, PTH118, PTH123, PTH208 - pathlib takes longer to import than the probe runs

"""Runs inside a box, as text passed to `python3 -c`, and reports what it can and cannot do. Standard library only.

Prints one line of JSON, then obeys one word a line on standard input: `tick` answers `tock`, `flood` never stops.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {
    "ptrace": 101, "mount": 165, "umount2": 166, "chroot": 161, "pivot_root": 155, "unshare": 272, "setns": 308,
    "setuid": 105, "setgid": 106, "mknod": 133, "add_key": 248, "keyctl": 250, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "io_uring_setup": 425, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "init_module": 175, "kexec_load": 246, "open_by_handle_at": 304, "reboot": 169, "swapon": 167, "settimeofday": 164,
    "fsopen": 430, "open_tree": 428, "pidfd_getfd": 438, "syslog": 103,
}  # fmt: skip
FAMILIES = {
    "INET": 2,
    "INET6": 10,
    "NETLINK": 16,
    "PACKET": 17,
    "VSOCK": 40,
    "ALG": 38,
    "BLUETOOTH": 31,
    "XDP": 44,
}
CLONE_NEWUSER = 0x10000000


def status() -> dict[str, str]:
    with open("/proc/self/status") as lines:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def open_syscalls() -> list[str]:
    """Those that did not answer with EPERM or ENOSYS when called with harmless arguments."""
    found = []
    for name, number in SYSCALLS.items():
        ctypes.set_errno(0)
        argument = CLONE_NEWUSER if name == "unshare" else -1
        LIBC.syscall(number, argument, 0, 0, 0, 0)
        if ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            found.append(name)
    return found


def open_families() -> list[str]:
    found = []
    for name, family in FAMILIES.items():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            handle = LIBC.socket(family, int(kind), 0)
            if handle >= 0:
                os.close(handle)
                found.append(name)
    return sorted(set(found))


def dies_of_memory(size: int) -> bool:
    """Whether a child that touches `size` bytes is killed."""
    child = os.fork()
    if child == 0:
        block = []
        for _ in range(size >> 20):
            block.append(bytearray(os.urandom(4096) * 256))
        os._exit(0)
    _, code = os.waitpid(child, 0)
    return os.WIFSIGNALED(code) and os.WTERMSIG(code) == signal.SIGKILL


def count_forks(limit: int) -> int:
    """How many children can exist at once, up to `limit`."""
    children = []
    reader, writer = os.pipe()
    try:
        for _ in range(limit):
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    os.close(writer)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def cpu_share(seconds: float) -> float:
    began, used = time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        sum(range(2000))
    return (time.process_time() - used) / (time.monotonic() - began)


def file_system(path: str) -> dict[str, int]:
    found = os.statvfs(path)
    return {
        "bytes": found.f_blocks * found.f_frsize,
        "files": found.f_files,
        "readonly": int(bool(found.f_flag & os.ST_RDONLY)),
        "noexec": int(bool(found.f_flag & os.ST_NOEXEC)),
        "nosuid": int(bool(found.f_flag & os.ST_NOSUID)),
        "nodev": int(bool(found.f_flag & os.ST_NODEV)),
    }


def writable() -> list[str]:
    """Folders outside the scratch space that a file can be made in."""
    found = []
    for folder in (
        "/",
        "/etc",
        "/usr",
        "/usr/local/lib/python3.11/dist-packages",
        "/in/a",
        "/in/b",
        "/weights",
        "/var",
        "/proc/sys",
    ):
        try:
            os.close(os.open(f"{folder}/probe", os.O_CREAT | os.O_WRONLY))
        except OSError:
            continue
        found.append(folder)
    return found


def weights() -> dict[str, object]:
    """What can be read of the operator's weights: how many files, and which of them cannot be opened."""
    files, closed = 0, []
    for folder, _, names in os.walk("/weights", onerror=lambda error: closed.append(str(error))):
        for name in names:
            files += 1
            try:
                os.close(os.open(os.path.join(folder, name), os.O_RDONLY))
            except OSError:
                closed.append(name)
    return {"there": os.path.isdir("/weights"), "files": files, "closed": closed[:5]}


def mounts() -> list[dict[str, str]]:
    with open("/proc/self/mountinfo") as lines:
        fields = [line.split() for line in lines]
    return [{"root": item[3], "at": item[4], "options": item[5]} for item in fields]


def namespace(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{name}")
    except OSError:
        return ""


def interfaces() -> list[str]:
    try:
        with open("/proc/net/dev") as lines:
            return [line.split(":")[0].strip() for line in lines if ":" in line]
    except OSError:
        return []


def suspicious_paths() -> list[str]:
    candidates = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd", "/dev/kvm", "/dev/mem", "/dev/kmsg",
                  "/dev/fuse", "/dev/net", "/dev/loop0", "/dev/vda", "/dev/sda", "/dev/vsock")  # fmt: skip
    return [path for path in candidates if os.path.exists(path)]


def readable_secrets() -> list[str]:
    """Kernel files that say something about the host."""
    found = []
    for path in (
        "/proc/kcore",
        "/proc/keys",
        "/proc/timer_list",
        "/proc/sched_debug",
        "/sys/firmware/efi",
        "/dev/mem",
    ):
        try:
            with open(path, "rb") as handle:
                if handle.read(1):
                    found.append(path)
        except OSError:
            continue
    return found


def report(memory: int, processes: int) -> dict[str, object]:
    return {
        "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(), "pid": os.getpid(),
        "status": status(), "environment": sorted(os.environ), "syscalls": open_syscalls(),
        "families": open_families(), "interfaces": interfaces(), "writable": writable(), "mounts": mounts(),
        "root": file_system("/"), "scratch": file_system("/work"), "tmp": file_system("/tmp"),
        "shm": file_system("/dev/shm"), "limits": {
            name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
            for name in ("NOFILE", "FSIZE", "CORE", "NPROC")
        },
        "namespaces": {name: namespace(name) for name in ("cgroup", "ipc", "mnt", "net", "pid", "uts", "user")},
        "weights": weights(), "suspicious": suspicious_paths(),
        "secrets": readable_secrets(), "devices": sorted(os.listdir("/dev")),
        "memory_kills": bool(memory) and dies_of_memory(memory),
        "forks": count_forks(processes), "cpu_share": cpu_share(0.4),
    }  # fmt: skip


def main() -> None:
    memory, processes = int(sys.argv[1]), int(sys.argv[2])
    print(json.dumps(report(memory, processes)), flush=True)
    for word in sys.stdin:
        if word.strip() == "tick":
            print("tock", flush=True)
        while word.strip() == "flood":
            os.write(1, b"x" * 65536)


if __name__ == "__main__":
    main()
