"""Bundles of the starting kit trained and tested for a study, each run kept so that an interrupted study goes on.

The numbers follow from the bundles and the kit's training: `sources` writes their digests beside a study's own.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyshot_core.baselines import find_baselines
from anyshot_core.protocols import Roles
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment.arms import make_arms
from anyshot_studies.experiment.carry_out import run_experiment
from anyshot_studies.experiment.plan import Experiment
from anyshot_studies.reproduce.sources import BUNDLES

SEED = 93
_BUDGET = 7 * 24 * 3600.0  # seconds a run: what ends training is the number of tasks


class FailedStudy(RuntimeError):
    """A run of a study failed; the message says which and how."""


def train_and_test(
    names: Sequence[str],
    data: PublicData,
    roles: Roles,
    tasks: int,
    settings: str,
    changes: Mapping[str, Any],
    folder: Path,
    *,
    one_core: bool,
) -> dict[str, TaskTable]:
    """The tables of the bundles by name, tested on the same tasks. Raises FailedStudy.

    With `one_core` each run has a core of its own, as many at a time as there are; else all cores, one by one.
    """
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    experiment = Experiment(
        baselines=tuple(find_baselines(tuple(names), BUNDLES)),
        data=data,
        output=folder,
        seeds=(SEED,),
        tasks=tasks,
        settings=settings,
        arms=make_arms(changes, None, False),
        budget_seconds=_BUDGET,
        cpus=1 if one_core else None,
        roles=roles,
    )
    found: dict[str, TaskTable] = {}
    for run in run_experiment(experiment, jobs=os.cpu_count() or 1 if one_core else 1):
        if run.table is None:
            raise FailedStudy(f"{run.name}: {run.message}\n{run.detail}".strip())
        found[run.name] = run.table.sorted()
    return found
