"""Which of one's own submissions a list shows, and in which order: the same for pages, JSON and the command line."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query
from sqlalchemy import Select, exists, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.models import Submission, SubmissionTag
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.submissions.tags import plain_tag
from anyshot_platform.site.submissions.rows import Sort

SORTS: dict[Sort, str] = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "best": "Best score first",
    "worst": "Lowest score first",
}

UNFAILED = "not-failed"  # a choice among the states


@dataclass(frozen=True)
class SearchedSubmissions:
    """What a reader asked for; empty words ask for nothing."""

    text: str = ""
    kind: SubmissionKind | None = None
    status: SubmissionStatus | None = None
    failed_too: bool = True  # else neither failed nor cancelled ones
    tag: str = ""
    phase: str = ""
    competition: str = ""
    number: int | None = None
    sort: Sort = "newest"

    @property
    def state(self) -> str:
        """The state as an address has it."""
        return (self.status or "") if self.failed_too else UNFAILED

    @property
    def narrows(self) -> bool:
        """Whether anything is left out."""
        return self != SearchedSubmissions(sort=self.sort)


def read_wanted(
    q: Annotated[
        str, Query(max_length=100, description="part of the file's name, of the note or of a tag")
    ] = "",
    kind: Annotated[str, Query(pattern="^(entry|late|smoke|final|)$")] = "",
    status: Annotated[
        str,
        Query(
            pattern=f"^(queued|running|finished|failed|cancelled|{UNFAILED}|)$",
            description=f"`{UNFAILED}` leaves out failed and cancelled ones",
        ),
    ] = "",
    tag: Annotated[str, Query(max_length=30)] = "",
    phase: Annotated[str, Query(max_length=64, description="short name")] = "",
    competition: Annotated[str, Query(max_length=64, description="short name")] = "",
    number: Annotated[int | None, Query(ge=1, lt=2**31)] = None,
    sort: Sort = "newest",
) -> SearchedSubmissions:
    """The query of an address."""
    return SearchedSubmissions(
        text=q.strip(),
        kind=SubmissionKind(kind) if kind else None,
        status=SubmissionStatus(status) if status and status != UNFAILED else None,
        failed_too=status != UNFAILED,
        tag=plain_tag(tag),
        phase=phase,
        competition=competition,
        number=number,
        sort=sort,
    )


WantedDep = Annotated[SearchedSubmissions, Depends(read_wanted)]


def narrow(query: Select[Submission], wanted: SearchedSubmissions) -> Select[Submission]:
    """The query with the reader's conditions."""
    if wanted.text:
        tag = SubmissionTag.tag.contains(plain_tag(wanted.text), autoescape=True)
        query = query.where(
            or_(
                Submission.filename.icontains(wanted.text, autoescape=True),
                Submission.comment.icontains(wanted.text, autoescape=True),
                exists().where(SubmissionTag.submission_id == Submission.id, tag),
            )
        )
    if wanted.kind is not None:
        query = query.where(Submission.kind == wanted.kind)
    if wanted.status is not None:
        query = query.where(Submission.status == wanted.status)
    if not wanted.failed_too:
        query = query.where(Submission.status.not_in([SubmissionStatus.FAILED, SubmissionStatus.CANCELLED]))
    if wanted.number is not None:
        query = query.where(Submission.number == wanted.number)
    if wanted.tag:
        tagged = exists().where(SubmissionTag.submission_id == Submission.id, SubmissionTag.tag == wanted.tag)
        query = query.where(tagged)
    if wanted.phase:
        query = query.where(Submission.phase_id.in_(select(Phase.id).where(Phase.slug == wanted.phase)))
    if wanted.competition:
        found = select(Competition.id).where(Competition.slug == wanted.competition)
        query = query.where(Submission.competition_id.in_(found))
    return query


def known_tags(session: Session, query: Select[Submission]) -> list[str]:
    """The tags that these submissions have, for a choice."""
    ids = query.with_only_columns(Submission.id).subquery()
    found = select(SubmissionTag.tag).where(SubmissionTag.submission_id.in_(select(ids.c.id))).distinct()
    return list(session.scalars(found.order_by(SubmissionTag.tag)))
