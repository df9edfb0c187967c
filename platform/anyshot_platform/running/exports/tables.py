"""The tables of a competition: submissions, leaderboards, results of every task."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import groupby, zip_longest
from typing import Any

import pyarrow as pa
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import known_half
from anyshot_core.evaluations import PointScore
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.foundation.tables import Form, write, write_parquet
from anyshot_platform.judging.evaluations.reading import read_scores
from anyshot_platform.judging.execution.kinds import counting_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.tables import find_results, read_table
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.fact_sheets.service import table_rows
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import BOARD_ORDER, name_on_board, number_rows
from anyshot_platform.standings.leaderboards.trust import read_against_above

SUBMISSION_COLUMNS = (
    "id",
    "phase",
    "team",
    "user",
    "kind",
    "number",
    "status",
    "verdict",
    "cause",
    "score",
    "half_width",
    "leagues",
    "uploaded",
    "finished",
    "disqualified",
    "withdrawn",
    "deleted",
    "costs_quota",
    "digest",
    "size",
    "origin",
    "comment",
)
ENTRY_COLUMNS = (
    "phase",
    "league",
    "team",
    "submission",
    "number",
    "state",
    "choice",
    "reason",
    "updated",
)
EVALUATION_COLUMNS = (
    *("phase", "version", "team", "submission", "number", "kind"),
    *(field.name for field in fields(PointScore)),
)
BOARD_COLUMNS = (
    "phase",
    "version",
    "league",
    "rule",
    "rank",
    "team",
    "submission",
    "baseline",
    "score",
    "half_width",
    "tasks",
    "runs",
    "seconds",
    "uploaded",
    "by_dataset",
    "against_above",
    "above_minus_this",
    "above_minus_this_low",
    "above_minus_this_high",
    "above_is_better",
    "above_is_better_elsewhere",
)


def _submissions(session: Session, competition: Competition) -> Iterator[tuple[Submission, str, str, str]]:
    """The submissions from the oldest, each with phase, team and user; 2,000 at a time are in memory.

    Not by a cursor of the server: what a page reads is no transaction, in which alone PostgreSQL has them.
    """
    wanted = (Submission.competition_id == competition.id, Submission.kind != SubmissionKind.SMOKE)
    in_order = (Submission.created_at, Submission.id)
    ids = session.scalars(select(Submission.id).where(*wanted).order_by(*in_order)).all()
    for first in range(0, len(ids), 2000):
        rows = session.execute(
            select(Submission, Phase.slug, Team.name, User.username)
            .join(Phase, Phase.id == Submission.phase_id)
            .join(Team, Team.id == Submission.team_id)
            .join(User, User.id == Submission.user_id)
            .where(Submission.id.in_(ids[first : first + 2000]))
            .order_by(*in_order)
        )
        yield from rows


def list_submissions(session: Session, competition: Competition) -> Iterator[dict[str, Any]]:
    """Every submission, also disqualified, withdrawn and deleted ones; smoke tests are left out."""
    leagues: dict[str, list[str]] = {}
    entered = (
        select(LeagueEntry.submission_id, League.slug, LeagueEntry.status)
        .join(League, League.id == LeagueEntry.league_id)
        .where(League.competition_id == competition.id)
    )
    for submission_id, slug, status in session.execute(entered):
        leagues.setdefault(submission_id, []).append(f"{slug}:{status.value}")
    for submission, phase, team, user in _submissions(session, competition):
        standing = standing_of(submission)
        yield {
            "id": submission.id,
            "phase": phase,
            "team": team,
            "user": user,
            "kind": submission.kind.value,
            "number": submission.number,
            "status": submission.status.value,
            "verdict": submission.verdict.value if submission.verdict else None,
            "cause": submission.cause.value if submission.cause else None,
            "score": submission.score,
            "half_width": known_half(submission.half_width),
            "leagues": " ".join(sorted(leagues.get(submission.id, []))),
            "uploaded": _iso(submission.created_at),
            "finished": _iso(submission.finished_at),
            "disqualified": standing.disqualified,
            "withdrawn": standing.withdrawn,
            "deleted": standing.deleted,
            "costs_quota": submission.counts_quota,
            "digest": submission.digest,
            "size": submission.size,
            "origin": submission.origin_id,
            "comment": submission.comment,
        }


def list_boards(session: Session, storage: Storage, competition: Competition) -> Iterator[dict[str, Any]]:
    """Every row of every league's board in every phase, under the live version, in rank order.

    `against_above` is what the page's brackets say: `different`, or not told apart from the ranked row above.
    """
    found = session.execute(
        select(BoardRow, Phase.slug, PhaseVersion, League.slug, Team.name, Submission)
        .join(PhaseVersion, PhaseVersion.id == BoardRow.phase_version_id)
        .join(Phase, Phase.id == PhaseVersion.phase_id)
        .join(League, League.id == BoardRow.league_id)
        .join(Team, Team.id == BoardRow.team_id)
        .join(Submission, Submission.id == BoardRow.submission_id)
        .where(Phase.competition_id == competition.id, PhaseVersion.number == Phase.live_version)
        .where(Phase.deleted_at.is_(None), League.deleted_at.is_(None))
        .order_by(Phase.position, Phase.id, League.position, League.id, ~BoardRow.ranked, *BOARD_ORDER)
    )
    for _, rows in groupby(found, key=lambda line: (line[0].phase_version_id, line[0].league_id)):
        yield from _board(session, storage, list(rows))


def _board(session: Session, storage: Storage, rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The rows of one board, the ranked ones first."""
    ranked = [line[0] for line in rows if line[0].ranked]
    said = read_against_above(session, storage, rows[0][2], ranked)
    for (row, phase, version, league, team, submission), rank in zip_longest(rows, number_rows(ranked)):
        against = said.get(row.row_key) if rank else None
        yield {
            "phase": phase,
            "version": version.number,
            "league": league,
            "rule": version.rule.name,
            "rank": rank,
            "team": name_on_board(submission.kind, team, submission.comment, submission.filename),
            "submission": row.submission_id,
            "baseline": submission.kind == SubmissionKind.BASELINE,
            "score": row.value,
            "half_width": known_half(row.half_width),
            "tasks": row.tasks,
            "runs": row.runs,
            "seconds": row.seconds,
            "uploaded": _iso(row.submitted_at),
            "by_dataset": json.dumps(row.by_dataset, ensure_ascii=False, sort_keys=True),
            "against_above": against and against.verdict,
            "above_minus_this": against and against.difference,
            "above_minus_this_low": against and against.low,
            "above_minus_this_high": against and against.high,
            "above_is_better": against and against.better,
            "above_is_better_elsewhere": against and against.elsewhere,
        }


