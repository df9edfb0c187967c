"""An organizer's report, computed by a worker as an ordinary job."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

from anyshot_core.data.problems import DataError
from anyshot_core.exports import array_role
from anyshot_core.protocols import ProtocolError
from anyshot_core.results import read_results, write_results
from anyshot_core.wire.jobs import Analyse, ExportRef
from anyshot_core.wire.reports import ReportSummary, SubmissionShift
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Complete, PlatformStep, Progress, ResultsRef, Stage
from anyshot_scoring.errors import ScoringError
from anyshot_worker.attempt import AttemptContext
from anyshot_worker.materials import PACK_SUFFIX, BadAssignment

SENT = ("page.html", "result.json", "table.parquet")  # a site keeps the page, which holds the figures


def analyse(attempt: AttemptContext[Analyse]) -> Complete:
    """Run the analysis that the assignment names and upload its page, numbers and table.

    `parameters.analysis` is the name in `anyshot_analysis.jobs`; the rest goes to it. Its inputs are the packs of
    the assignment's pools, the results and exports of the runs that it lists, and scores in further evaluations.

    Raises:
        BadAssignment: what was asked for cannot be computed; the text says what to change.
    """
    from anyshot_analysis import jobs  # brings torch and timm, which no other job of this process needs

    assignment = attempt.assignment
    name = assignment.parameters.analysis
    parameters = assignment.parameters.model_dump(mode="json", exclude={"analysis", "evaluations", "runs"})
    attempt.report_stage(Stage.PREPARING, f"Fetching what the report {name!r} is about")
    with attempt.step(PlatformStep.PREPARE):
        inputs = _gather(attempt)
    attempt.report_stage(Stage.SCORING, f"Computing the report {name!r}")
    target = attempt.folder / "report"
    target.mkdir()

    def progress(what: str, done: int, total: int) -> None:
        attempt.check()
        attempt.lease.report(Progress(stage=Stage.SCORING, message=what, tasks_done=done, tasks_total=total))

    with attempt.step(PlatformStep.ANALYSIS):
        try:
            summary = jobs.run(name, inputs, parameters, target, progress)
        except (jobs.BadAnalysis, ScoringError, ProtocolError, DataError) as error:
            raise BadAssignment(Verdict.BAD_SETTINGS, str(error)) from error
    for name in SENT:
        attempt.upload(name, target / name)
    attempt.upload("log.txt", attempt.log.close())
    return Complete(
        epoch=assignment.epoch,
        summary=ReportSummary.model_validate(summary),
        artifacts=attempt.artifacts,
        usage=attempt.use(),
        provenance=attempt.provenance,
    )


def _gather(attempt: AttemptContext[Analyse]) -> dict[str, list[Path]]:
    """The files of the report by role."""
    assignment, files = attempt.assignment, attempt.files
    folder = attempt.folder / "results"
    folder.mkdir()
    predictions = [ref.predictions for ref in assignment.results if ref.predictions is not None]
    complete = len(predictions) == len(
        assignment.results
    )  # of some runs alone they would say nothing of the others
    return {
        "predictions": [files.get(blob, ".parquet") for blob in predictions] if complete else [],
        "meta_train": [files.get(pack.blob, PACK_SUFFIX) for pack in assignment.meta_train],
        "meta_test": [files.get(pack.blob, PACK_SUFFIX) for pack in assignment.meta_test],
        "results": [
            _named(files.get(ref.blob, ".parquet"), ref, folder / f"{place}.parquet", assignment)
            for place, ref in enumerate(assignment.results)
        ],
        **_exported(attempt),
        "evaluations": _evaluations(attempt),
    }


def _exported(attempt: AttemptContext[Analyse]) -> dict[str, list[Path]]:
    """What runs exported, by what the files hold, under names that say whose they are."""
    folder, found = attempt.folder / "exports", dict[str, list[Path]]()
    for place, ref in enumerate(attempt.assignment.exports):
        source = attempt.files.get(ref.blob, ".npz")
        target = folder / str(place) / f"{_file_name(ref)}.npz"
        target.parent.mkdir(parents=True)
        shutil.copyfile(source, target)
        found.setdefault(array_role(target), []).append(target)
    return found


def _file_name(ref: ExportRef) -> str:
    """Letters, digits and dashes only: a team chooses its name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{ref.submission} run {ref.run + 1}").strip("-")[:80]


def _evaluations(attempt: AttemptContext[Analyse]) -> list[Path]:
    """The scores of submissions in further evaluations, one file each."""
    parameters = attempt.assignment.parameters
    if not isinstance(parameters, SubmissionShift):
        return []
    files = list[Path]()
    for place, (name, scores) in enumerate(parameters.evaluations.items()):
        files.append(attempt.folder / f"evaluations-{place + 1}.json")
        runs = parameters.runs.get(name) or [()] * len(scores)
        rows = [
            score.to_dict()
            | {"runs": [asdict(run) for run in own], "same_test_tasks": attempt.assignment.same_test_tasks}
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
