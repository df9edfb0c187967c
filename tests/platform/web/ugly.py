"""States of the scene that nobody plans for: nothing at all, one of everything, names without end, a log without end.

Each page below is one that a person meets; `tests/platform/web/test_ugly_states.py` walks over them.
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from sqlalchemy import text
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.run_logs.models import EventCount
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_scoring.table import TaskTable
from tests.platform.web.scene import (
    Scene,
    add_board_row,
    add_events,
    add_measures,
    add_submission,
    add_team,
    finish,
    make_table,
)

LONG_TEAM = (
    "Wissenschaftliche-Arbeitsgemeinschaft-Bildverarbeitungsmaschinen"  # 64, no space: the most there may be
)
LONG_WORD = "prototypical_networks_with_a_pretrained_backbone_and_test_time_augmentation_" * 2
LONG_TITLE = "Apprendre toute tâche à partir d'une poignée d'exemples, quel que soit son domaine, " * 2
LINES = 100_000


@dataclass(frozen=True)
class UglyPage:
    """A page in an ugly state, and who reads it; without JavaScript where `bare`."""

    path: str
    user: User
    bare: bool = False


def make_ugly(session: Session, scene: Scene) -> dict[str, UglyPage]:
    """Add every state to the scene; the pages that show them by name."""
    empty = _empty_competition(session)
    names = _long_names(session, scene)
    one_task = _scored(session, scene, 41, make_table(0.5, 41, tasks=1), LEAGUES[1])
    dataset = _scored(session, scene, 42, _of_one_dataset(make_table(0.5, 42)), None)
    log = _endless_log(session, scene)
    at_once = _failed_at_once(session, scene)
    board = f"/competitions/{scene.competition.slug}/leaderboard"
    base = f"/competitions/{scene.competition.slug}"
    ada, vera = scene.ada, scene.visitor
    pages = {
        "nothing-home": UglyPage("/", vera),
        "nothing-mine": UglyPage("/submissions", vera),
        "nothing-competition": UglyPage(empty, vera),
        "nothing-board": UglyPage(f"{empty}/leaderboard", vera),
        "nothing-data": UglyPage(f"{empty}/data", vera),
        "nothing-discussion": UglyPage(f"{empty}/discussion", vera),
        "nothing-announcements": UglyPage(f"{empty}/announcements", vera),
        "nothing-results": UglyPage(f"{empty}/results", vera),
        "nothing-leagues": UglyPage(f"{empty}/leagues", vera),
        "nothing-notifications": UglyPage("/notifications", vera),
        "one-task": UglyPage(f"/submissions/{one_task.id}", ada),
        "one-task-board": UglyPage(f"{board}?phase=feedback&league={LEAGUES[1]}", ada),
        "one-dataset": UglyPage(f"/submissions/{dataset.id}", ada),
        "closed-phase": UglyPage(f"{base}/phases/public", ada),
        "closed-submit": UglyPage(f"{base}/phases/public/submit", ada),
        "closed-board": UglyPage(f"{board}?phase=public", ada),
        "names-board": UglyPage(board, ada),
        "names-submission": UglyPage(f"/submissions/{names.id}", ada),
        "names-mine": UglyPage("/submissions", ada),
        "names-team": UglyPage(f"{base}/team", ada),
        "names-competition": UglyPage(base, ada),
        "long-log": UglyPage(f"/submissions/{log.id}", ada),
        "long-log-lines": UglyPage(f"/submissions/{log.id}/log?line=0", ada),
        "long-log-search": UglyPage(f"/submissions/{log.id}/log?q=step", ada),
        "failed-at-once": UglyPage(f"/submissions/{at_once.id}", ada),
    }
    bare = {
        "bare-board": UglyPage(board, ada, bare=True),
        "bare-submission": UglyPage(f"/submissions/{scene.submissions['finished'].id}", ada, bare=True),
        "bare-running": UglyPage(f"/submissions/{scene.submissions['running'].id}", ada, bare=True),
        "bare-submit": UglyPage(f"{base}/phases/feedback/submit", scene.bob, bare=True),
    }
    return pages | bare


LEAGUES = ("free-style", "meta-learning")


def _empty_competition(session: Session) -> str:
    """A published competition with nothing in it; its address."""
    owner = create_user(session, username="nobody-yet", email="nobody@example.org", password=None)
    made = Competition(slug="empty", title="Nothing here yet", state=CompetitionState.PUBLISHED)
    made.created_by = owner.id
    session.add(made)
    session.flush()
    return "/competitions/empty"


def _scored(session: Session, scene: Scene, number: int, table: TaskTable, league: str | None) -> Submission:
    submission, run = add_submission(session, scene, RunState.FINISHED, number=number)
    run.seconds_used = 12.0
    run.tasks_total = len(table)
    score = finish(session, scene, submission, run, table)
    if league:
        add_board_row(session, scene, scene.leagues[league], scene.team, submission, score)
    return submission


def _of_one_dataset(table: TaskTable) -> TaskTable:
    count = len(table)
    return TaskTable.from_columns(
        table.columns() | {"dataset": np.array(["DOG_Mini"] * count), "domain": np.array(["Animals"] * count)}
    )


def _long_names(session: Session, scene: Scene) -> Submission:
    """The longest names that the site takes, without a space; on the board, in a list and on a page of its own."""
    session.get_one(Competition, scene.competition.id).title = LONG_TITLE.strip(", ")
    session.get_one(Team, scene.team.id).name = LONG_TEAM
    session.get_one(User, scene.ada.id).display_name = LONG_WORD
    submission, run = add_submission(
        session, scene, RunState.FINISHED, number=43, filename=f"{LONG_WORD}.zip", comment=LONG_WORD * 2
    )
    run.seconds_used = 1e6
    finish(session, scene, submission, run, make_table(0.3, 43))
    other = add_team(session, scene.competition, LONG_TEAM[::-1])
    theirs, their_run = add_submission(
        session, scene, RunState.FINISHED, team=other, user=scene.bob, number=44
    )
    their_run.seconds_used = 8e5
    score = finish(session, scene, theirs, their_run, make_table(0.6, 44))
    add_board_row(session, scene, scene.leagues["free-style"], other, theirs, score)
    return submission


def _endless_log(session: Session, scene: Scene) -> Submission:
    """A run that printed 100,000 lines and more than the site keeps; the last has 2,000 characters without a space."""
    submission, run = add_submission(session, scene, RunState.META_TRAINING, number=45, seconds_used=900.0)
    run.epoch = 1
    add_events(session, run, [("stdout", "x" * 4000)])
    session.execute(
        text(
            "INSERT INTO run_events (run_id, epoch, seq, at, stream, stage, text)"
            " WITH RECURSIVE line(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM line WHERE seq < :lines)"
            " SELECT one.run_id, one.epoch, line.seq, one.at, one.stream, one.stage,"
            " 'step ' || line.seq || '  loss 0.6931' || substr(one.text, 1, 2000 * (line.seq / :lines))"
            " FROM line, run_events AS one WHERE one.run_id = :run AND one.seq = 0"
        ),
        {"lines": LINES, "run": run.id},
    )
    session.add(EventCount(run_id=run.id, epoch=1, lines=LINES, bytes=16 << 20, dropped=4_200))
    add_measures(session, run, testing=False)
    return submission


def _failed_at_once(session: Session, scene: Scene) -> Submission:
    """A run that fails before it has printed, used or evaluated anything."""
    message = "ModuleNotFoundError: No module named 'timm'"
    submission, run = add_submission(
        session,
        scene,
        RunState.FAILED,
        number=46,
        verdict=Verdict.RUNTIME_ERROR,
        message=message,
        detail=f'Traceback (most recent call last):\n  File "/scratch/model.py", line 1\n{message}',
        seconds_used=0.0,
    )
    run.epoch, run.claimed_at, run.finished_at = 1, now(), now() + timedelta(milliseconds=300)
    return submission
