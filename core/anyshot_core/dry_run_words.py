"""The command that repeats a platform run here: same submission, same seeds, tasks of the same shape, public data."""

import shlex

from anyshot_core.protocols import AnyWayAnyShot, Protocol, Roles, protocol_from_dict
from anyshot_core.report.protocol_lines import write_protocol


def reproduce_command(
    filename: str,
    *,
    data: str | None = None,
    train_seed: int | None = None,
    roles: Roles | None = None,
    ways: int | None = None,
    shots: int | None = None,
    learner_seconds: float | None = None,
    task_seconds: float | None = None,
    isolated_tasks: bool = False,
    datasets: int | None = None,
    memory_bytes: int | None = None,
) -> str:
    """For the page of a failed run. Hidden tasks stay hidden: `ways` and `shots` of the failed task are repeated on
    public datasets, its images are not. With `memory_bytes` it runs in the sandbox, which alone can hold a limit.

    `roles` hold no secret split. With `datasets`, so many of the data have a learner each, with `learner_seconds` each:
    a dry run divides its budget by them.
    """
    roles = roles or Roles(AnyWayAnyShot())
    words = ["anyshot", "dry-run", filename]
    if data is not None:
        words += ["--data", data]
    words += _test_words(_narrowed(roles.test, ways, shots))
    for option, protocol in (("--train-protocol", roles.train), ("--validation-protocol", roles.validation)):
        words += [option, write_protocol(protocol)] if protocol is not None else []
    if datasets is not None:
        words.append("--each-dataset")
    if train_seed is not None:
        words += ["--seed", str(train_seed)]
    if ways is not None or shots:
        words += ["--tasks", "5"]
    if learner_seconds is not None:
        words += ["--budget", f"{learner_seconds * (datasets or 1):.9g}"]
    if task_seconds is not None:
        words += ["--task-seconds", f"{task_seconds:g}"]
    if isolated_tasks:
        words.append("--isolated")
    if memory_bytes is not None:
        words += ["--docker", "--memory", f"{memory_bytes / 2**30:.4g}"]
    return shlex.join(words)


def _narrowed(protocol: Protocol, ways: int | None, shots: int | None) -> Protocol:
    """The protocol for tasks of these ways and shots, where it has such settings."""
    known = {field.name for field in protocol.setting_fields()}
    wanted = {"ways": ways, "shots": shots}
    given = {name: value for name, value in wanted.items() if value and name in known}
    return protocol_from_dict(protocol.to_dict() | given) if given else protocol


def _test_words(protocol: Protocol) -> list[str]:
    line = write_protocol(protocol)
    if protocol.name != AnyWayAnyShot.name:
        return ["--protocol", line]
    settings = [setting.partition("=") for setting in line.split()[1:]]
    return [word for name, _, value in settings for word in (f"--{name}", value)]
