"""The organizers' table of submissions over JSON, and what they do to one or many."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.actions.many import ManyDone
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.foundation.paging import ListPage
from anyshot_platform.judging.submissions.actions import bulk, organizing
from anyshot_platform.judging.submissions.actions.acts import ACTS
from anyshot_platform.judging.submissions.actions.bulk import SubmissionAct
from anyshot_platform.judging.submissions.actions.organizing import SubmissionFilter, SubmissionLine
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.published_code import with_public_code
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.site.shell.act_frame import ChangedOut, ManyIn
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/submissions", tags=["organizing: submissions"])


class TableIn(SubmissionFilter):
    """A page of what a filter shows."""

    page: int = Field(default=1, ge=1, le=1_000_000)


class ManagedOut(BaseModel):
    """A submission as organizers see it."""

    id: str
    phase: str
    team: str
    user: str
    kind: SubmissionKind
    number: int
    status: SubmissionStatus
    verdict: Verdict | None
    cause: Cause | None
    score: float | None
    half_width: HalfWidth
    created_at: datetime
    finished_at: datetime | None
    disqualified: str | None = Field(description="the reason")
    withdrawn: bool
    deleted: bool
    counts_quota: bool
    code_published: bool = Field(description="whether everybody may have its zip now")


class ActIn(ManyIn):
    """What to do, to these ids or to all that a filter shows."""

    act: SubmissionAct
    ids: list[str] = Field(default=[], max_length=10_000)
    filter: SubmissionFilter | None = None


@dataclass(frozen=True)
class OutcomeOut(ManyDone):
    """What was done; `skipped` says why not, by id; `undo` is the act that takes it back."""

    act: SubmissionAct
    undo: SubmissionAct | None


class SubmissionChanged(ChangedOut):
    """What came of an act on one submission; `changed` is false where it was so already, `undo` takes it back."""

    undo: SubmissionAct | None


@router.get("")
def list_submissions(
    access: AsReviewer, session: SessionDep, wanted: Annotated[TableIn, Query()]
) -> ListPage[ManagedOut]:
    """The table: filtered, sorted, 50 a page."""
    rows, place = organizing.find_submissions(session, access.competition, wanted, wanted.page)
    public = with_public_code(session, [row.submission for row in rows])
    return place.of([_show(row, row.submission in public) for row in rows])


@router.post("/acts")
def act_on_many(access: AsOrganizer, session: SessionDep, body: ActIn) -> OutcomeOut:
    """Re-run, re-score, cancel, disqualify, restore and the like, in bulk."""
    if bool(body.ids) == (body.filter is not None):
        raise Invalid("Give either ids or a filter.", field="ids")
    chosen = organizing.pick(session, access.competition, body.ids, body.filter)
    found = bulk.act_on(session, chosen, body.act, access.viewer.id, body.reason, body.consent())
    unknown = dict.fromkeys(body.ids, "It is not here.") if body.ids else {}
    for submission in chosen:
        unknown.pop(submission.id, None)
    skipped, undo = {**unknown, **found.skipped}, bulk.UNDO.get(body.act)
    return OutcomeOut(found.done, skipped, found.warnings, body.act, undo)


def _find(
    session: Session, competition: Competition, submission_id: Annotated[str, Path(max_length=32)]
) -> Submission:
    found = organizing.pick(session, competition, [submission_id])
    if not found:
        raise NotFound("There is no such submission.")
    return found[0]


def _after_act(act: SubmissionAct) -> Callable[..., SubmissionChanged]:
    def after(
        session: Session, access: CompetitionAccess, submission: Submission, outcome: ActOutcome
    ) -> SubmissionChanged:
        undo = bulk.UNDO.get(act) if outcome.changed else None
        return SubmissionChanged(message=outcome.message, changed=outcome.changed, undo=undo)

    return after


for _name, _one in ACTS.items():
    add_acts(router, {_name: _one}, _find, _after_act(SubmissionAct(_name)), at="/{submission_id}")


def _show(row: SubmissionLine, code_published: bool) -> ManagedOut:
    submission, standing = row.submission, standing_of(row.submission)
    return ManagedOut(
        id=submission.id,
        phase=row.phase.slug,
        team=row.team,
        user=row.user,
        kind=submission.kind,
        number=submission.number,
        status=submission.status,
        verdict=submission.verdict,
        cause=submission.cause,
        score=submission.score,
        half_width=submission.half_width,
        created_at=submission.created_at,
        finished_at=submission.finished_at,
        disqualified=standing.disqualified,
        withdrawn=standing.withdrawn,
        deleted=standing.deleted,
        counts_quota=submission.counts_quota,
        code_published=code_published,
    )
