"""What a report on submissions is computed from: what their runs exported, or were tested on besides."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_core.evaluations import BaseClasses, NovelClasses
from anyshot_core.evaluations.seeded import mean_of_runs
from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS
from anyshot_core.wire.reports import (
    Calibration,
    FeatureDiversity,
    NWayFlips,
    PredictorTrust,
    ReportDescription,
    ReportParameters,
    Representations,
    SnapshotAdvice,
    SubmissionShift,
)
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count
from anyshot_platform.judging.evaluations.reading import read_runs, read_scores
from anyshot_platform.judging.reports.actions.inputs import NothingToReport, files_of, results_of
from anyshot_platform.judging.reports.records import ExportedFile, ReportInputs
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.standing import kept

MOST_LISTED = 200
ASKED = {
    SNAPSHOTS: "snapshots",
    LAYERS: "features",
    ESTIMATES: "estimates from support sets",
    PROBABILITIES: "probabilities",
}


def list_choices(session: Session, phase: Phase) -> list[tuple[str, str]]:
    """Id and shown name of the newest scored submissions of a phase, of which a report can be asked for."""
    query = _scored(phase).order_by(Submission.created_at.desc(), Submission.id).limit(MOST_LISTED)
    return [(row.id, show_name(row)) for row in session.scalars(query)]


def show_name(submission: Submission) -> str:
    """Team and number; a baseline's own name."""
    own = submission.comment if submission.kind == SubmissionKind.BASELINE else ""
    return f"{own or submission.team.name} #{submission.number}"


def gather_submissions(
    session: Session,
    version: PhaseVersion,
    kind: type[ReportDescription],
    ids: Sequence[str],
    settings: Mapping[str, float],
) -> tuple[ReportInputs, ReportParameters]:
    """The files of the submissions of these ids, and the parameters of the analysis.

    Raises `Invalid` for submissions that are not scored ones of the phase, or too many or few of them, and
    `NothingToReport` where they lack what the report is computed from; it says what the phase would have to ask for.
    """
    chosen = _find(session, version.phase, kind, ids)
    names = {submission.id: show_name(submission) for submission in chosen}
    subjects = tuple(names.values())
    if kind.name == "submission-shift":
        return ReportInputs(subjects=subjects), _tested(session, version, names)
    if kind.name == "n-way-flips":
        results = results_of(session, version, list(names))
        if any(sum(row.submission == own for row in results) == 0 for own in names):
            raise NothingToReport("The results of each task are no longer kept of one of them.")
        if any(row.predictions is None for row in results):
            raise NothingToReport(
                "The predictions of one of them are not kept: they say which classes a task has."
            )
        parameters = NWayFlips.model_validate({**settings, "names": names})
        return ReportInputs(runs=tuple(results), subjects=subjects), parameters
    if kind.name == "predictor-trust":
        files = _exported(session, version, names, ESTIMATES)
        return ReportInputs(exports=tuple(files), subjects=subjects), PredictorTrust.model_validate(settings)
    if kind.name == "calibration":
        files = _exported(session, version, names, PROBABILITIES)
        return ReportInputs(exports=tuple(files), subjects=subjects), Calibration.model_validate(settings)
    run = int(settings["run"]) - 1
    if kind.name == "snapshots":
        file = _of_run(_exported(session, version, names, SNAPSHOTS), run)
        return ReportInputs(exports=file, subjects=subjects), SnapshotAdvice.model_validate(settings)
    layers = _exported(session, version, names, LAYERS)
    if kind.name == "feature-diversity":
        seen = FeatureDiversity.model_validate(settings)
        return ReportInputs(exports=_of_run(layers, run), subjects=subjects), seen
    both = tuple(layers[:2]) if len(names) == 1 else _of_run(layers, run)
    if len(both) != 2:
        raise NothingToReport(
            "The layers of two runs are compared, and there are those of one: choose two submissions."
        )
    return ReportInputs(exports=both, subjects=subjects), Representations.model_validate(settings)


def _find(
    session: Session, phase: Phase, kind: type[ReportDescription], ids: Sequence[str]
) -> list[Submission]:
    wanted = list(dict.fromkeys(ids))
    if not kind.least <= len(wanted) <= kind.most:
        many = (
            count(kind.least, "submission")
            if kind.least == kind.most
            else f"{kind.least} to {kind.most} submissions"
        )
        message = f"{kind.title} is about {many}; {len(wanted)} were chosen."
        raise Invalid(message, field="submissions")
    found = {row.id: row for row in session.scalars(_scored(phase).where(Submission.id.in_(wanted)))}
    if missing := [one for one in wanted if one not in found]:
        message = f"{missing[0][:40]} is no scored submission of the phase {phase.name}."
        raise Invalid(message, field="submissions")
    return [found[one] for one in wanted]


def _scored(phase: Phase) -> Select[Submission]:
    return select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.kind != SubmissionKind.SMOKE,
        Submission.status == SubmissionStatus.FINISHED,
        kept(),
    )


def _tested(session: Session, version: PhaseVersion, names: Mapping[str, str]) -> SubmissionShift:
    """Means over the seeded runs, and those of each: a loss is one learner's, whatever the ranking rule joins."""
    runs = read_runs(session, version, list(names))
    found = read_scores(session, version, list(names))
    needed = {BaseClasses.name, NovelClasses.name}
    for submission, name in names.items():
        known = {score.evaluation for score in found.get(submission, []) if score.mean is not None}
        if not needed <= known:
            raise NothingToReport(
                f"{name} has no scores on base and on novel classes: let the phase test them "
                "(further evaluations base and novel, and mixtures for the curve), and wait until "
                "they have ended."
            )
    same = version.same_test_tasks
    return SubmissionShift(
        evaluations={
            name: [
                mean_of_runs(score, each, same_tasks=same)
                for score, each in zip(found[own], runs[own], strict=True)
            ]
            for own, name in names.items()
        },
        runs={name: runs[own] for own, name in names.items()},
    )


def _exported(
    session: Session, version: PhaseVersion, names: Mapping[str, str], file: str
) -> list[ExportedFile]:
    """The files of that name, in the order of the submissions. Raises `NothingToReport` where one has none."""
    rows = files_of(session, version, list(names), file)
    for own, name in names.items():
        if all(submission != own for submission, *_ in rows):
            raise NothingToReport(
                f"No run of {name} exported {ASKED[file]}, or they are no longer kept: let the "
                "phase export them (settings of its tasks) and evaluate the submission again."
            )
    order = list(names)
    rows.sort(key=lambda row: (order.index(row[0]), row[1]))
    return [
        ExportedFile(submission=names[own], run=run, digest=digest, size=size)
        for own, run, digest, size in rows
    ]


def _of_run(files: Sequence[ExportedFile], run: int) -> tuple[ExportedFile, ...]:
    """Those of one seeded run, from 0. Raises `NothingToReport` where a submission has none."""
    found = tuple(file for file in files if file.run == run)
    if {file.submission for file in found} != {file.submission for file in files}:
        there = sorted({file.run + 1 for file in files})
        raise NothingToReport(
            f"There is no exported file of run {run + 1}; there is of {', '.join(map(str, there))}."
        )
    return found
