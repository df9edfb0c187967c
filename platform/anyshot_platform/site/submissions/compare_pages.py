"""The page that compares submissions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.tables import counting_tables
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.submissions.tags import tags_of
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.names import hide_names, name_datasets
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.submissions.compared import (
    CannotCompare,
    baselines,
    find_compared,
    on_board,
    read_all_pairs,
    title_of,
    versions_of,
)
from anyshot_platform.site.submissions.comparison import MatrixView, PairView, compare_all, compare_pair
from anyshot_platform.site.submissions.rows import make_rows, own_submissions
from anyshot_platform.site.web.access import browser_session
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_scoring.reliability.matrix import NotComparable
from anyshot_scoring.table import TaskTable

router = APIRouter(include_in_schema=False)
MOST = 6


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
        found = [find_compared(session, viewer, identity[:32]) for identity in chosen]
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
        hint=_hint(len(chosen), len(options), len(set(ids) - {""})),
        problem=problem,
        compared=_describe(session, found),
        matrix=matrix,
        pairs=pairs,
    )


@dataclass(frozen=True)
class ComparedSubmission:
    """A submission that is compared: its page where the viewer may open it, its note and tags."""

    title: str
    href: str
    score: float | None
    note: str
    tags: list[str]


def _describe(session: Session, found: Sequence[SubmissionAccess]) -> list[ComparedSubmission]:
    """What their own people noted of the submissions; of a baseline its name is all there is."""
    known = tags_of(session, [one.submission.id for one in found])
    return [
        ComparedSubmission(
            title_of(one),
            f"/submissions/{one.submission.id}" if one.is_own or one.sight.everything else "",
            one.sight.score,
            "" if one.submission.kind == SubmissionKind.BASELINE else one.submission.comment,
            known.get(one.submission.id, []),
        )
        for one in found
    ]


def _hint(chosen: int, offered: int, named: int) -> str:
    """What to do while there is nothing to compare, and what was left out of it."""
    if named > chosen:
        return (
            f"At most {MOST} submissions are compared: these are the first {MOST} of the {named} that "
            "you chose."
        )
    if chosen > 1:
        return ""
    if offered < 2:
        return "You need two submissions with a score in one phase before there is something to compare."
    return (
        "Choose a second submission to the same phase." if chosen else "Choose two submissions to one phase."
    )


def _options(session: Session, viewer: Viewer, found: Sequence[SubmissionAccess]) -> list[dict[str, Any]]:
    """What can be chosen: own scored submissions and baselines, of the same phase as those chosen already."""
    query = own_submissions(viewer.id).where(Submission.score.is_not(None))
    if found:
        query = query.where(Submission.phase_id == found[0].submission.phase_id)
    rows = session.scalars(query.order_by(Submission.created_at.desc()).limit(200)).all()
    shown = [row for row in make_rows(session, viewer, rows) if row.score is not None]
    known = {row.id for row in shown}
    labels = [
        (row.id, row.phase_name, f"{row.title}, {row.comment}" if row.comment else row.title, row.score)
        for row in shown
    ]
    baselines = _shown_baselines(session, viewer, {row.phase_id for row in rows})
    for one in (*baselines, *found):
        if one.submission.id not in known and one.sight.scored:
            known.add(one.submission.id)
            labels.append((one.submission.id, one.submission.phase.name, title_of(one), one.sight.score))
    return [
        {"id": key, "label": join_texts((phase, title), by=": "), "score": score or 0.0}
        for key, phase, title, score in labels
    ]


def _shown_baselines(session: Session, viewer: Viewer, phase_ids: set[str]) -> list[SubmissionAccess]:
    """The baselines of these phases that the viewer may be compared with."""
    query = baselines().where(Submission.phase_id.in_(phase_ids)).order_by(Submission.score.desc()).limit(50)
    found = (on_board(session, viewer, one) for one in session.scalars(query).all())
    return [one for one in found if one is not None]


def _compare(
    session: Session, storage: Storage, found: Sequence[SubmissionAccess]
) -> tuple[MatrixView | None, list[PairView]]:
    versions = versions_of(session, found)
    tables = [_tables(session, storage, *pair) for pair in zip(found, versions, strict=True)]
    titles = [title_of(one) for one in found]
    single = all(one.sight.phase.tasks for one in found)
    said = read_all_pairs(session, storage, found, versions[0])
    try:
        pairs = [
            compare_pair(
                titles[a], titles[b], (tables[a], tables[b]), versions[a], said[a, b], single_tasks=single
            )
            for a, b in pairwise(range(len(found)))
        ]
    except NotComparable as error:
        raise CannotCompare(f"These submissions cannot be compared: {error}") from error
    scores = [one.sight.score for one in found]
    return compare_all(titles, scores, said) if len(found) > 2 else None, pairs


def _tables(
    session: Session, storage: Storage, one: SubmissionAccess, version: PhaseVersion
) -> list[TaskTable]:
    """The per-task results of the runs that count, in the order of their seeds."""
    submission = one.submission
    tables = counting_tables(session, storage, submission, version)
    if tables is None:
        raise CannotCompare(f"The results of each task of {title_of(one)} are no longer kept.")
    names = name_datasets(session, one.sight.phase, version)
    return [hide_names(table, names) for table in tables]
