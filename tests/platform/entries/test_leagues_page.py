"""*Leagues and entries*, the upload page, the command line: what counts, what replaces it, what a team may choose."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.contest.phases.states import Audience, BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.standings.leaderboards.service import refresh_team
from tests.platform.admin.test_manage import BASE, flash, page, phase_form, post
from tests.platform.entries.test_entries import ENTRIES, add_league, names, scored
from tests.platform.entries.test_finals import end_feedback, final, preview
from tests.platform.site import Person, Site, make_zip
from tests.platform.statements import statements
from tests.services.processes import free_port
from tests.services.sites import served

__all__ = ["final"]
PAGE = "/competitions/small/leagues"
UPLOAD = "/competitions/small/phases/feedback/submit"
BACK = "Back to the phase&#39;s rule"


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
    choose = {"phase": "feedback", "submission": first}
    refused = post(ada, f"{PAGE}/free/choose", **choose)
    assert refused.status_code == 403 and "the rule of the phase decides" in refused.text
    site.set_phase(team_chooses=True, quota_day=4)
    shown = page(ada, PAGE).text
    free = shown[shown.index('id="choose-feedback-free"') : shown.index('id="choose-feedback-scratch"')]
    assert offered(free) == [(last, "no. 2: 0.200"), (first, "no. 1: 0.600")]
    assert BACK not in shown
    assert flash(post(ada, f"{PAGE}/free/choose", **choose)) == "Your choice stands in Free style."
    scored(worker, ada, 0.1)
    assert names(site, "free") == [("ada", 0.6)]  # a later upload does not undo the choice
    chosen = page(ada, PAGE).text
    assert chosen.count(BACK) == 1
    assert "replaced" in chosen and "chosen by hand" in chosen
    back = post(ada, f"{PAGE}/free/choose", phase="feedback", submission="")
    assert flash(back) == "The rule of the phase decides again in Free style."
    assert names(site, "free") == [("ada", 0.1)]
    assert BACK not in page(ada, PAGE).text
    bob = site.member("bob")
    scored(worker, bob, 0.3)
    assert post(bob, f"{PAGE}/free/choose", **choose).status_code == 404  # a stranger's


@pytest.mark.parametrize("shows", ["last", "ladder"])
def test_a_choice_counts_as_long_as_the_phase_lets_teams_choose(final: Site, shows: str) -> None:
    """It counted for ever, went into the final, and the team could not take it back."""
    site, owner = final, final.owner()
    worker, ada = site.worker(), site.member("ada")
    first = scored(worker, ada, 0.6)
    last = scored(worker, ada, 0.7)
    site.set_phase(team_chooses=True)
    post(ada, f"{PAGE}/free/choose", phase="feedback", submission=first)
    assert names(site, "free") == [("ada", 0.6)]
    saved = phase_form(**{"scoring.board_shows": shows, "scoring.ladder_step": "0.05"})
    assert flash(post(owner, f"{BASE}/phases/feedback", **saved))
    assert names(site, "free") == [("ada", 0.7)]
    (entry,) = ada.call("GET", ENTRIES).json()
    assert (entry["submission"], entry["by_hand"], entry["chosen"]) == (last, False, "")
    assert entry["choice"] == {"last": "last", "ladder": "climbed"}[shows]
    assert "Your team chose it" not in page(ada, PAGE).text
    assert preview(owner)["ada"]["submission"] == last
    assert flash(post(owner, f"{BASE}/phases/feedback", **phase_form(**{"scoring.team_chooses": "1"})))
    assert names(site, "free") == [("ada", 0.6)]  # the choice was kept


def test_a_choice_stays_when_the_phase_is_over(final: Site) -> None:
    worker, ada = final.worker(), final.member("ada")
    first = scored(worker, ada, 0.6)
    last = scored(worker, ada, 0.2)
    final.set_phase(team_chooses=True)
    post(ada, f"{PAGE}/free/choose", phase="feedback", submission=first)
    end_feedback(final)
    said = {"act": "disqualify", "ids": [last], "reason": "two accounts"}
    final.owner().call("POST", "/api/v1/competitions/small/manage/submissions/acts", json=said)
    assert names(final, "free") == [("ada", 0.6)]
    (entry,) = ada.call("GET", ENTRIES).json()
    assert (entry["by_hand"], entry["chosen"]) == (True, "#1")
    assert preview(final.owner())["ada"]["submission"] == first


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
def test_before_an_upload_its_page_says_what_it_replaces(final: Site, shows: BoardShows, does: str) -> None:
    site = final
    site.set_phase(board_shows=shows)
    worker, ada = site.worker(), site.member("ada")
    scored(worker, site.member("eve"), 0.7)
    assert "counts here now" not in page(ada, UPLOAD).text
    scored(worker, ada, 0.5)
    words = f"No. 1 counts here now, score 0.500, rank 2. A new submission in this league {does}"
    assert page(ada, UPLOAD).text.count(words) == 1  # in the one league that it entered
    site.set_phase(team_chooses=True)
    post(ada, f"{PAGE}/free/choose", phase="feedback", submission=first_id(ada))
    assert "Your team chose it: a new submission does not replace it" in page(ada, UPLOAD).text


@pytest.mark.parametrize(("league", "score"), [("free", 0.2), ("ungated", 0.5)])
def test_below_the_gate_and_without_one_any_scored_submission_replaces_it(
    final: Site, league: str, score: float
) -> None:
    add_league(final, "ungated", admission=Admission.DECLARED)
    final.set_phase(board_shows=BoardShows.LAST_ABOVE_GATE)
    worker, ada = final.worker(), final.member("ada")
    scored(worker, ada, score, leagues=[league])
    assert does_next(ada) == "A new submission in this league replaces it as soon as it is scored."
    scored(worker, ada, 0.1, leagues=[league])
    assert names(final, league) == [("ada", 0.1)]


def test_where_each_submission_is_admitted_the_entry_stays_until_then(site: Site) -> None:
    add_league(site, "reviewed", admission=Admission.APPROVAL)
    worker, ada = site.worker(), site.member("ada")
    for number in (1, 2):  # one that waits makes way for the next that waits
        scored(worker, ada, 0.1 * number, leagues=["reviewed"])
        assert does_next(ada) == "A new submission in this league replaces it as soon as it is scored."
    admit(site, ada)
    assert names(site, "reviewed") == [("ada", 0.2)]
    assert does_next(ada) == "A new submission in this league replaces it once it is scored and admitted."
    scored(worker, ada, 0.3, leagues=["reviewed"])
    assert names(site, "reviewed") == [("ada", 0.2)]
    admit(site, ada)
    assert names(site, "reviewed") == [("ada", 0.3)]


def admit(site: Site, person: Person) -> None:
    """Admit all submissions of a person to the league that reviews them."""
    with site.services.database.reading() as session:
        ids = [row.id for row in session.query(Submission).filter_by(user_id=person.id)]
    entries = [{"submission": one, "league": "reviewed"} for one in ids]
    done = site.owner().call(
        "POST",
        "/api/v1/competitions/small/manage/leagues/entries/decide",
        json={"entries": entries, "admit": True, "reason": "it is fine"},
    )
    assert done.status_code == 200, done.text


def does_next(person: Person) -> str:
    """What a new submission does to the only entry of a person's team."""
    (row,) = person.call("GET", "/api/v1/competitions/small/phases/feedback/entries").json()
    return row["next_upload"]


