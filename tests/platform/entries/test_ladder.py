"""A board that is a Ladder: a team learns one step at a time, and nothing else while the phase is open."""

import re

import pytest

from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from tests.platform.admin.test_manage import page, phase_form, post
from tests.platform.entries.test_entries import names, scored
from tests.platform.site import Person, Site

BOARD = "/competitions/small/leaderboard"
PHASE = "/competitions/small/phases/feedback"
LEAGUES = "/competitions/small/leagues"


@pytest.fixture
def ladder(site: Site) -> Site:
    site.set_phase(board_shows=BoardShows.LADDER, ladder_step=0.05, quota_day=None)
    return site


def words(person: Person, path: str) -> str:
    return " ".join(page(person, path).text.split())


def test_a_team_moves_by_steps_and_sees_nothing_else_until_the_phase_closes(ladder: Site) -> None:
    worker, ada = ladder.worker(), ladder.member("ada")
    first = scored(worker, ada, 0.512)
    assert names(ladder, "free") == [("ada", 0.5)]
    near = scored(worker, ada, 0.549)  # less than a step above what is shown
    assert names(ladder, "free") == [("ada", 0.5)]
    assert "if it gains a step of the Ladder" in words(ada, LEAGUES)
    assert "Step of the Ladder 0.05" in re.sub("<[^>]+>|\\s+", " ", words(ada, PHASE)).replace("  ", " ")
    scored(worker, ada, 0.1)  # a worse one costs nothing
    assert names(ladder, "free") == [("ada", 0.5)]
    climbed = scored(worker, ada, 0.573)
    assert names(ladder, "free") == [("ada", 0.55)]
    assert "0.550" in words(ada, BOARD)
    for submission, score in ((first, "0.512"), (near, "0.549"), (climbed, "0.573")):
        for path in (f"/submissions/{submission}", f"/submissions/{submission}/report.html", BOARD, LEAGUES):
            assert score not in words(ada, path)
        assert ada.call("GET", f"/api/v1/submissions/{submission}").json()["score"] is None
    assert "0.549" in words(ladder.owner(), f"/submissions/{near}")
    with ladder.services.database.writing() as session:
        session.get_one(Phase, ladder.phase_id).closed_at = now()
    assert "0.549" in words(ada, f"/submissions/{near}")
    assert names(ladder, "free") == [("ada", 0.55)]


def test_taking_back_what_stands_tells_nothing_of_the_others(ladder: Site) -> None:
    worker, ada = ladder.worker(), ladder.member("ada")
    scored(worker, ada, 0.512)
    best = scored(worker, ada, 0.7)
    scored(worker, ada, 0.6)
    assert names(ladder, "free") == [("ada", 0.7)]
    assert "Withdraw #" in words(ada, f"/submissions/{best}"), "its score is hidden"
    asked = words(ada, f"/submissions/{best}/withdraw")
    assert "nothing takes its place but a new submission that gains a step" in asked
    assert post(ada, f"/submissions/{best}/withdraw").status_code == 303
    assert names(ladder, "free") == []  # no other one moves up
    scored(worker, ada, 0.76)
    assert names(ladder, "free") == [("ada", 0.75)]


def test_what_is_disqualified_counts_for_nothing(ladder: Site) -> None:
    worker, ada = ladder.worker(), ladder.member("ada")
    scored(worker, ada, 0.512)
    cheats = scored(worker, ada, 0.9)
    said = {"ids": [cheats], "act": "disqualify", "reason": "it cheats"}
    done = ladder.owner().call("POST", "/api/v1/competitions/small/manage/submissions/acts", json=said)
    assert done.status_code == 200, done.text
    assert names(ladder, "free") == [("ada", 0.5)]


def test_nobody_is_told_how_two_rows_differ(ladder: Site) -> None:
    worker, ada, eve = ladder.worker(), ladder.member("ada"), ladder.member("eve")
    scored(worker, ada, 0.512)
    scored(worker, eve, 0.531)
    assert sorted(names(ladder, "free")) == [("ada", 0.5), ("eve", 0.55)]
    rows = ada.call("GET", "/api/v1/competitions/small/phases/feedback/leaderboard").json()["rows"]
    assert [(row["against_above"], row["by_dataset"]) for row in rows] == [(None, {}), (None, {})]
    assert "The row above" not in words(ada, BOARD)


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ({"team_chooses": "1"}, "a Ladder decides by its step alone"),
        ({"ranking": "dataset_ranks_mean"}, "a Ladder compares a team"),
    ],
)
def test_what_a_ladder_cannot_be_is_refused_in_words(
    ladder: Site, scoring: dict[str, str], said: str
) -> None:
    fields = phase_form(
        **{"scoring.board_shows": "ladder", **{f"scoring.{key}": text for key, text in scoring.items()}}
    )
    answer = post(ladder.owner(), "/competitions/small/manage/phases/feedback", **fields)
    assert said in " ".join(answer.text.split())


def test_neither_further_columns_nor_the_order_of_published_code_tell_more(ladder: Site) -> None:
    worker = ladder.worker()
    ada, eve = (ladder.member(name) for name in ("ada", "eve"))
    for person, score in ((ada, 0.512), (eve, 0.531)):
        scored(worker, person, score)
    with ladder.services.database.writing() as session:
        league = session.query(League).filter_by(slug="free").one()
        league.columns = [{"metric": "duration", "title": "Seconds told", "decimals": 3}]
        phase = session.get_one(Phase, ladder.phase_id)
        phase.needs_publishing, phase.published_at = True, now()
        ladder.competition(session).code_published_at = now()
        for submission in session.query(Submission):
            submission.code_published_at = now()
    code = "/api/v1/competitions/small/code"
    assert "Seconds told" not in words(ada, BOARD)
    assert [row["team"] for row in ada.call("GET", code).json()] == ["ada", "eve"]  # in their order of time
    ladder.set_phase(board_shows=BoardShows.LAST)
    assert "Seconds told" in words(ada, BOARD)
    assert [row["team"] for row in ada.call("GET", code).json()] == ["eve", "ada"]  # the best first


def test_what_was_refused_and_then_withdrawn_counts_for_nothing(ladder: Site) -> None:
    worker, ada = ladder.worker(), ladder.member("ada")
    scored(worker, ada, 0.512)
    refused = scored(worker, ada, 0.9)
    with ladder.services.database.writing() as session:
        entry = session.query(LeagueEntry).filter_by(submission_id=refused).one()
        entry.status, entry.reason = EntryStatus.REFUSED, "it has other weights"
    assert ada.call("POST", f"/api/v1/submissions/{refused}/withdraw").status_code in (200, 204)
    assert names(ladder, "free") == [("ada", 0.5)]