def list_entries(session: Session, competition: Competition) -> Iterator[dict[str, Any]]:
    """Every entry of a team in a league of a phase: what stands, how it was chosen, why another does not."""
    rows = session.execute(
        select(Entry, Phase.slug, League.slug, Team.name, Submission.number)
        .join(Phase, Phase.id == Entry.phase_id)
        .join(League, League.id == Entry.league_id)
        .join(Team, Team.id == Entry.team_id)
        .join(Submission, Submission.id == Entry.submission_id)
        .where(Phase.competition_id == competition.id, Phase.deleted_at.is_(None))
        .order_by(Phase.position, League.position, Team.name_key)
    )
    for entry, phase, league, team, number in rows:
        yield {
            "phase": phase,
            "league": league,
            "team": team,
            "submission": entry.submission_id,
            "number": number,
            "state": entry.state.value,
            "choice": entry.choice.value,
            "reason": entry.reason,
            "updated": _iso(entry.updated_at),
        }


def list_evaluations(session: Session, competition: Competition) -> Iterator[dict[str, Any]]:
    """Each submission's score at each point of the further evaluations of its phase, under the live version."""
    versions = session.scalars(
        select(PhaseVersion)
        .join(Phase, Phase.id == PhaseVersion.phase_id)
        .where(Phase.competition_id == competition.id, Phase.deleted_at.is_(None))
        .where(PhaseVersion.number == Phase.live_version, Phase.evaluations != "")
        .order_by(Phase.position, Phase.id)
    ).all()
    rows = [(submission, phase, team) for submission, phase, team, _ in _submissions(session, competition)]
    for version in versions:
        own = {row[0].id: row for row in rows if row[0].phase_id == version.phase_id}
        for key, scores in read_scores(session, version, list(own)).items():
            submission, phase, team = own[key]
            about = {"phase": phase, "version": version.number, "team": team, "submission": key}
            for score in scores:
                yield {**about, "number": submission.number, "kind": submission.kind.value, **score.to_dict()}


def collect_results(
    session: Session, storage: Storage, competition: Competition
) -> tuple[pa.Table, list[str]]:
    """One row a task of every run that has a score, and the runs whose results are no longer kept.

    Of a run in parts that is the one that the score stands with: its table is that of all parts together.
    """
    parts: list[pa.Table] = []
    missing: list[str] = []
    rows = session.execute(
        select(Run, Phase.slug, PhaseVersion.number, Team.name, RunScore.tasks)
        .join(RunScore, RunScore.run_id == Run.id)
        .join(Phase, Phase.id == Run.phase_id)
        .join(PhaseVersion, PhaseVersion.id == Run.phase_version_id)
        .join(Team, Team.id == Run.team_id)
        .where(Run.competition_id == competition.id, Run.state == RunState.FINISHED, counting_runs())
        .order_by(Run.created_at, Run.id)
    ).all()
    for run, phase, version, team, tasks in rows:
        table = read_table(storage, find_results(session, run))
        if table is None:
            missing.append(run.id)
            continue
        columns = {name: pa.array(values) for name, values in table.columns().items()}
        about = {
            "phase": phase,
            "version": version,
            "team": team,
            "submission": run.submission_id or "",
            "run": run.id,
            "seed_index": run.seed_index,
            "generation": run.generation,
            "run_tasks": tasks,
            "same_test_tasks": run.phase_version.same_test_tasks,
        }
        said = {name: pa.array([value] * len(table)) for name, value in about.items()}
        parts.append(pa.table({**said, **columns}))
    return (pa.concat_tables(parts) if parts else pa.table({"run": pa.array([], pa.string())})), missing


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def table_of(session: Session, storage: Storage, competition: Competition, name: str, form: Form) -> bytes:
    """A table by its name; raises `NotFound`."""
    if name == "submissions":
        return write(list(list_submissions(session, competition)), SUBMISSION_COLUMNS, form)
    if name == "leaderboards":
        return write(list(list_boards(session, storage, competition)), BOARD_COLUMNS, form)
    if name == "results":
        table, _ = collect_results(session, storage, competition)
        return (
            write_parquet(table)
            if form == Form.PARQUET
            else write(table.to_pylist(), table.column_names, form)
        )
    if name == "entries":
        return write(list(list_entries(session, competition)), ENTRY_COLUMNS, form)
    if name == "evaluations":
        return write(list(list_evaluations(session, competition)), EVALUATION_COLUMNS, form)
    if name == "fact-sheets":
        columns = (
            "team",
            "state",
            "handed_in",
            "public",
            "history",
            *(str(q["key"]) for q in competition.fact_sheet),
        )
        return write(list(table_rows(session, competition)), columns, form)
    raise NotFound("There is no such table.")
