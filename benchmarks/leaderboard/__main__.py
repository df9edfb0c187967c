"""What one new score costs a leaderboard among 100,000 submissions, and a claim a queue of 10,000."""

import argparse
import os
import secrets
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.app import make_services
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.leases import claim
from anyshot_platform.judging.execution.scores import combine_scores
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.models import WorkerToken
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.standings.leaderboards.reading import read_board, read_rank
from benchmarks.figures import Figure, figure, keep
from benchmarks.load.filling import analyze, fill
from benchmarks.load.stage import make_competition
from benchmarks.servers import postgres

REPEATS = 60


def main(arguments: list[str] | None = None) -> None:
    """Measure on SQLite and, where it is installed, on PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--teams", type=int, default=10_000)
    parser.add_argument("--queue", type=int, default=10_000)
    options = parser.parse_args(arguments)
    figures = []
    with tempfile.TemporaryDirectory(prefix="anyshot-bench-") as folder, postgres() as server:
        figures += measure("sqlite", make(Path(folder) / "sqlite", None), options)
        if server is not None:
            figures += measure("postgresql", make(Path(folder) / "postgres", server.url), options)
    load = os.getloadavg()[0]
    notes = f"{options.submissions} submissions of {options.teams} teams, load {load:.1f} at the end"
    keep("leaderboard", figures, notes)


def make(home: Path, database_url: str | None) -> Services:
    """A fresh site."""
    settings = PlatformSettings.model_validate(
        {"secret_key": secrets.token_urlsafe(32), "home": home, "database_url": database_url}
    )
    services = make_services(settings)
    migrate(services.database)
    return services


def measure(name: str, services: Services, options: argparse.Namespace) -> list[Figure]:
    """All figures of one kind of database."""
    phase_id = make_competition(services)
    teams = fill(services.database, phase_id, teams=options.teams, submissions=options.submissions)
    analyze(services.database)
    new_score = statistics.median(time_new_score(services, phase_id, team) for team in teams[:REPEATS])
    read = statistics.median(time_read(services, phase_id, team) for team in teams[:REPEATS])
    empty = time_claims(services, phase_id, teams, 0)
    full = time_claims(services, phase_id, teams, options.queue)
    figures = [
        figure(f"leaderboard.{name}.new_score", new_score * 1000, "ms", "< 50", new_score < 0.05),
        figure(f"leaderboard.{name}.read_first_page_and_own_rank", read * 1000, "ms", "< 50", read < 0.05),
        figure(f"queue.{name}.claim_from_1", empty * 1000, "ms"),
        figure(f"queue.{name}.claim_from_{options.queue}", full * 1000, "ms"),
        figure(f"queue.{name}.ratio", full / empty, "x", "<= 2", full / empty <= 2),
    ]
    services.database.dispose()
    return figures


def time_new_score(services: Services, phase_id: str, team: str) -> float:
    """Seconds to bring a new value of a team's last submission through to the boards, commit included."""
    with services.database.reading() as session:
        submission_id, run_id = session.execute(
            select(Submission.id, Run.id)
            .join(Run, Run.submission_id == Submission.id)
            .where(Submission.team_id == team)
            .order_by(Submission.created_at.desc())
            .limit(1)
        ).one()
    with services.database.writing() as session:
        score = session.get_one(RunScore, run_id)
        score.value += 0.001
        score.summary = replace(score.summary, mean=score.value)
    began = time.perf_counter()
    with services.database.writing() as session:
        submission = session.get_one(Submission, submission_id)
        version = session.get_one(Phase, phase_id).versions[0]
        combine_scores(session, submission, version.id, [session.get_one(Run, run_id)])
    return time.perf_counter() - began


def time_read(services: Services, phase_id: str, team: str) -> float:
    """Seconds to read the first hundred rows and a team's own rank."""
    began = time.perf_counter()
    with services.database.reading() as session:
        phase = session.get_one(Phase, phase_id)
        league = session.scalars(
            select(League).where(League.competition_id == phase.competition_id).order_by(League.position)
        ).first()
        assert league is not None
        board = read_board(session, phase.versions[0], league)
        rank = read_rank(session, phase.versions[0], league, team)
    assert board.total > 0 and rank is not None
    return time.perf_counter() - began


def time_claims(services: Services, phase_id: str, teams: list[str], queue: int) -> float:
    """Median seconds of a claim, with `queue` runs waiting beside the one that is claimed, then cleaned up."""
    with services.database.writing() as session:
        session.execute(delete(WorkerToken).where(WorkerToken.name == "none"))
        create_worker_token(session, "bench")
        token = session.scalars(select(WorkerToken.id)).first()
        assert token is not None
    times = []
    if queue:
        _queue(services, phase_id, teams, queue)
        analyze(services.database)
    for _ in range(REPEATS):
        if not queue:
            _queue(services, phase_id, teams, 1)
        began = time.perf_counter()
        with services.database.writing() as session:
            found = claim(session, services.settings, token, WorkerInfo(name="bench"))
        times.append(time.perf_counter() - began)
        assert found is not None
    with services.database.writing() as session:
        _clean(session)
    return statistics.median(times)


def _queue(services: Services, phase_id: str, teams: list[str], count: int) -> None:
    with services.database.writing() as session:
        phase = session.get_one(Phase, phase_id)
        moment = now() - timedelta(minutes=5)
        newest = dict(
            session.execute(
                select(Submission.team_id, Submission.id).where(Submission.team_id.in_(teams[:count][:500]))
            ).all()  # pyright: ignore[reportArgumentType]
        )
        owners = list(newest.items())
        rows = [
            {
                "id": new_id(),
                "kind": RunKind.EVALUATE,
                "competition_id": phase.competition_id,
                "phase_id": phase.id,
                "phase_version_id": phase.versions[0].id,
                "submission_id": owners[n % len(owners)][1],
                "team_id": owners[n % len(owners)][0],
                "state": RunState.QUEUED,
                "generation": 1,
                "queued_at": moment + timedelta(milliseconds=n),
                "available_at": moment,
            }
            for n in range(count)
        ]
        session.execute(insert(Run), rows)


def _clean(session: Session) -> None:
    session.execute(delete(Attempt))
    session.execute(delete(Run).where(Run.generation == 1))


if __name__ == "__main__":
    main()
