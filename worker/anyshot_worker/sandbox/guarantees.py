"""What the sandbox promises, each promise with its proof and what to do when the proof fails.

A proof is a function of what `probe` saw from inside and of what the host saw from outside; it returns what is
wrong, or an empty string.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anyshot_worker.sandbox.flags import environment, shared_memory_bytes
from anyshot_worker.sandbox.interface import MAX_FILES, OPEN_FILES, TMP_BYTES, BoxSpec

CPU_TOLERANCE = 0.2
KILL_SECONDS = 25.0  # on a loaded machine; a daemon that waits for the flood takes over a minute


@dataclass(frozen=True)
class Observation:
    """The evidence: from inside (`probe`), from outside (`host`), and what had been asked for."""

    spec: BoxSpec
    inside: dict[str, Any]
    uid: int
    stage: str
    host_namespaces: dict[str, str] = field(default_factory=dict)
    frozen_silent: bool = True
    thawed_answers: bool = True
    kill_seconds: float = 0.0
    left_behind: tuple[str, ...] = ()
    cpu_seconds: float = 1.0
    memory_peak: int | None = 1
    logs_kept: bool = False
    gvisor: bool = False


Proof = Callable[[Observation], str]


@dataclass(frozen=True)
class Guarantee:
    """A promise in one sentence, how it is proved, and the remedy."""

    name: str
    promise: str
    proof_in_words: str
    remedy: str
    wrong: Proof


def _network(seen: Observation) -> str:
    extra = [name for name in seen.inside["interfaces"] if name != "lo"]
    return f"interfaces {extra}" if extra else ""


def _sockets(seen: Observation) -> str:
    return f"families {seen.inside['families']} can be created" if seen.inside["families"] else ""


def _syscalls(seen: Observation) -> str:
    if not seen.gvisor and seen.inside["status"].get("Seccomp") != "2":
        return "no system-call filter is active"
    return f"open: {', '.join(seen.inside['syscalls'])}" if seen.inside["syscalls"] else ""


def _user(seen: Observation) -> str:
    uid, groups = seen.inside["uid"], [group for group in seen.inside["groups"] if group != seen.uid]
    return f"runs as user {uid}, groups {groups}" if uid != seen.uid or groups else ""


def _capabilities(seen: Observation) -> str:
    sets = {name: seen.inside["status"].get(name, "0") for name in ("CapEff", "CapPrm", "CapBnd", "CapInh")}
    held = {name: value for name, value in sets.items() if int(value, 16)}
    return f"holds {held}" if held else ""


def _privileges(seen: Observation) -> str:
    return "" if seen.inside["status"].get("NoNewPrivs", "1") == "1" else "programs can gain privileges"


def _root(seen: Observation) -> str:
    if not seen.inside["root"]["readonly"] and not seen.gvisor:
        return "the root file system is mounted for writing"
    return f"can write to {seen.inside['writable']}" if seen.inside["writable"] else ""


def _memory(seen: Observation) -> str:
    return "" if seen.inside["memory_kills"] else "a process could take more memory than the limit"


def _processes(seen: Observation) -> str:
    forks, limit = seen.inside["forks"], max(seen.spec.limits.processes, 400 if seen.gvisor else 0)
    return "" if forks < limit else f"{forks} processes could be started, allowed {limit}"


def _cpus(seen: Observation) -> str:
    share, limit = seen.inside["cpu_share"], seen.spec.limits.cpus
    return "" if share <= limit + CPU_TOLERANCE else f"used {share:.2f} of a core, allowed {limit}"


def _rlimit(name: str, wanted: Callable[[BoxSpec], int]) -> Proof:
    def wrong(seen: Observation) -> str:
        soft, hard = seen.inside["limits"][name]
        limit = wanted(seen.spec)
        good = 0 <= soft <= limit and 0 <= hard <= limit
        return "" if good else f"{name} is {soft}, at most {hard}; asked for {limit}"

    return wrong


def _scratch(seen: Observation) -> str:
    wanted = {
        "scratch": seen.spec.limits.scratch_bytes,
        "tmp": TMP_BYTES,
        "shm": shared_memory_bytes(seen.spec),
    }
    for name, size in wanted.items():
        found = seen.inside[name]
        if found["bytes"] > size + 4096:
            return f"{name} holds {found['bytes']} bytes, allowed {size}"
        if name != "shm" and not seen.gvisor and found["files"] > MAX_FILES:
            return f"{name} takes {found['files']} files"
        if not (found["noexec"] and found["nosuid"] and found["nodev"]) and not seen.gvisor:
            return f"programs, set-user-id or devices work in {name}"
    return ""


def _namespaces(seen: Observation) -> str:
    shared = [
        name
        for name, host in seen.host_namespaces.items()
        if host and seen.inside["namespaces"].get(name) == host
    ]
    return f"shares with the host: {shared}" if shared and not seen.gvisor else ""


def _first_process(seen: Observation) -> str:
    return "" if seen.inside["pid"] == 1 else f"the runner is process {seen.inside['pid']}, not 1"


def _environment(seen: Observation) -> str:
    extra = (
        set(seen.inside["environment"])
        - set(environment(seen.spec))
        - {"HOME", "HOSTNAME", "LC_CTYPE", "PWD", "SHLVL", "_"}
    )
    return f"also holds {sorted(extra)}" if extra else ""


def _mounts(seen: Observation) -> str:
    bound = [item for item in seen.inside["mounts"] if item["at"].startswith("/in/")]
    loose = [item["at"] for item in bound if "ro" not in item["options"].split(",")]
    telling = [item["root"] for item in bound if seen.stage not in item["root"] and item["root"] != "/"]
    if loose or (telling and not seen.gvisor):
        return f"mounted for writing: {loose}; names: {telling}"
    emulated = {"/dev/fuse", "/dev/net"} if seen.gvisor else set()  # of gVisor's own kernel, not of the host
    reachable = [path for path in seen.inside["suspicious"] if path not in emulated]
    return f"reachable: {reachable}" if reachable else ""


def _weights(seen: Observation) -> str:
    found = seen.inside["weights"]
    if not seen.spec.weights:
        return "a box that may not have them can see them" if found["files"] else ""
    if not found["there"] or not found["files"]:
        return "no file is in it"
    return f"cannot be read inside: {', '.join(found['closed'])}" if found["closed"] else ""


def _kernel_files(seen: Observation) -> str:
    return f"can be read: {seen.inside['secrets']}" if seen.inside["secrets"] else ""


def _freeze(seen: Observation) -> str:
    if not seen.frozen_silent:
        return "answered while frozen"
    return "" if seen.thawed_answers else "did not go on after the thaw"


def _kill(seen: Observation) -> str:
    return "" if seen.kill_seconds < KILL_SECONDS else f"took {seen.kill_seconds:.1f} s to kill a flood"


def _nothing_left(seen: Observation) -> str:
    return f"left behind: {', '.join(seen.left_behind)}" if seen.left_behind else ""


def _counters(seen: Observation) -> str:
    return (
        ""
        if seen.cpu_seconds > 0 and seen.memory_peak
        else "the kernel's counters of a dead box cannot be read"
    )


def _no_logs(seen: Observation) -> str:
    return "the daemon keeps what a box prints" if seen.logs_kept else ""


SECCOMP_REMEDY = "use the profile docker/sandbox/seccomp.json; a kernel with CONFIG_SECCOMP_FILTER is needed"
CGROUP_REMEDY = "the kernel or the daemon lacks this controller: look at `docker info` for warnings"

GUARANTEES: tuple[Guarantee, ...] = (
    Guarantee(
        "network",
        "There is no network.",
        "no interface but loopback exists",
        "start with network mode none",
        _network,
    ),
    Guarantee(
        "sockets", "Only local sockets exist.", "creating 8 other families fails", SECCOMP_REMEDY, _sockets
    ),
    Guarantee(
        "seccomp", "Dangerous system calls are refused.", "29 of them were called", SECCOMP_REMEDY, _syscalls
    ),
    Guarantee(
        "user",
        "Code runs as a user of its own.",
        "user and groups were read",
        "set ANYSHOT_UID_BASE to free ids",
        _user,
    ),
    Guarantee(
        "capabilities", "It holds no capability.", "all four sets are empty", "drop ALL", _capabilities
    ),
    Guarantee(
        "no_new_privileges",
        "No program gains privileges.",
        "the kernel's flag is set",
        "Docker 1.11 or newer",
        _privileges,
    ),
    Guarantee(
        "read_only",
        "Nothing outside the scratch space can be written.",
        "writing was tried in 9 places",
        "start read-only",
        _root,
    ),
    Guarantee("memory", "Memory is limited.", "a child that took more was killed", CGROUP_REMEDY, _memory),
    Guarantee(
        "processes", "Processes are limited.", "as many as possible were started", CGROUP_REMEDY, _processes
    ),
    Guarantee("cpus", "CPU time is limited.", "a busy loop got its share only", CGROUP_REMEDY, _cpus),
    Guarantee(
        "open_files",
        "Open files are limited.",
        "the limit was read",
        "check the daemon's ulimits",
        _rlimit("NOFILE", lambda spec: OPEN_FILES),
    ),
    Guarantee(
        "file_size",
        "File sizes are limited.",
        "the limit was read",
        "check the daemon's ulimits",
        _rlimit("FSIZE", lambda spec: spec.limits.scratch_bytes),
    ),
    Guarantee(
        "core_dumps",
        "There are no core dumps.",
        "the limit was read",
        "check the daemon's ulimits",
        _rlimit("CORE", lambda spec: 0),
    ),
    Guarantee(
        "user_processes",
        "Processes of the user are limited.",
        "the limit was read",
        "check the daemon's ulimits",
        _rlimit("NPROC", lambda spec: spec.limits.processes + 64),
    ),
    Guarantee(
        "scratch",
        "Scratch space is limited, nothing in it can be executed.",
        "its size and mount options were read",
        "mount as tmpfs",
        _scratch,
    ),
    Guarantee(
        "namespaces",
        "Processes, IPC and control groups are its own.",
        "namespaces were compared with the host's",
        "Docker 20.10 or newer",
        _namespaces,
    ),
    Guarantee(
        "first_process", "The runner is process 1.", "its id was read", "start without --init", _first_process
    ),
    Guarantee(
        "environment",
        "Nothing of the host's environment is inside.",
        "all names were listed",
        "check the daemon's proxy configuration",
        _environment,
    ),
    Guarantee(
        "mounts",
        "No host path, socket or disk is reachable.",
        "mounts and devices were listed",
        "remove default volumes and devices",
        _mounts,
    ),
    Guarantee(
        "weights",
        "Pretrained weights are there where the operator offers them, to be read only.",
        "every file of the folder was opened, writing was tried",
        "set ANYSHOT_WEIGHTS_FOLDER to a folder with files, readable by all: chmod -R a+rX FOLDER",
        _weights,
    ),
    Guarantee(
        "kernel_files",
        "The kernel tells nothing of the host.",
        "6 files were tried",
        "keep Docker's masked paths",
        _kernel_files,
    ),
    Guarantee(
        "freeze",
        "It can be stopped and go on.",
        "a frozen box stayed silent, thawed it answered",
        "the freezer controller is needed",
        _freeze,
    ),
    Guarantee(
        "kill", "It can be killed while it floods.", "a flooding box was killed", "update Docker", _kill
    ),
    Guarantee(
        "log_driver",
        "The daemon keeps none of its output.",
        "the daemon was asked for it",
        "log driver none",
        _no_logs,
    ),
    Guarantee(
        "counters",
        "Its use can be read after its death.",
        "CPU and memory were read",
        "let the worker read /sys/fs/cgroup",
        _counters,
    ),
    Guarantee(
        "nothing_left",
        "It leaves nothing behind.",
        "container, group and folders were looked for",
        "see the daemon's log",
        _nothing_left,
    ),
)
