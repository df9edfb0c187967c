"""*Leagues and entries*, the upload page, the command line: what counts, what replaces it, what a team may choose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.database import now
from anyshot_platform.leaderboards.service import refresh_team
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version
from anyshot_platform.phases.states import Audience, BoardShows
from anyshot_platform.submissions.models import Submission
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.entries.test_entries import add_league, names, scored
from tests.platform.site import Person, Site, make_zip
from tests.platform.statements import statements
from tests.services.processes import free_port
from tests.services.sites import served

PAGE = "/competitions/small/leagues"
UPLOAD = "/competitions/small/phases/feedback/submit"
BACK = "Back to the phase's rule"


@pytest.fixture
def address(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The site on loopback, for the command line."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with served(site.app, free_port()) as where:
        yield where


def command(address: str, person: Person, *words: str) -> str:
    """What a command of this person prints."""
    said = CliRunner().invoke(main, [*words, "--server", address, "--token", person.token])
    assert said.exit_code == 0, said.output
    return said.output


def offered(text: str) -> list[tuple[str, str]]:
    """The submissions that the page offers, with what it says of each."""
    return re.findall(r'<option value="(\w+)"(?: selected)?>(no\. \d+: [\d.]+)', " ".join(text.split()))


def test_a_team_chooses_from_its_scored_submissions_and_goes_back(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    first = scored(worker, ada, 0.6)
    last = scored(worker, ada, 0.2)
    scored(worker, ada, 0.4, leagues=["scratch"])
    assert "Choose what counts" not in page(ada, PAGE).text  # the phase decides by its rule alone
    site.set_phase(team_chooses=True)
    shown = page(ada, PAGE).text
    free = shown[shown.index('id="choose-feedback-free"') : shown.index('id="choose-feedback-scratch"')]
    assert offered(free) == [(last, "no. 2: 0.200"), (first, "no. 1: 0.600")]
    assert BACK not in shown
    choose = {"phase": "feedback", "submission": first}
    assert flash(post(ada, f"{PAGE}/free/choose", **choose)) == "Your choice stands in Free style."
    assert names(site, "free") == [("ada", 0.6)]
    chosen = page(ada, PAGE).text
    assert chosen.count(BACK) == 1
    assert "replaced" in chosen and "chosen by hand" in chosen
    back = post(ada, f"{PAGE}/free/choose", phase="feedback", submission="")
    assert flash(back) == "The rule of the phase decides again in Free style."
    assert names(site, "free") == [("ada", 0.2)]
    assert BACK not in page(ada, PAGE).text


def test_what_an_upload_would_do_is_said_while_one_can_come(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    scored(worker, ada, 0.6)
    assert "A new submission in this league replaces it" in page(ada, PAGE).text
    with site.services.database.writing() as session:
        session.get_one(Phase, site.phase_id).closed_at = now()
    assert "A new submission" not in page(ada, PAGE).text


def test_what_cannot_count_is_not_offered_and_refused_in_words(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    bad = scored(worker, ada, 0.9)
    good = scored(worker, ada, 0.2)
    site.set_phase(team_chooses=True)
    with site.services.database.writing() as session:
        submission = session.get_one(Submission, bad)
        submission.disqualified_at, submission.disqualified_reason = submission.created_at, "it cheats"
    assert offered(page(ada, PAGE).text) == [(good, "no. 2: 0.200")]
    refused = post(ada, f"{PAGE}/free/choose", phase="feedback", submission=bad)
    words = "Your team has no such submission that could count in Free style; it has no. 2."
    assert (refused.status_code, words in refused.text) == (404, True)
    with site.services.database.writing() as session:
        session.get_one(Phase, site.phase_id).closed_at = submission.created_at
    assert "Choose what counts" not in page(ada, PAGE).text


@pytest.mark.parametrize(
    ("shows", "does"),
    [
        (BoardShows.LAST, "replaces it as soon as it is scored."),
        (BoardShows.BEST, "replaces it if it scores better."),
        (BoardShows.LAST_ABOVE_GATE, "replaces it if it beats the gate."),
    ],
)
def test_before_an_upload_its_page_says_what_it_replaces(site: Site, shows: BoardShows, does: str) -> None:
    worker, ada = site.worker(), site.member("ada")
    scored(worker, site.member("eve"), 0.7)
    assert "counts here now" not in page(ada, UPLOAD).text
    scored(worker, ada, 0.5)
    site.set_phase(board_shows=shows)
    words = f"No. 1 counts here now, score 0.500, rank 2. A new submission in this league {does}"
    assert page(ada, UPLOAD).text.count(words) == 1  # in the one league that it entered
    site.set_phase(team_chooses=True)
    post(ada, f"{PAGE}/free/choose", phase="feedback", submission=first_id(ada))
    assert "Your team chose it: a new submission does not replace it" in page(ada, UPLOAD).text


def first_id(person: Person) -> str:
    return person.call("GET", "/api/v1/competitions/small/phases/feedback/entries").json()[0]["submission"]


def test_hidden_scores_and_boards_are_hidden_there_too(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    scored(worker, ada, 0.512)
    site.set_phase(team_chooses=True, scores_visible=False, board_audience=Audience.ORGANIZERS)
    for path in (PAGE, UPLOAD):
        text = page(ada, path).text
        assert "0.512" not in text and "rank 1" not in text
    (entry,) = ada.call("GET", "/api/v1/competitions/small/phases/feedback/entries").json()
    assert (entry["score"], entry["rank"], entry["choices"][0]["score"]) == (None, None, None)


def test_the_command_line_says_the_same(site: Site, address: str, tmp_path: Path) -> None:
    worker, ada = site.worker(), site.member("ada")
    first = scored(worker, ada, 0.6)
    scored(worker, ada, 0.2)
    site.set_phase(team_chooses=True)
    listed = command(address, ada, "entries", "small/feedback")
    assert "Free style: no. 2 with 0.200, rank 1, stands on the leaderboard (the last submission)" in listed
    assert "may be chosen: no. 1 with 0.600, --choose 1" in listed
    command(address, ada, "entries", "small/feedback", "--league", "free", "--choose", first)
    zipped = tmp_path / "next.zip"
    zipped.write_bytes(make_zip(salt="next"))
    said = command(address, ada, "submit", str(zipped), "--to", "small/feedback", "--league", "free")
    assert "Your entry in Free style: no. 1 with 0.600, rank 1" in said
    assert "Your team chose it: a new submission does not replace it until you choose again." in said
    assert said.index("Your entry in") < said.index("/3 is queued")


def test_a_score_costs_as_many_queries_with_many_leagues_as_with_one(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    wanted = [f"asking-{number}" for number in range(8)]
    for slug in wanted:
        add_league(site, slug, every_member_qualifies=True)
    counts = []
    for leagues in (wanted[:1], wanted):
        scored(worker, ada, 0.5, leagues=leagues)
        counts.append(count_reads(site, ada))
    assert counts[0] == counts[1]


def count_reads(site: Site, person: Person) -> int:
    """How many rows are asked for when nothing has changed."""
    with site.services.database.writing() as session:
        submission = session.query(Submission).filter_by(user_id=person.id).first()
        assert submission is not None
        version, team_id = live_version(session, session.get_one(Phase, site.phase_id)), submission.team_id
        refresh_team(session, version, team_id)
        with statements(site.services.database) as asked:
            refresh_team(session, version, team_id)
    return sum(statement.startswith("SELECT") for statement in asked)
