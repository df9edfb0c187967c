"""The page that compares submissions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.errors import Conflict, PlatformError
from anyshot_platform.judging.tables import counting_tables
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.sight.access import SubmissionAccess, find_submission_access
from anyshot_platform.sight.names import hide_names, name_datasets
from anyshot_platform.site.submissions.comparison import MatrixView, PairView, compare_all, compare_pair
from anyshot_platform.site.submissions.rows import make_rows, own_submissions, submission_title
from anyshot_platform.site.submissions.show import find_version
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import browser_session
from anyshot_platform.web.rendering import render
from anyshot_platform.web.services import ServicesDep, SessionDep
from anyshot_scoring.reliability.matrix import NotComparable
from anyshot_scoring.table import TaskTable

router = APIRouter(include_in_schema=False)
MOST = 6


class CannotCompare(Conflict):
    """The submissions have no results that can be put side by side."""

    code = "cannot_compare"


@router.get("/compare")
def show_comparison(
    request: Request,
    session: SessionDep,
    services: ServicesDep,
    viewer: Annotated[Viewer, Depends(browser_session)],
    ids: Annotated[list[str], Query(alias="id", max_length=20, default_factory=list)],
) -> Response:
    """All pairs as a table where there are more than two, then each submission against the next one in detail."""
    chosen = list(dict.fromkeys(identity for identity in ids if identity))[:MOST]
    pairs: list[PairView] = []
    matrix: MatrixView | None = None
    problem = ""
    found: list[SubmissionAccess] = []
    try:
        found = [find_submission_access(session, viewer, identity[:32]) for identity in chosen]
        if len(found) > 1:
            matrix, pairs = _compare(session, services.storage, found)
    except PlatformError as error:
        problem = error.message
    slots = [*chosen, ""] if 1 < len(chosen) < MOST else [*chosen, "", ""][: max(2, len(chosen))]
    return render(
        request,
        "submissions/compare.html",
        section="submissions",
        slots=slots,
        options=(options := _options(session, viewer, found)),
        hint=_hint(len(chosen), len(options)),
        problem=problem,
        matrix=matrix,
        pairs=pairs,
    )


def _hint(chosen: int, offered: int) -> str:
    """What to do while there is nothing to compare."""
    if chosen > 1:
        return ""
    if offered < 2:
        return say("You need two submissions with a score in one phase before there is something to compare.")
    return (
        say("Choose a second submission of the same phase.")
        if chosen
        else say("Choose two submissions of one phase.")
    )


def _options(session: Session, viewer: Viewer, found: Sequence[SubmissionAccess]) -> list[dict[str, str]]:
    """What can be chosen: one's own scored submissions, of the same phase as those chosen already."""
    query = own_submissions(viewer.id).where(Submission.score.is_not(None))
    if found:
        query = query.where(Submission.phase_id == found[0].submission.phase_id)
    rows = session.scalars(query.order_by(Submission.created_at.desc()).limit(200)).all()
    shown = [row for row in make_rows(session, viewer, rows) if row.score is not None]
    known = {row.id for row in shown}
    labels = [(row.id, row.phase_name, row.title, row.score) for row in shown]
    for one in found:
        if one.submission.id not in known and one.sight.scored:
            title = submission_title(one.submission)
            labels.append((one.submission.id, one.submission.phase.name, title, one.sight.score))
    return [
        {"id": key, "label": f"{phase}: {title} ({score or 0:.3f})"} for key, phase, title, score in labels
    ]


def _compare(
    session: Session, storage: Storage, found: Sequence[SubmissionAccess]
) -> tuple[MatrixView | None, list[PairView]]:
    if len({one.submission.phase_id for one in found}) > 1:
        raise CannotCompare(
            say("Only submissions to the same phase met the same tasks. Choose submissions of one phase.")
        )
    if not all(one.sight.phase.scores for one in found):
        raise CannotCompare(say("This phase shows no scores yet."))
    versions = [_version(session, one) for one in found]
    tables = [_tables(session, storage, *pair) for pair in zip(found, versions, strict=True)]
    titles = [submission_title(one.submission) for one in found]
    try:
        matrix = compare_all(titles, tables, versions[0]) if len(found) > 2 else None
        pairs = [
            compare_pair(titles[a], titles[b], (tables[a], tables[b]), versions[a])
            for a, b in pairwise(range(len(found)))
        ]
    except NotComparable as error:
        raise CannotCompare(say("These submissions cannot be compared: %(error)s", error=error)) from error
    return matrix, pairs


def _version(session: Session, one: SubmissionAccess) -> PhaseVersion:
    version = find_version(session, one.submission)
    if version is None or not one.sight.scored:
        raise CannotCompare(say("%(submission)s has no score.", submission=submission_title(one.submission)))
    return version


def _tables(
    session: Session, storage: Storage, one: SubmissionAccess, version: PhaseVersion
) -> list[TaskTable]:
    """The per-task results of the runs that count, in the order of their seeds."""
    submission = one.submission
    tables = counting_tables(session, storage, submission, version)
    if tables is None:
        raise CannotCompare(
            say(
                "The results of each task of %(submission)s are no longer kept.",
                submission=submission_title(submission),
            )
        )
    names = name_datasets(session, one.sight.phase, version)
    return [hide_names(table, names) for table in tables]