def test_the_command_tells_only_of_the_leagues_that_the_upload_enters(
    site: Site, address: str, tmp_path: Path
) -> None:
    worker, ada = site.worker(), site.member("ada")
    scored(worker, ada, 0.6, leagues=["free", "scratch"])
    zipped = tmp_path / "next.zip"
    zipped.write_bytes(make_zip(salt="next"))
    said = command(address, ada, "submit", str(zipped), "--to", "small/feedback")
    assert said.count("Your entry in ") == 1 and "Your entry in Free style: no. 1" in said
    named = command(address, ada, "again", "1", "--league", "scratch")
    assert named.count("Your entry in ") == 1 and "Your entry in From scratch: no. 1" in named


def test_a_phase_without_uploads_offers_no_choice(site: Site) -> None:
    worker, ada = site.worker(), site.member("ada")
    last = [scored(worker, ada, score) for score in (0.6, 0.2)][-1]
    site.set_phase(team_chooses=True)
    assert "Choose what counts" in page(ada, PAGE).text
    assert "Choose which submission counts" in page(ada, f"/submissions/{last}").text
    site.set_phase(accepts_uploads=False)
    assert "Choose what counts" not in page(ada, PAGE).text
    assert "Choose which submission counts" not in page(ada, f"/submissions/{last}").text
    refused = post(ada, f"{PAGE}/free/choose", phase="feedback", submission=last)
    assert refused.status_code == 409 and "takes no uploads" in refused.text


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


@pytest.mark.parametrize(
    ("hiding", "shows", "rule"),
    [
        ({"scores_visible": False}, BoardShows.BEST, "the best submission"),
        ({"needs_publishing": True}, BoardShows.LAST_ABOVE_GATE, "the last submission above the gate"),
    ],
    ids=["scores", "publication"],
)
def test_with_hidden_scores_nothing_tells_which_submission_scored_better(
    final: Site, address: str, shows: BoardShows, rule: str, hiding: dict[str, bool]
) -> None:
    """The badge *counts*, the entry, its history and its date moved exactly when the new submission was better."""
    final.set_phase(board_shows=shows, **hiding)
    worker, told = final.worker(), []
    for name, scores in (("ada", (0.1, 0.7)), ("bob", (0.7, 0.1))):
        person = final.member(name)
        for score in scores:
            scored(worker, person, score)
        assert "It stands for the team in" not in page(person, "/competitions/small/submissions").text
        assert f"Your entry here: {rule}. A new submission" in page(person, UPLOAD).text
        shown = page(person, PAGE).text
        assert "not shown while scores are hidden" in shown and "replaced" not in shown
        told.append(
            (person.call("GET", ENTRIES).json(), command(address, person, "entries", "small/feedback"))
        )
    assert told[0] == told[1]
    assert told[0][1].strip() == f"Free style: {rule}, stands on the leaderboard"
    final.set_phase(scores_visible=True, needs_publishing=False)
    assert [entry["number"] for entry in person.call("GET", ENTRIES).json()] == [1]
    assert "It stands for the team in" in page(person, "/competitions/small/submissions").text


def test_what_a_team_chose_itself_is_told_though_scores_are_hidden(final: Site) -> None:
    final.set_phase(board_shows=BoardShows.BEST, scores_visible=False, team_chooses=True)
    worker, ada = final.worker(), final.member("ada")
    first = scored(worker, ada, 0.1)
    scored(worker, ada, 0.7)
    post(ada, f"{PAGE}/free/choose", phase="feedback", submission=first)
    (entry,) = ada.call("GET", ENTRIES).json()
    assert (entry["number"], entry["choice"], entry["history"]) == (1, "by_hand", [])


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
