"""Fills a site with many teams and scored submissions: values are drawn into one table, the rest is SQL."""

import random
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import Column, ColumnElement, Float, Integer, MetaData, String, Table, insert, literal, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.artifacts.service import touch_blob
from anyshot_platform.foundation.database import Base, Database, Moment, TypedJson, new_id, now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.leaderboards.models import BoardRow

_DIGEST = "f" * 64
_BY_DATASET = {f"d{k}": 0.5 for k in range(10)}

DRAWN = Table(
    "drawn_submissions",
    MetaData(),
    Column("id", String(32), primary_key=True),
    Column("team", String(32)),
    Column("captain", String(32)),
    Column("at", Moment()),
    Column("ended", Moment()),
    Column("value", Float),
    Column("newest", Integer),  # 1: the team's last one, which its board row shows
    prefixes=["TEMPORARY"],
)
Values = dict[str, Any]


def fill(database: Database, phase_id: str, *, teams: int, submissions: int, seed: int = 0) -> list[str]:
    """Add `submissions` finished submissions of `teams` teams to a phase; returns the teams' ids."""
    with database.writing() as session:
        touch_blob(session, _DIGEST, 1_000_000)
        phase = session.get_one(Phase, phase_id)
        pairs = _add_teams(session, phase, teams)
        DRAWN.create(session.connection())
        # What is returned does not matter: it makes SQLAlchemy put many rows into a statement on PostgreSQL too.
        drawn = _draw(pairs, submissions, random.Random(seed))
        session.execute(insert(DRAWN).returning(literal(1)), drawn)
        _add_submissions(session, phase)
        DRAWN.drop(session.connection())
    return [team for team, _ in pairs]


def analyze(database: Database) -> None:
    """Let the database look at what it holds, as its own housekeeping does sooner or later."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def _add_teams(session: Session, phase: Phase, teams: int) -> list[tuple[str, str]]:
    pairs = [(new_id(), new_id()) for _ in range(teams)]
    users = [
        {"id": user, "username": f"user{n}", "username_key": f"user{n}", "email": None}
        for n, (_, user) in enumerate(pairs)
    ]
    common = {"competition_id": phase.competition_id}
    named = [
        {**common, "id": team, "name": f"team {n}", "name_key": f"team {n}", "captain_id": user}
        for n, (team, user) in enumerate(pairs)
    ]
    standing = {"role": Role.PARTICIPANT, "status": MemberStatus.APPROVED}
    members = [{**common, **standing, "user_id": user, "team_id": team} for team, user in pairs]
    for table, rows in ((User, users), (Team, named), (Membership, members)):
        _insert(session, table, rows)
    return pairs


def _draw(pairs: list[tuple[str, str]], submissions: int, chance: random.Random) -> list[Values]:
    begin = now() - timedelta(days=60)
    rows: list[Values] = []
    for number in range(submissions):
        team, captain = pairs[number % len(pairs)]
        at, value = begin + timedelta(seconds=number * 50), chance.random()
        rows.append(
            {
                "id": new_id(),
                "team": team,
                "captain": captain,
                "at": at,
                "ended": at + timedelta(minutes=5),
                "value": value,
                "newest": int(number >= submissions - len(pairs)),
            }
        )
    return rows


def _add_submissions(session: Session, phase: Phase) -> None:
    """Submission, league entry, run, both scores and the board's rows; ids are shared, which keeps them unique."""
    version, drawn = phase.versions[0], DRAWN.c
    league_id = session.scalars(
        select(League.id).where(League.competition_id == phase.competition_id).order_by(League.position)
    ).first()
    here = {"competition_id": phase.competition_id, "phase_id": phase.id}
    score = {"half_width": 0.01, "tasks": version.tasks, "phase_version_id": version.id, "value": drawn.value}
    owned = {"submission_id": drawn.id, "team_id": drawn.team}
    shown = {**score, **owned, "id": drawn.id, "submitted_at": drawn.at, "by_dataset": _BY_DATASET}
    evaluation = {"kind": RunKind.EVALUATE, "phase_version_id": version.id, "state": RunState.FINISHED}
    entry = {"kind": SubmissionKind.ENTRY, "status": SubmissionStatus.FINISHED, "verdict": Verdict.OK}
    times = {"created_at": drawn.at, "finished_at": drawn.ended, "quota_day": now().date()}
    file = {"digest": _DIGEST, "size": 1_000_000, "score": drawn.value, "half_width": 0.01}
    mine = {"id": drawn.id, "team_id": drawn.team, "user_id": drawn.captain}
    _copy(session, Submission, {**here, **entry, **times, **file, **mine})
    admitted = {"league_id": league_id, "status": EntryStatus.ADMITTED}
    _copy(session, LeagueEntry, {"submission_id": drawn.id, **admitted})
    _copy(session, Run, {**here, **evaluation, **owned, "id": drawn.id, **_run_times()})
    _copy(
        session,
        RunScore,
        {**score, "run_id": drawn.id, "submission_id": drawn.id, "seed_index": 0},
    )
    _copy(session, SubmissionScore, {**shown, "runs": 1})
    place = {"league_id": league_id, "row_key": drawn.team, "sort_value": -drawn.value, "runs": 1}
    _copy(session, BoardRow, {**shown, **place, "submission_score_id": drawn.id}, drawn.newest == 1)


def _run_times() -> Values:
    return dict.fromkeys(("queued_at", "available_at", "created_at"), DRAWN.c.at) | {
        "finished_at": DRAWN.c.ended
    }


def _copy(
    session: Session, model: type[Base], values: Values, only: ColumnElement[bool] | None = None
) -> None:
    """INSERT ... SELECT from the drawn table; columns that are not named get the model's defaults."""
    table, columns = cast(Table, model.__table__), dict[str, Any]()
    for column in table.columns:
        value = values[column.name] if column.name in values else _default(column)
        if value is not _ABSENT:
            columns[column.name] = value if isinstance(value, ColumnElement) else literal(value, column.type)
    query = select(*(value.label(name) for name, value in columns.items()))
    if only is not None:
        query = query.where(only)
    session.execute(insert(table).from_select(list(columns), query, include_defaults=False))


_ABSENT = object()


def _default(column: Column[Any]) -> Any:
    """What the model's default makes, once for all rows; `_ABSENT` for what the database makes itself."""
    default: Any = column.default
    if default is None:
        return None if isinstance(column.type, TypedJson) else _ABSENT
    return default.arg(None) if default.is_callable else default.arg


def _insert(session: Session, model: type[Base], rows: list[Values]) -> None:
    session.execute(insert(model), rows)
