"""Submissions as lists show them: over JSON, and as rows of pages."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Select, func, select, tuple_
from sqlalchemy.orm import Session, joinedload

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RUNNING
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.arrivals import words_on_counting
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.submissions.tags import tags_of
from anyshot_platform.judging.visibility.access import find_roles, is_own, teams_of
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.judging.visibility.standing import counting, kept, standing_of
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.submissions.schemas import SubmissionOut
from anyshot_platform.site.submissions.smoke_answer import public_scores
from anyshot_platform.site.submissions.words import KIND_WORDS
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.entries.selection import COMPETES
from anyshot_platform.standings.entries.states import EntryState
from anyshot_scoring.rankings import RankedEntry, choose_entry
from anyshot_scoring.rules import Rule

Sort = Literal["newest", "oldest", "best", "worst"]
_MOST_SORTED = 2000  # of one's own submissions, the newest


@dataclass(frozen=True)
class _Marks:
    """Of the submissions of a page: the names of the leagues of those that count, and the ids of the best."""

    leagues: dict[str, list[str]]
    best: frozenset[str]


class ShownSubmission(SubmissionOut):
    """A submission as pages show it: what its JSON says, and words around that."""

    title: str
    kind_words: str
    state: str  # for the badge
    competition_title: str
    phase_name: str


class SubmissionRow(ShownSubmission):
    """One line of a list of submissions; of a smoke test its score is that on a few public tasks."""

    on_public: bool
    seconds: float | None
    counts_in: list[str]  # leagues in which it stands for its team, by name, as far as the viewer may know
    best: bool  # of its team's in the phase, as far as the viewer sees those and scores


def show_submissions(session: Session, sights: Sequence[Sight]) -> list[SubmissionOut]:
    """Submissions for a list, as the API shows them."""
    tags = tags_of(session, [sight.submission.id for sight in sights])
    return [_show(sight, tags.get(sight.submission.id, [])) for sight in sights]


def _show(sight: Sight, tags: list[str]) -> SubmissionOut:
    submission, standing = sight.submission, sight.standing
    return SubmissionOut(
        id=submission.id,
        competition=submission.competition.slug,
        phase=submission.phase.slug,
        team=submission.team.name,
        kind=submission.kind,
        number=submission.number,
        filename=submission.filename,
        comment=submission.comment,
        size=submission.size,
        digest=submission.digest,
        status=submission.status,
        verdict=submission.verdict,
        cause=submission.cause,
        score=sight.score,
        half_width=sight.half_width,
        counts_quota=submission.counts_quota,
        quota_reason=submission.quota_reason,
        created_at=submission.created_at,
        arrived_at=submission.arrived_at,
        counted_words=words_on_counting(submission),
        finished_at=submission.finished_at,
        disqualified=standing.disqualified is not None,
        withdrawn=standing.withdrawn,
        tags=tags,
    )


def for_page(shown: SubmissionOut, submission: Submission, state: str) -> dict[str, Any]:
    """The fields of a `ShownSubmission`."""
    return {
        **dict(shown),
        "title": submission_title(submission),
        "kind_words": KIND_WORDS[submission.kind],
        "state": state,
        "competition_title": submission.competition.title,
        "phase_name": submission.phase.name,
    }


def own_submissions(user_id: str) -> Select[Submission]:
    """What the user's teams handed in, and they themselves, in all competitions."""
    return select(Submission).where(kept(), is_own(user_id))


def team_submissions(team_id: str, competition_id: str) -> Select[Submission]:
    """What a team handed in to a competition."""
    return select(Submission).where(
        kept(),
        Submission.team_id == team_id,
        Submission.competition_id == competition_id,
    )


def page_rows(
    session: Session,
    viewer: Viewer,
    query: Select[Submission],
    number: int,
    size: int = 25,
    sort: Sort = "newest",
) -> tuple[list[SubmissionRow], Page]:
    """A page of rows as the viewer sees them."""
    found, page = find_page(session, viewer, query, number, size, sort)
    return make_rows(session, viewer, found), page


def find_page(
    session: Session, viewer: Viewer, query: Select[Submission], number: int, size: int, sort: Sort
) -> tuple[Sequence[Submission], Page]:
    """A page of submissions in an order; by scores, those that the viewer does not see come last."""
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    page = page_of(number, size, total)
    newest = _loaded(query.order_by(Submission.created_at.desc(), Submission.id.desc()))
    if sort == "newest":
        return session.scalars(newest.offset(page.offset).limit(size)).all(), page
    if sort == "oldest":
        oldest = _loaded(query.order_by(Submission.created_at, Submission.id))
        return session.scalars(oldest.offset(page.offset).limit(size)).all(), page
    every = session.scalars(newest.limit(_MOST_SORTED)).all()
    scores = {sight.submission.id: sight.score for sight in look_at_all(session, viewer, every)}
    ordered = sorted(every, key=lambda one: _by_score(scores[one.id], best_first=sort == "best"))
    return ordered[page.offset : page.offset + size], page


