"""Dry runs of protocols that split datasets: what there is to train on, and several outcomes as one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.evaluations.needs import require_sides
from anyshot_core.protocols import Protocol, ProtocolError, Roles
from anyshot_core.protocols.cutting import Shown, cut_packs, write_cut
from anyshot_core.taskserver.job import Hooks, JobOutcome, ServerProgress, TaskResult, TimeUse
from anyshot_starting_kit.dryrun.publicdata import PublicData


def shown_packs(data: PublicData, roles: Roles, folder: Path) -> Shown:
    """What there is to train and validate on, parts written to `folder`; raises ProtocolError where the test leaks.

    A protocol that divides datasets divides those that were named to train on; where none was, those tested if the
    test divides them too, else those of the data to train on. One that holds out domains chooses among all there are;
    another one takes those of the data to train on, as does one that divides tasks where there are any.
    """
    train, validation = training_packs(data, roles)
    to_train, test = Pool.open(train, verify=False), Pool.open(data.test, verify=False)
    to_validate = () if validation is None else Pool.open(validation, verify=False)
    require_sides(roles, to_train, test, to_validate)
    roles.require_no_leak(Pool([*to_train, *to_validate]), test)
    tested = {Pack.open(path, verify=False).content_digest for path in data.test}
    return cut_packs(roles, train, lambda pack: pack.content_digest in tested, write_cut(folder), validation)


def training_packs(data: PublicData, roles: Roles) -> tuple[tuple[Path, ...], tuple[Path, ...] | None]:
    """The packs that training and validation choose from; None where the validation is no protocol's.

    Raises:
        ProtocolError: there is no dataset to train on.
    """
    train = _source(data, roles.train, roles.test)
    if not train:
        raise ProtocolError(
            "There is no dataset to train on: name some, or a protocol for training that divides those to test on,"
            " such as class_side."
        )
    return train, None if roles.validation is None else _source(data, roles.validation, roles.test)


def _source(data: PublicData, protocol: Protocol | None, test: Protocol) -> tuple[Path, ...]:
    if protocol is None:
        divides, all_of_it = test.splits_datasets, test.holds_out
    else:
        # Other tasks on the same images need no other datasets.
        own = protocol.splits_tasks and bool(data.train)
        divides = protocol.divides and not own and test.divides and not test.holds_out
        all_of_it = protocol.holds_out
    if all_of_it:
        return tuple(dict.fromkeys((*data.train, *data.test)))
    return data.test if divides and not data.named else data.train


def carry_out_parts(count: int, serve: Callable[[int, Hooks], JobOutcome], hooks: Hooks) -> JobOutcome:
    """One outcome of `count` jobs, one after the other; it ends with the first that fails."""
    results: list[TaskResult] = []
    time = TimeUse()
    tables: dict[str, bytes] = {}
    outcome = JobOutcome((), time)
    for part in range(count):
        outcome = serve(part, _going_on(hooks, len(results), time.participant_seconds))
        results += outcome.results
        time = TimeUse(
            _add(time.participant, outcome.time.participant), _add(time.platform, outcome.time.platform)
        )
        for name, content in outcome.logger_tables.items():
            path = PurePath(name)
            tables[f"{path.stem}-dataset-{part + 1}{path.suffix}"] = content
        if outcome.failure is not None:
            break
    ordered = sorted(results, key=lambda result: result.index)
    return JobOutcome(tuple(ordered), time, outcome.failure, tables, outcome.runner)


def _going_on(hooks: Hooks, done: int, used: float) -> Hooks:
    """Hooks that count on from the parts before."""

    def report(progress: ServerProgress) -> None:
        hooks.on_progress(
            replace(
                progress, tasks_done=done + progress.tasks_done, seconds_used=used + progress.seconds_used
            )
        )

    return replace(hooks, on_progress=report)


def _add(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {step: one.get(step, 0.0) + other.get(step, 0.0) for step in one | other}
