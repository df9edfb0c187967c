"""Dry runs of protocols that split datasets: what there is to train on, and several outcomes as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath

from anyshot_core.data.part import write_part
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import Protocol
from anyshot_core.taskserver.job import Hooks, Outcome, ServerProgress, TaskResult, TimeUse
from anyshot_starting_kit.dryrun.publicdata import PublicData


def training_packs(data: PublicData, pool: Pool, protocol: Protocol, folder: Path) -> tuple[Path, ...]:
    """The packs to train on: those of the data, or, written to `folder`, what the protocol leaves of those tested."""
    if not protocol.splits_datasets:
        return data.train
    found = []
    for pack in pool:
        rows = protocol.training_rows(pack)
        assert rows is not None  # the protocol splits datasets
        found.append(folder / f"{pack.name}.anyshot-pack")
        write_part(pack, rows, found[-1])
    return tuple(found)


def carry_out_parts(count: int, serve: Callable[[int, Hooks], Outcome], hooks: Hooks) -> Outcome:
    """One outcome of `count` jobs, one after the other; it ends with the first that fails."""
    results: list[TaskResult] = []
    time = TimeUse()
    tables: dict[str, bytes] = {}
    outcome = Outcome((), time)
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
    return Outcome(tuple(ordered), time, outcome.failure, tables, outcome.runner)


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
