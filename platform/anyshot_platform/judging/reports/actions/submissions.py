"""What a report on submissions is computed from: what their runs exported, or were tested on besides."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_core.evaluations import BaseClasses, NovelClasses
from anyshot_core.evaluations.scores import PointScore
from anyshot_core.evaluations.seeded import mean_of_runs
from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS
from anyshot_core.wire.reports import ReportDescription, SubmissionShift
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count
from anyshot_platform.judging.evaluations.reading import read_runs, read_scores
from anyshot_platform.judging.reports.actions.inputs import NothingToReport, files_of, results_of
from anyshot_platform.judging.reports.records import ExportedFile, RunTable
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


def find_chosen(
    session: Session, phase: Phase, kind: type[ReportDescription], ids: Sequence[str]
) -> dict[str, str]:
    """Shown names of the submissions that a report is to be about, by id.

    Raises `Invalid` for submissions that are not scored ones of the phase, and for too many or few of them.
    """
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
    return {one: show_name(found[one]) for one in wanted}


def _scored(phase: Phase) -> Select[Submission]:
    return select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.kind != SubmissionKind.SMOKE,
        Submission.status == SubmissionStatus.FINISHED,
        kept(),
    )


def read_tested(session: Session, version: PhaseVersion, names: Mapping[str, str]) -> SubmissionShift:
    """Means over the seeded runs, and the scores of each: a loss is one learner's, whatever the ranking rule joins.

    Raises `NothingToReport` where one was not tested on base and on novel classes.
    """
    runs = read_runs(session, version, list(names))
    found = read_scores(session, version, list(names))
    for submission, name in names.items():
        if not _is_tested(found.get(submission, [])):
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


def count_tested(session: Session, version: PhaseVersion, submissions: Sequence[str]) -> int:
    """How many submissions were tested on base and on novel classes."""
    return sum(map(_is_tested, read_scores(session, version, submissions).values()))


def _is_tested(scores: Sequence[PointScore]) -> bool:
    return {BaseClasses.name, NovelClasses.name} <= {one.evaluation for one in scores if one.mean is not None}


def read_predicted(
    session: Session, version: PhaseVersion, submissions: Sequence[str]
) -> tuple[RunTable, ...]:
    """The tables of all runs of submissions. Raises `NothingToReport` where predictions of one are not kept."""
    results = results_of(session, version, submissions)
    if {row.submission for row in results} < set(submissions):
        raise NothingToReport("The results of each task are no longer kept of one of them.")
    if any(row.predictions is None for row in results):
        raise NothingToReport(
            "The predictions of one of them are not kept: they say which classes a task has."
        )
    return tuple(results)


def count_predicted(session: Session, version: PhaseVersion, submissions: Sequence[str]) -> int:
    """How many submissions have the predictions of all their runs."""
    rows = results_of(session, version, submissions)
    without = {row.submission for row in rows if row.predictions is None}
    return len({row.submission for row in rows} - without)


def find_exported(
    session: Session, version: PhaseVersion, names: Mapping[str, str], file: str
) -> tuple[ExportedFile, ...]:
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
    return tuple(
        ExportedFile(submission=names[own], run=run, digest=digest, size=size)
        for own, run, digest, size in rows
    )


def of_run(files: Sequence[ExportedFile], number: float) -> tuple[ExportedFile, ...]:
    """Those of one seeded run, from 1. Raises `NothingToReport` where a submission has none."""
    found = tuple(file for file in files if file.run == number - 1)
    if {file.submission for file in found} != {file.submission for file in files}:
        there = sorted({file.run + 1 for file in files})
        raise NothingToReport(
            f"There is no exported file of run {number:g}; there is of {', '.join(map(str, there))}."
        )
    return found
