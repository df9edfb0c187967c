"""What is kept about a board is as new as the board."""

import html
import json
import re
import time
from datetime import timedelta

import pytest
from sqlalchemy import select

from anyshot_platform.contest.competitions.actions.people import set_role
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards import memo
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.standings.leaderboards.service import note_team
from tests.platform.site import SLUG, Person, Site, make_zip
from tests.platform.statements import statements

HISTORY = f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard/history"


def score(site: Site, person: Person, value: float) -> None:
    assert person.submit(make_zip(salt=f"{person.username} {value}")).status_code == 201
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    assert worker.complete(job, value).status_code == 204


def teams(site: Site) -> list[tuple[int | None, str]]:
    return [(row["rank"], row["team"]) for row in site.board()["rows"]]


def let_time_pass(site: Site) -> None:
    with site.services.database.writing() as session:
        for change in session.scalars(select(BoardChange)):
            change.at -= timedelta(hours=1)


def test_a_board_is_read_once_and_anew_when_a_score_arrives(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    score(site, alice, 0.3)
    let_time_pass(site)
    assert teams(site) == [(1, "alice")]
    with statements(site.services.database) as seen:
        assert teams(site) == [(1, "alice")]
    assert not any("FROM board_rows" in statement for statement in seen)
    score(site, bob, 0.5)
    assert teams(site) == [(1, "bob"), (2, "alice")]
    assert alice.call("GET", HISTORY.removesuffix("/history")).json()["own_rank"] == 2


def test_a_change_that_was_committed_late_is_seen_soon(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_UNSETTLED_SECONDS", 1.0)
    score(site, site.member("alice"), 0.3)
    assert teams(site) == [(1, "alice")]
    with site.services.database.writing() as session:  # of a transaction that began before, and ended after
        row = session.scalars(select(BoardRow)).one()
        session.get_one(Team, row.team_id).name = "late"
        place = {"phase_version_id": row.phase_version_id, "league_id": row.league_id, "value": row.value}
        who = {"team_id": row.team_id, "submission_id": row.submission_id}
        session.add(BoardChange(**place, **who, at=now() - timedelta(minutes=2)))
    time.sleep(1.1)
    assert teams(site) == [(1, "late")]


def test_a_new_name_and_a_new_role_are_shown_at_once(site: Site) -> None:
    score(site, site.member("alice"), 0.3)
    bob = site.member("bob")
    score(site, bob, 0.5)
    let_time_pass(site)
    assert teams(site) == [(1, "bob"), (2, "alice")]
    assert [top["team"] for top in site.client.get(HISTORY).json()] == ["alice", "bob"]
    site.set_phase(frozen_at=now())
    with site.services.database.writing() as session:
        membership = session.scalars(select(Membership).where(Membership.user_id == bob.id)).one()
        team = session.get_one(Team, membership.team_id)
        team.name = "robert"
        note_team(session, team.id)
    assert teams(site)[0] == (1, "robert")
    assert [top["team"] for top in site.client.get(HISTORY).json()] == ["alice", "robert"]
    site.set_phase(frozen_at=None)
    with site.services.database.writing() as session:
        membership = session.scalars(select(Membership).where(Membership.user_id == bob.id)).one()
        set_role(session, membership, Role.REVIEWER)
    assert sorted(teams(site), key=str) == [(1, "alice"), (None, "robert")]
    assert [top["team"] for top in site.client.get(HISTORY).json()] == ["alice"]


def best_so_far(site: Site) -> list[float]:
    """The values of the line of the best, as the page draws it."""
    page = site.client.get(f"/competitions/{SLUG}/leaderboard").text
    charts = (json.loads(html.unescape(text)) for text in re.findall(r'data-chart="([^"]+)"', page))
    lines = {line["label"]: line["values"] for chart in charts for line in chart["series"]}
    return [value for value in lines.get("Best so far", []) if value is not None]


@pytest.mark.parametrize(("act", "undo"), [("disqualify", "qualify"), ("delete", "restore")])
def test_what_does_not_count_any_more_leaves_the_history_at_once(site: Site, act: str, undo: str) -> None:
    """0.9 stayed the best so far, though its team stands with another submission."""
    alice, bob = site.member("alice"), site.member("bob")
    score(site, bob, 0.3)
    score(site, alice, 0.9)
    score(site, alice, 0.5)
    score(site, bob, 0.4)
    with site.services.database.reading() as session:
        best = session.query(Submission).filter_by(user_id=alice.id, number=1).one().id

    def told() -> list[float]:
        let_time_pass(site)
        assert max(best_so_far(site)) == max(top["score"] for top in site.client.get(HISTORY).json())
        return [top["score"] for top in site.client.get(HISTORY).json()]

    assert told() == [0.3, 0.9]
    for name, tops in ((act, [0.3, 0.5]), (undo, [0.3, 0.9])):
        said = {"act": name, "ids": [best], "reason": "two accounts"}
        done = site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=said)
        assert done.status_code == 200, done.text
        assert told() == tops


def test_what_never_stood_changes_no_board_when_it_stops_to_count(site: Site) -> None:
    site.set_phase(board_shows=BoardShows.BEST)
    alice = site.member("alice")
    score(site, alice, 0.9)
    score(site, alice, 0.5)
    with site.services.database.reading() as session:
        other = session.query(Submission).filter_by(user_id=alice.id, number=2).one().id
        before = session.query(BoardChange).count()
    assert alice.call("POST", f"/api/v1/submissions/{other}/withdraw").status_code == 200
    with site.services.database.reading() as session:
        assert session.query(BoardChange).count() == before