def _by_score(score: float | None, *, best_first: bool) -> tuple[bool, float]:
    return score is None, (-score if best_first else score) if score is not None else 0.0


def look_at_all(session: Session, viewer: Viewer, submissions: Sequence[Submission]) -> list[Sight]:
    """The viewer's sight of each of these submissions."""
    roles = find_roles(session, viewer, {one.competition_id for one in submissions})
    return [Sight(one, look_at_phase(one.phase, roles.get(one.competition_id))) for one in submissions]


def recent_rows(session: Session, viewer: Viewer, count: int) -> list[SubmissionRow]:
    """The viewer's latest submissions, across competitions."""
    query = own_submissions(viewer.id).order_by(Submission.created_at.desc()).limit(count)
    return make_rows(session, viewer, session.scalars(_loaded(query)).all())


def _loaded(query: Select[Submission]) -> Select[Submission]:
    return query.options(
        joinedload(Submission.competition), joinedload(Submission.phase), joinedload(Submission.team)
    )


def make_rows(session: Session, viewer: Viewer, submissions: Sequence[Submission]) -> list[SubmissionRow]:
    """Rows of these submissions; what their runs are doing is read with one query for all."""
    sights = look_at_all(session, viewer, submissions)
    runs: dict[str, list[Run]] = {submission.id: [] for submission in submissions}
    for run in session.scalars(select(Run).where(Run.submission_id.in_(runs))):
        if run.submission_id is not None:
            runs[run.submission_id].append(run)
    public = public_scores(session, submissions)
    marks = _read_marks(session, submissions)
    teams = set(session.scalars(teams_of(viewer.user_id or "")))
    return [
        _row(
            sight,
            shown,
            runs[shown.id],
            public.get(shown.id),
            marks,
            in_team=sight.submission.team_id in teams,
        )
        for sight, shown in zip(sights, show_submissions(session, sights), strict=True)
    ]


def _row(
    sight: Sight,
    shown: SubmissionOut,
    runs: Sequence[Run],
    public: RunScore | None,
    marks: _Marks,
    *,
    in_team: bool,
) -> SubmissionRow:
    submission = sight.submission
    sees_team = in_team or sight.everything
    running = [run.state.value for run in runs if run.state in RUNNING]
    known = for_page(shown, submission, running[0] if running else submission_state(submission))
    if public is not None:
        known |= {"score": public.value, "half_width": public.half_width}
    return SubmissionRow(
        **known,
        on_public=public is not None,
        seconds=sum(run.seconds_used for run in runs) or None,
        counts_in=marks.leagues.get(submission.id, []) if sight.phase.choice else [],
        best=sees_team and sight.scored and submission.id in marks.best,
    )


def submission_title(submission: Submission) -> str:
    """`#3 proto-net.zip`."""
    return f"#{submission.number} {submission.filename}"


def submission_state(submission: Submission) -> str:
    """The state that a badge shows."""
    if standing_of(submission).disqualified is not None:
        return "disqualified"
    if submission.status == SubmissionStatus.FAILED and submission.verdict == Verdict.TIME_LIMIT:
        return "timed_out"
    return submission.status.value


def _read_marks(session: Session, submissions: Sequence[Submission]) -> _Marks:
    """The marks of these submissions, read with one query each; whether a score may be seen is the caller's."""
    return _Marks(_leagues(session, [one.id for one in submissions]), frozenset(_best(session, submissions)))


def _leagues(session: Session, ids: Collection[str]) -> dict[str, list[str]]:
    query = (
        select(Entry.submission_id, League.name)
        .join(League, League.id == Entry.league_id)
        .where(Entry.submission_id.in_(ids), Entry.state == EntryState.STANDING, League.deleted_at.is_(None))
        .order_by(League.position)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for submission_id, name in session.execute(query):
        found[submission_id].append(name)
    return found


def _best(session: Session, submissions: Sequence[Submission]) -> list[str]:
    """Of each team and phase with more than one score: the one that the phase's rule ranks first among the team's."""
    wanted = {(one.team_id, one.phase_id) for one in submissions}
    query = (
        select(SubmissionScore, PhaseVersion)
        .join(Submission, Submission.id == SubmissionScore.submission_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .join(PhaseVersion, PhaseVersion.id == SubmissionScore.phase_version_id)
        .where(
            tuple_(Submission.team_id, Submission.phase_id).in_(wanted),
            PhaseVersion.number == Phase.live_version,
            Submission.kind.in_(COMPETES),
            counting(),
        )
        .order_by(Submission.number)
    )
    own: dict[tuple[str, str], list[RankedEntry]] = defaultdict(list)
    rules: dict[str, Rule] = {}
    for score, version in session.execute(query):
        own[score.team_id, version.id].append(entry_of(score.submission_id, score))
        rules[version.id] = version.rule
    first = [
        choose_entry(entries, "best", rules[version])
        for (_, version), entries in own.items()
        if len(entries) > 1
    ]
    return [entry.key for entry in first if entry is not None]
