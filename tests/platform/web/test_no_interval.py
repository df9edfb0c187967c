"""Where an interval is undefined none is shown: no whisker, no band, null in JSON, an empty cell; never width 0."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from anyshot_scoring.table import METRICS, TaskTable
from tests.platform.admin.results import draw_table, finish_with_table
from tests.platform.site import SLUG, Person, Site, make_zip

BOARD = f"/competitions/{SLUG}/leaderboard"


def _one_task(mean: float) -> TaskTable:
    return draw_table(mean, 1, 0)


def _equal_tasks(mean: float) -> TaskTable:
    table = draw_table(mean, 6, 0)
    return replace(table, **{name: np.full(6, mean) for name in METRICS})


def _spread_tasks(mean: float) -> TaskTable:
    return draw_table(mean, 6, 0)


@pytest.mark.seconds("every exit of a site for each kind of run")
@pytest.mark.parametrize(
    ("draw", "known"), [(_one_task, False), (_equal_tasks, False), (_spread_tasks, True)]
)
def test_what_has_no_interval_shows_none(site: Site, draw: Callable[[float], TaskTable], known: bool) -> None:
    alice = site.member("alice")
    site.set_version(tasks=len(draw(0.5)))
    for number, mean in enumerate((0.5, 0.75)):
        alice.submit(make_zip(salt=f"zip {number}"))
        finish_with_table(site.worker(), draw(mean))
    board = _page(site, alice, BOARD)
    assert "whisker__dot" in board and ("whisker__line" in board) == known
    (row,) = alice.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard").json()["rows"]
    first, _ = alice.call("GET", f"/api/v1/competitions/{SLUG}/submissions").json()["items"]
    figures = alice.call("GET", f"/api/v1/submissions/{first['id']}/figures").json()
    halves = [row["half_width"], first["half_width"], *(figure["half_width"] for figure in figures)]
    assert all((half is not None and half > 0) == known for half in halves[:2]), halves
    assert not any(half == 0 for half in halves)
    table = site.owner().call("GET", f"/competitions/{SLUG}/manage/exports/leaderboards.csv").text
    cells = [line["half_width"] for line in csv.DictReader(io.StringIO(table))]
    assert cells and all((cell != "") == known for cell in cells), cells


def _page(site: Site, person: Person, path: str) -> str:
    with site.services.database.writing() as session:
        cookie = begin_session(session, session.get_one(User, person.id), user_agent="t", days=1).secret
    answer = site.client.get(path, headers={"cookie": f"{SESSION_COOKIE}={cookie}"})
    assert answer.status_code == 200, path
    return answer.text
