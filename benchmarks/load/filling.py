"""Fills a site with many teams and scored submissions, by bulk inserts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.service import touch_blob
from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.database import Database, new_id, now
from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.leagues.models import League, LeagueEntry
from anyshot_platform.leagues.states import EntryStatus
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_starting_kit.wire.verdicts import Verdict
from anyshot_starting_kit.wire.worker_api import JobKind

_BATCH = 2000
_DIGEST = "f" * 64


def fill(database: Database, phase_id: str, *, teams: int, submissions: int, seed: int = 0) -> list[str]:
    """Add `submissions` finished submissions of `teams` teams to a phase; returns the teams' ids."""
    chance = random.Random(seed)
    with database.writing() as session:
        touch_blob(session, _DIGEST, 1_000_000)
        phase = session.get_one(Phase, phase_id)
        version = phase.versions[0]
        league_id = session.scalars(
            select(League.id).where(League.competition_id == phase.competition_id).order_by(League.position)
        ).first()
        assert league_id is not None
        team_ids = _add_teams(session, phase, teams)
        _add_submissions(session, phase, version, league_id, team_ids, submissions, chance)
    return [team_id for team_id, _ in team_ids]


def _add_teams(session: Session, phase: Phase, teams: int) -> list[tuple[str, str]]:
    pairs = [(new_id(), new_id()) for _ in range(teams)]
    _insert(
        session,
        User,
        (
            {"id": user, "username": f"user{n}", "username_key": f"user{n}", "email": None}
            for n, (_, user) in enumerate(pairs)
        ),
    )
    _insert(
        session,
        Team,
        (
            {
                "id": team,
                "competition_id": phase.competition_id,
                "name": f"team {n}",
                "name_key": f"team {n}",
                "captain_id": user,
            }
            for n, (team, user) in enumerate(pairs)
        ),
    )
    _insert(
        session,
        Membership,
        (
            {
                "competition_id": phase.competition_id,
                "user_id": user,
                "team_id": team,
                "role": Role.PARTICIPANT,
                "status": MemberStatus.APPROVED,
            }
            for team, user in pairs
        ),
    )
    return pairs


def _add_submissions(
    session: Session,
    phase: Phase,
    version: PhaseVersion,
    league_id: str,
    pairs: list[tuple[str, str]],
    submissions: int,
    chance: random.Random,
) -> None:
    begin = now() - timedelta(days=60)
    rows: list[dict[str, Any]] = []
    for number in range(submissions):
        team, user = pairs[number % len(pairs)]
        at = begin + timedelta(seconds=number * 50)
        rows.append({"id": new_id(), "team": team, "user": user, "at": at, "value": chance.random()})
    last = {row["team"]: row for row in rows}
    common = {"competition_id": phase.competition_id, "phase_id": phase.id}
    _insert(
        session,
        Submission,
        (
            {
                **common,
                "id": row["id"],
                "team_id": row["team"],
                "user_id": row["user"],
                "kind": SubmissionKind.ENTRY,
                "digest": _DIGEST,
                "size": 1_000_000,
                "status": SubmissionStatus.FINISHED,
                "verdict": Verdict.OK,
                "score": row["value"],
                "half_width": 0.01,
                "quota_day": row["at"].date(),
                "created_at": row["at"],
                "finished_at": row["at"] + timedelta(minutes=5),
            }
            for row in rows
        ),
    )
    _insert(
        session,
        LeagueEntry,
        (
            {"submission_id": row["id"], "league_id": league_id, "status": EntryStatus.ADMITTED}
            for row in rows
        ),
    )
    runs = {row["id"]: new_id() for row in rows}
    _insert(
        session,
        Run,
        (
            {
                **common,
                "id": runs[row["id"]],
                "kind": JobKind.EVALUATE,
                "phase_version_id": version.id,
                "submission_id": row["id"],
                "team_id": row["team"],
                "state": RunState.FINISHED,
                "queued_at": row["at"],
                "finished_at": row["at"],
            }
            for row in rows
        ),
    )
    score = {"half_width": 0.01, "tasks": version.tasks, "phase_version_id": version.id}
    _insert(
        session,
        RunScore,
        (
            {
                **score,
                "run_id": runs[row["id"]],
                "submission_id": row["id"],
                "seed_index": 0,
                "value": row["value"],
                "summary": {},
            }
            for row in rows
        ),
    )
    combined = [
        {
            **score,
            "id": new_id(),
            "submission_id": row["id"],
            "team_id": row["team"],
            "submitted_at": row["at"],
            "value": row["value"],
            "runs": 1,
            "by_dataset": {f"d{k}": row["value"] for k in range(10)},
        }
        for row in rows
    ]
    _insert(session, SubmissionScore, combined)
    of_submission = {row["submission_id"]: row for row in combined}
    _insert(
        session,
        BoardRow,
        (
            {
                **score,
                "league_id": league_id,
                "row_key": row["team"],
                "team_id": row["team"],
                "submission_id": row["id"],
                "submission_score_id": of_submission[row["id"]]["id"],
                "sort_value": -row["value"],
                "value": row["value"],
                "runs": 1,
                "by_dataset": of_submission[row["id"]]["by_dataset"],
                "submitted_at": row["at"],
            }
            for row in last.values()
        ),
    )


def _insert(session: Session, table: type, rows: Any) -> None:
    for batch in _batches(rows):
        session.execute(insert(table), batch)


def _batches(rows: Any) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def analyze(database: Database) -> None:
    """Let the database look at what it holds, as its own housekeeping does sooner or later."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()
