"""Every guarantee is proved here and now, and every proof fails when the guarantee is broken on purpose."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_worker.commands_sandbox import doctor
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.flags import FLAGS
from anyshot_worker.sandbox.guarantees import GUARANTEES
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.preflight import LIMITS, check_guarantees, require_guarantees

# The mutation list: leave a flag out, and these proofs must fail (others may).
MUTATIONS = {
    "network": {"network"},
    "read_only": {"read_only"},
    "capabilities": {"capabilities"},
    "no_new_privileges": {"no_new_privileges"},
    "seccomp": {"seccomp", "sockets"},
    "memory": {"memory"},
    "processes": {"processes"},
    "cpus": {"cpus"},
    "open_files": {"open_files"},
    "file_size": {"file_size"},
    "core_dumps": {"core_dumps"},
    "user_processes": {"user_processes"},
    "ipc": {"scratch"},  # the size of /dev/shm
    "cgroup_namespace": {"namespaces"},
    "scratch": {"scratch"},
    "log_driver": {"log_driver"},
    "user": {"user"},
}


def test_every_flag_is_in_the_mutation_list() -> None:
    assert set(MUTATIONS) == {*FLAGS, "user"}
    assert {name for names in MUTATIONS.values() for name in names} <= {item.name for item in GUARANTEES}


@pytest.mark.rotating
@pytest.mark.parametrize("flag", MUTATIONS)
def test_a_broken_guarantee_is_noticed(
    docker_backend: DockerBackend, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if flag == "cgroup_namespace" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("cgroup v2: the daemon makes a private namespace whether it is asked to or not")
    if flag == "cpus":  # on a loaded machine a busy loop gets little of a core, but more than a twentieth
        monkeypatch.setattr(
            "anyshot_worker.sandbox.preflight.LIMITS", LIMITS.model_copy(update={"cpus": 0.02})
        )
        monkeypatch.setattr("anyshot_worker.sandbox.guarantees.CPU_TOLERANCE", 0.03)
    try:
        findings = check_guarantees(docker_backend, "cpu", frozenset({flag}))
    except SandboxError as error:  # some do not even let a box start
        assert flag == "no_new_privileges", error
        return
    failed = {finding.guarantee.name for finding in findings if not finding.holds}
    assert failed >= MUTATIONS[flag]


def test_worker_refuses_to_start_on_a_broken_guarantee(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FLAGS, "capabilities", lambda spec, place: {})
    with pytest.raises(SandboxError, match="holds no capability"):
        require_guarantees(docker_backend, docker_backend.settings)


def test_proof_is_kept_until_something_changes(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_guarantees(docker_backend, docker_backend.settings)
    asked: list[str] = []
    monkeypatch.setattr(
        "anyshot_worker.sandbox.preflight.check_guarantees", lambda *_, **__: asked.append("again") or []
    )
    require_guarantees(docker_backend, docker_backend.settings)
    assert asked == []
    changed = docker_backend.settings.model_copy(update={"cpuset": "0"})
    require_guarantees(docker_backend, changed)
    assert asked == ["again"]


def test_doctor_prints_each_guarantee(
    sandbox_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYSHOT_STATE_FOLDER", str(tmp_path))
    monkeypatch.setenv("ANYSHOT_SANDBOX", "docker")
    shown = CliRunner().invoke(doctor)
    assert shown.exit_code == 0, shown.output
    for guarantee in GUARANTEES:
        assert f"proved  {guarantee.promise}" in shown.output


def test_doctor_says_what_to_do(sandbox_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYSHOT_STATE_FOLDER", str(tmp_path))
    monkeypatch.setenv("ANYSHOT_SANDBOX", "docker")
    monkeypatch.setitem(FLAGS, "core_dumps", lambda spec, place: {})
    shown = CliRunner().invoke(doctor)
    assert shown.exit_code == 1
    assert "FAILED  There are no core dumps." in shown.output
    assert "What to do: check the daemon's ulimits." in shown.output
