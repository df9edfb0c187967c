"""Proves every guarantee with probes in a real box; a worker does not start when one fails."""

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox.guarantees import GUARANTEES, Guarantee, Observation
from anyshot_worker.sandbox.interface import Backend, Box, BoxSpec, SandboxError
from anyshot_worker.sandbox.settings import SandboxSettings

PROBE = (Path(__file__).parent / "probe.py").read_text
LIMITS = Limits(memory_bytes=192 << 20, cpus=0.3, processes=48, scratch_bytes=32 << 20)
GVISOR_LIMITS = Limits(memory_bytes=512 << 20, cpus=0.3, processes=400, scratch_bytes=32 << 20)
PATIENCE = 60.0
FORK = """
import os, time
for _ in range({forks}):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
print("survived", flush=True)
"""


@dataclass(frozen=True)
class PreflightFinding:
    """One guarantee after its proof; `wrong` is empty when it holds."""

    guarantee: Guarantee
    wrong: str

    @property
    def holds(self) -> bool:
        return not self.wrong


def check_guarantees(
    backend: Backend, image: str, without: frozenset[str] = frozenset(), weights: bool = False
) -> list[PreflightFinding]:
    """Start a box, look from inside and outside, and judge. Raises SandboxError when no box can be started."""
    seen = observe(backend, image, without, weights)
    findings = [PreflightFinding(item, item.wrong(seen)) for item in GUARANTEES]
    return [finding for finding in findings if finding.guarantee.name not in backend.not_promised]


def require_guarantees(backend: Backend, settings: SandboxSettings) -> None:
    """Refuse to go on unless every guarantee of the backend was proved on this boot, with this image and profile."""
    if backend.trusted:
        return
    stamp = settings.state_folder / "preflight.json"
    key = _circumstances(backend, settings)
    if stamp.exists() and stamp.read_text() == key:
        return
    prove_guarantees(backend, settings, settings.sandbox_image)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)


def prove_guarantees(backend: Backend, settings: SandboxSettings, image: str) -> None:
    """Raise SandboxError unless every guarantee of the backend holds in a box of this image."""
    found = check_guarantees(backend, image, weights=settings.weights_folder is not None)
    failed = [finding for finding in found if not finding.holds]
    if failed:
        lines = "; ".join(f"{finding.guarantee.promise} NOT PROVED: {finding.wrong}" for finding in failed)
        raise SandboxError(
            f"the sandbox does not hold ({lines}); see: anyshot worker doctor", Verdict.SANDBOX_START
        )


def observe(
    backend: Backend, image: str, without: frozenset[str] = frozenset(), weights: bool = False
) -> Observation:
    """All evidence from one box."""
    gvisor = backend.limits_end_box
    limits = GVISOR_LIMITS if gvisor else LIMITS
    memory, forks = limits.memory_bytes + (64 << 20), limits.processes + 8
    command = ("-I", "-c", PROBE(), str(0 if gvisor else memory), str(0 if gvisor else forks))
    spec = BoxSpec(image, limits, command, without=without, weights=weights)
    box = backend.start(spec)
    try:
        inside = _read_report(box)
        box.freeze()
        box.send(b"tick\n", PATIENCE)
        silent = box.recv(0.3) is None
        box.thaw()
        answers = box.recv(PATIENCE) is not None
        box.send(b"flood\n", PATIENCE)
        box.recv(PATIENCE)
        began = time.monotonic()
        logs = box.keeps_logs()
        box.kill()
        killed = time.monotonic() - began
        usage = box.usage()
    finally:
        box.close()
    if gvisor:  # reaching a limit ends the whole box there, so that it takes boxes of their own to see it
        take = f"b = [bytearray(b'x') * (1 << 20) for _ in range({memory >> 20})]; print(len(b), flush=True)"
        inside["memory_kills"] = not _survives(backend, spec, take)
        inside["cpu_share"] = _cpu_share(backend, spec)
        inside["forks"] = forks if _survives(backend, spec, FORK.format(forks=forks)) else 0
    return Observation(
        spec=spec,
        inside=inside,
        uid=box.uid,
        stage=box.id,
        host_namespaces=_own_namespaces(),
        frozen_silent=silent,
        thawed_answers=answers,
        kill_seconds=killed,
        left_behind=box.left_behind(),
        cpu_seconds=usage.cpu_seconds,
        memory_peak=usage.memory_peak_bytes,
        logs_kept=logs,
        gvisor=gvisor,
    )


def _read_report(box: Box) -> dict[str, Any]:
    text, deadline = b"", time.monotonic() + PATIENCE
    while not text.endswith(b"\n"):
        data = box.recv(deadline - time.monotonic())
        if not data:
            raise SandboxError(
                f"the probe did not report: {text[-200:]!r} {box.death().detail}", Verdict.SANDBOX_START
            )
        text += data
    return json.loads(text)


def _survives(backend: Backend, spec: BoxSpec, code: str) -> bool:
    """Whether a box that runs `code` lives to print something."""
    box = backend.start(replace(spec, command=("-I", "-c", code)))
    try:
        return bool(box.recv(PATIENCE))
    finally:
        box.close()


def _cpu_share(backend: Backend, spec: BoxSpec, seconds: float = 1.0) -> float:
    """What a busy box gets of a core, counted by the host: clocks inside gVisor are its own."""
    box = backend.start(replace(spec, command=("-I", "-c", "print(1, flush=True)\nwhile True: pass")))
    try:
        box.recv(PATIENCE)
        began, used = time.monotonic(), box.usage().cpu_seconds
        time.sleep(seconds)
        return (box.usage().cpu_seconds - used) / (time.monotonic() - began)
    finally:
        box.close()


def _own_namespaces() -> dict[str, str]:
    """The namespaces of this process; those of a worker that is itself in a container differ from the host's."""
    return {
        name: str(Path(f"/proc/self/ns/{name}").readlink())
        for name in ("cgroup", "ipc", "mnt", "net", "pid", "uts")
    }


def _circumstances(backend: Backend, settings: SandboxSettings) -> str:
    """What a proof depends on: it is made anew when the machine was booted or anything of this changed."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    sources = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("*.py")))
    inputs = [boot, backend.fingerprint(), backend.prepare(settings.sandbox_image).digest, sources]
    return hashlib.sha256("\0".join([*inputs, settings.model_dump_json()]).encode()).hexdigest()
