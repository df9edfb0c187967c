"""An experiment by the workers of a site: baselines run in a phase, and come back as a competition's archive."""

import csv
import io
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anyshot_core.baselines import ExperimentBundle, pack_baseline
from anyshot_core.client import Client
from anyshot_core.evaluations import PointScore
from anyshot_scoring.table import TaskTable
from anyshot_studies.experiment.arms import Arm
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.checks import BadExperiment
from anyshot_studies.experiment.further_evaluations import Scores

KIND = "baseline"  # of submissions that are an experiment's


@dataclass(frozen=True)
class Collected:
    """What a site's workers found in a phase: runs as those that are carried out here, and further evaluations."""

    phase: str
    done: tuple[Done, ...]
    further: Scores


def send(
    client: Client,
    competition: str,
    phase: str,
    baselines: Sequence[ExperimentBundle],
    arms: Sequence[Arm],
    settings: str,
) -> Iterator[tuple[str, int]]:
    """Add each baseline in each arm to a competition and run it in a phase: its name, and how many runs it has.

    One that the competition has by that name is run as it is. Raises `Refused` and `BadConfig`.
    """
    known = {row["name"]: row["key"] for row in client.organize("GET", competition, "/baselines")}
    for arm in arms:
        for baseline in baselines:
            if arm.why_not(baseline, settings):
                continue
            name = arm.name(baseline)
            key = known.get(name) or _add(client, competition, baseline, arm, settings)
            queued = client.organize("POST", competition, f"/baselines/{key}/acts/run", {"phase": phase})
            yield name, queued["runs"]


def _add(client: Client, competition: str, baseline: ExperimentBundle, arm: Arm, settings: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "baseline.zip"
        pack_baseline(baseline, bundle, settings, arm.changes_of(baseline, settings), arm.files)
        upload = client.upload(bundle)
    body = {"name": arm.name(baseline), "upload_id": upload["id"], "leagues": []}
    return client.organize("POST", competition, "/baselines", body)["key"]


def fetch_archive(client: Client, competition: str, target: Path) -> None:
    """What organizers download under Exports."""
    client.fetch(f"/competitions/{competition}/manage/exports/archive.zip", target)


def collect(path: Path, phase: str = "") -> Collected:
    """The baselines of a phase in an archive, the newest submission of each. Raises `BadExperiment`."""
    try:
        with zipfile.ZipFile(path) as archive:
            submissions = [row for row in _rows(archive, "submissions.csv") if row["kind"] == KIND]
            results = pq.read_table(io.BytesIO(archive.read("results.parquet")))
            points = _rows(archive, "evaluations.csv") if "evaluations.csv" in archive.namelist() else []
    except (OSError, KeyError, zipfile.BadZipFile, pa.ArrowInvalid) as error:
        raise BadExperiment(f"{path} is no archive of a competition (its page Exports): {error}") from error
    phase = _phase(submissions, phase)
    newest = {_name(row): row for row in submissions if row["phase"] == phase and row["deleted"] != "True"}
    done = [run for name, row in newest.items() for run in _runs(name, row, results)]
    further = {name: _scores(points, row["id"]) for name, row in newest.items()}
    return Collected(phase, tuple(done), {name: own for name, own in further.items() if own})


def _rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8"))))


def _phase(submissions: Sequence[Mapping[str, str]], wanted: str) -> str:
    phases = dict.fromkeys(row["phase"] for row in submissions)
    if not phases:
        raise BadExperiment("The archive has no runs of baselines: send some (`anyshot experiment send`).")
    if wanted and wanted not in phases:
        raise BadExperiment(f"No baseline ran in {wanted}; they ran in {', '.join(phases)}.")
    if not wanted and len(phases) > 1:
        raise BadExperiment(f"Baselines ran in {', '.join(phases)}: name one by --phase.")
    return wanted or next(iter(phases))


def _name(submission: Mapping[str, str]) -> str:
    """The baseline's name as experiments have it: "Prototypical networks" is prototypical_networks."""
    plain, bracket, arm = submission["comment"].partition(" (")
    return re.sub(r"[\s-]+", "_", plain.strip().lower()) + bracket + arm


def _runs(name: str, submission: Mapping[str, str], results: pa.Table) -> list[Done]:
    """A run for each pair of seeds of its newest version and generation; what has none yet is left out."""
    data = results.to_pydict() if len(results) else {"submission": []}
    rows = np.flatnonzero(np.array(data["submission"], object) == submission["id"])
    if not len(rows):
        if submission["status"] != "failed":
            return []
        return [Done(name, 1, None, 0.0, f"{submission['verdict']}: see the submission's page")]
    for column in ("version", "generation"):
        values = np.array(data[column])[rows]
        rows = rows[values == values.max()]
    seeds = np.array(data["seed_index"])[rows]
    return [_run(name, int(seed), data, rows[seeds == seed]) for seed in np.unique(seeds)]


def _run(name: str, seed: int, data: Mapping[str, list[Any]], rows: np.ndarray) -> Done:
    columns = {key: np.array(values)[rows] for key, values in data.items()}
    table = TaskTable.from_columns(columns)
    return Done(name, seed + 1, table, float(np.nansum(table.fit_seconds + table.predict_seconds)))


def _scores(points: Sequence[Mapping[str, str]], submission: str) -> list[PointScore]:
    return [_score(row) for row in points if row["submission"] == submission]


def _score(row: Mapping[str, str]) -> PointScore:
    numbers = {key: float(row[key]) if row[key] else None for key in ("at", "mean", "half_width")}
    return PointScore.from_dict({**row, **numbers, "tasks": int(row["tasks"])})
