"""The stages of an organizer's report: from its inputs to its page, numbers and table."""

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from anyshot_analysis import jobs
from anyshot_core.data.problems import DataError
from anyshot_core.exports import array_role
from anyshot_core.protocols import ProtocolError
from anyshot_core.results import read_results, write_results
from anyshot_core.wire.jobs import Analyse, ExportRef
from anyshot_core.wire.reports import ReportSummary, SubmissionShift
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Progress, ResultsRef, Stage
from anyshot_scoring.errors import ScoringError
from anyshot_worker.attempt import BadAssignment, RunAttempt
from anyshot_worker.materials import PACK_SUFFIX
from anyshot_worker.workspace import HeldFiles

SENT = ("page.html", "result.json", "table.parquet")  # a site keeps the page, which holds the figures


@dataclass(frozen=True)
class ReportFiles:
    """The summary of a report, and its files."""

    summary: ReportSummary
    files: list[Path]


def compute_report(attempt: RunAttempt[Analyse], inputs: dict[str, list[Path]]) -> ReportFiles:
    """Run the analysis that the assignment names, on the files of `gather_inputs`.

    `parameters.analysis` is the name in `anyshot_analysis.jobs`; the rest goes to it.

    Raises:
        BadAssignment: what was asked for cannot be computed; the text says what to change.
        Stopped: the attempt is to stop, before the next step of the report.
    """
    asked = attempt.assignment.parameters
    parameters = asked.model_dump(mode="json", exclude={"analysis", "evaluations", "runs"})
    target = attempt.folder / "report"
    target.mkdir()

    def progress(what: str, done: int, total: int) -> None:
        attempt.check()
        attempt.lease.report(Progress(stage=Stage.SCORING, message=what, tasks_done=done, tasks_total=total))

    try:
        summary = jobs.run(asked.analysis, inputs, parameters, target, progress)
    except (jobs.BadAnalysis, ScoringError, ProtocolError, DataError) as error:
        raise BadAssignment(Verdict.BAD_SETTINGS, str(error)) from error
    return ReportFiles(ReportSummary.model_validate(summary), [target / name for name in SENT])


def gather_inputs(assignment: Analyse, files: HeldFiles, folder: Path) -> dict[str, list[Path]]:
    """The files of a report by role: packs of pools, results and exports of runs, scores in further evaluations."""
    named = folder / "results"
    named.mkdir()
    predictions = [ref.predictions for ref in assignment.results if ref.predictions is not None]
    complete = len(predictions) == len(assignment.results)  # those of some say nothing of the other runs
    return {
        "predictions": [files.get(blob, ".parquet") for blob in predictions] if complete else [],
        "meta_train": [files.get(pack.blob, PACK_SUFFIX) for pack in assignment.meta_train],
        "meta_test": [files.get(pack.blob, PACK_SUFFIX) for pack in assignment.meta_test],
        "results": [
            _named(files.get(ref.blob, ".parquet"), ref, named / f"{place}.parquet", assignment)
            for place, ref in enumerate(assignment.results)
        ],
        **_exported(assignment, files, folder / "exports"),
        "evaluations": _evaluations(assignment, folder),
    }


def _exported(assignment: Analyse, files: HeldFiles, folder: Path) -> dict[str, list[Path]]:
    """What runs exported, by what the files hold, under names that say whose they are."""
    found = dict[str, list[Path]]()
    for place, ref in enumerate(assignment.exports):
        source = files.get(ref.blob, ".npz")
        target = folder / str(place) / f"{_file_name(ref)}.npz"
        target.parent.mkdir(parents=True)
        shutil.copyfile(source, target)
        found.setdefault(array_role(target), []).append(target)
    return found


def _file_name(ref: ExportRef) -> str:
    """Letters, digits and dashes only: a team chooses its name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{ref.submission} run {ref.run + 1}").strip("-")[:80]


def _evaluations(assignment: Analyse, folder: Path) -> list[Path]:
    """The scores of submissions in further evaluations, one file each."""
    parameters = assignment.parameters
    if not isinstance(parameters, SubmissionShift):
        return []
    files = list[Path]()
    for place, (name, scores) in enumerate(parameters.evaluations.items()):
        files.append(folder / f"evaluations-{place + 1}.json")
        runs = parameters.runs.get(name) or [()] * len(scores)
        rows = [
            score.to_dict()
            | {"runs": [asdict(run) for run in own], "same_test_tasks": assignment.same_test_tasks}
            for score, own in zip(scores, runs, strict=True)
        ]
        files[-1].write_text(json.dumps({"name": name, "evaluations": rows}), encoding="utf-8")
    return files


def _named(source: Path, ref: ResultsRef, target: Path, assignment: Analyse) -> Path:
    """The same results in a file that says whose they are and on whose tasks, as the analyses read it."""
    found = read_results(source)
    named = {
        "who": ref.submission,
        "submission": ref.submission,
        "run": str(ref.run + 1),
        "part": "",
        "same_test_tasks": found.identity.same_test_tasks or assignment.same_test_tasks,
    }
    write_results(target, found.table, found.identity.model_copy(update=named))
    return target
