"""The results page: podium, prizes and their split, tables, certificates, method cards, code."""

import csv
import io
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.receipts import read_public_key, read_receipts
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import AwardSplit
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.actions.submitting import refresh_boards
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.notifications.service import list_notifications
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.models import LeagueAnswer
from anyshot_platform.standings.fact_sheets.models import FactSheet
from anyshot_platform.standings.results.awards import divide_in_team, in_words, share_prizes
from anyshot_platform.standings.results.certificates import Certificate, as_pdf
from anyshot_platform.standings.results.reading import LeagueResults, ResultRow
from anyshot_platform.standings.results.tables import as_latex, escape
from tests.platform.admin.test_manage import BASE, finish, flash, page, phase_form, post
from tests.platform.entries.test_entries import add_league, join_team, scored
from tests.platform.entries.test_finals import FINAL, end_feedback, final, launch  # noqa: F401
from tests.platform.entries.test_leagues_page import command
from tests.platform.site import PaperWorker, Person, Site
from tests.platform.web.crawling import walk_below
from tests.services.processes import free_port
from tests.services.sites import served

WHEN = datetime(2022, 10, 1, tzinfo=UTC)
MANAGE = "/api/v1/competitions/small/manage/submissions"
RESULTS = "/competitions/small/results"
API = "/api/v1/competitions/small/phases/final/results"
FEEDBACK = f"{BASE}/phases/feedback"


@pytest.mark.parametrize(
    ("ranks", "cents"),
    [
        ([1, 2, 3, 4], [40000, 25000, 15000, 0]),
        ([1, 1, 3], [32500, 32500, 15000]),
        ([1, 2, 2, 2, 5], [40000, 13334, 13333, 13333, 0]),  # 250 and 150 for three
        ([1, 2, 3, 3], [40000, 25000, 7500, 7500]),
        ([], []),
    ],
)
def test_only_submissions_of_the_very_same_moment_share_a_rank_and_its_prizes(
    ranks: list[int], cents: list[int]
) -> None:
    assert share_prizes(ranks, [400, 250, 150]) == cents


def test_a_team_splits_its_prize_to_the_cent() -> None:
    assert divide_in_team(10000, 3, AwardSplit.EQUALLY) == [3334, 3333, 3333]
    assert divide_in_team(10000, 3, AwardSplit.CAPTAIN) == [10000, 0, 0]
    assert divide_in_team(10000, 0, AwardSplit.EQUALLY) == []
    assert (in_words(10000, "EUR"), in_words(1234567, "€")) == ("100 EUR", "12,345.67 €")


def test_latex_sets_names_as_they_are_written() -> None:
    assert escape("50% & _the_ {best}\\ #1 ~^") == (
        r"50\% \& \_the\_ \{best\}\textbackslash{} \#1 \textasciitilde{}\textasciicircum{}"
    )


NAMES = (r"50% & _the_ {best}\ #1 ~^ $x$", "a<b>|c''--e `f`", "Żółw und Straße", "a very long name " * 8)
PAPER = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n%s\\end{document}\n"


def result(rank: int | None, team: str) -> ResultRow:
    """A row without people; without a rank it is a baseline, with neither interval nor prize."""
    real = rank is not None
    numbers = {"score": -0.25, "half_width": 0.02 if real else None, "runs": 3, "tasks": 10}
    ids = {"team_id": team, "submission_id": "s", "is_baseline": not real, "cents": 32550 if real else 0}
    return ResultRow(rank=rank, team=team, **ids, **numbers)  # pyright: ignore[reportArgumentType]


@pytest.mark.skipif(
    shutil.which("pdflatex") is None or shutil.which("pdftotext") is None,
    reason="LaTeX is not installed (Debian: apt-get install texlive-latex-recommended poppler-utils)",
)
def test_the_table_compiles_in_a_paper_and_says_what_the_page_says(tmp_path: Path) -> None:
    league = League(slug="free", name="Free", currency="€")
    rows = (*(result(rank, name) for rank, name in enumerate(NAMES, start=1)), result(None, "MetaDelta++"))
    table = as_latex(LeagueResults(league, rows), "50 % {of} it: Final", "The lowest of 3 runs counts.")
    (tmp_path / "paper.tex").write_bytes(PAPER.encode() % table)
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stdout[-2000:]
    assert "Missing character" not in said.stdout + (tmp_path / "paper.log").read_text(errors="replace")
    reading = ["pdftotext", "-layout", str(tmp_path / "paper.pdf"), "-"]
    shown = subprocess.run(reading, capture_output=True, text=True, timeout=60, check=True).stdout
    text = " ".join(shown.split()).replace("¿", "€")  # the sign is a picture, whose text is not named
    drawn = ("50% & the {best}\\ #1 ˜ˆ $x$", "a<b>|c’’--e ‘f‘", "Straße")  # `_` is drawn as a line
    for name in drawn:
        assert f"{name} −0.250 ± 0.020 325.50 €" in text, text
    assert text.count("very") == 8, "a long name is broken, not cut"
    assert "MetaDelta++ (baseline) −0.250" in text


def test_a_table_with_other_scripts_says_what_it_needs() -> None:
    league = League(slug="free", name="Free", currency="EUR")
    for name, needs in (("深度学习", True), ("Ελπίδα", True), ("Żółw", False)):
        table = as_latex(LeagueResults(league, (result(1, name),)), "T", "R").decode()
        assert ("LuaLaTeX or XeLaTeX" in table) == needs and name in table


@pytest.fixture
def played(final: Site) -> dict[str, Person]:  # noqa: F811
    """A final in which ada and ben tie, cem is third; ada plays with dee. Nothing is published."""
    worker = final.worker()
    people = {name: final.member(name) for name in ("ada", "ben", "cem", "dee")}
    join_team(final, people["ada"], people["dee"])
    for name, score in (("ada", 0.9), ("ben", 0.8), ("cem", 0.7)):
        scored(worker, people[name], score)
    with final.services.database.writing() as session:
        final.competition(session).fact_sheet = [{"key": "method", "label": "The method", "required": True}]
        league = session.query(League).filter_by(slug="free").one()
        league.awards, league.currency = [400.0, 250.0, 150.0], "EUR"
        for team in session.query(Team).filter(Team.out_of_ranking.is_(False)):
            sheet = {"answers": {"method": f"secret {team.name} & co"}, "updated_by": team.captain_id}
            handed_in = team.created_at if team.name != "cem" else None
            session.add(
                FactSheet(team_id=team.id, public=team.name != "ben", handed_in_at=handed_in, **sheet)
            )
            if team.name == "ben":  # the same moment as ada's: a tie
                team.name = "b_e%n"
    end_feedback(final)
    launch(final.owner())
    finish_all(final, worker, {"ada": 0.6, "b_e%n": 0.6, "cem": 0.5})
    return people


def finish_all(site: Site, worker: PaperWorker, by_team: dict[str, float]) -> None:
    from anyshot_platform.judging.submissions.models import Submission

    with site.services.database.writing() as session:
        finals = session.query(Submission).filter_by(kind="final").all()
        teams = {one.id: one.team.name for one in finals}
        for one in finals:  # who ties has uploaded at the same moment
            one.created_at = finals[0].created_at
    while job := worker.claim():
        assert worker.complete(job, by_team[teams[job["submission_id"]]]).status_code == 204


def verify_winners(owner: Person, base: str = FINAL) -> None:
    """The organizers have seen everybody who wins something."""
    for winner in owner.call("GET", f"{base}/winners").json():
        for member in winner["members"]:
            said = {"identity": "verified", "reason": "seen in a call"}
            assert (
                owner.call("POST", f"{base}/winners/{member['username']}/acts/check", json=said).status_code
                == 200
            )


def publish(site: Site) -> None:
    verify_winners(site.owner())
    said = site.owner().call("POST", f"{FINAL}/acts/publish", json={"confirm": "final", "winners": 1})
    assert said.status_code == 200, said.text


def hide(site: Site) -> None:
    with site.services.database.writing() as session:
        session.query(Phase).filter_by(slug="final").one().needs_publishing = True


def rows(answer: Any) -> list[tuple[int | None, str, float]]:
    (league,) = answer.json()["leagues"]
    return [(row["rank"], row["team"], row["prize"]) for row in league["rows"]]


WON = [(1, "ada", 325.0), (1, "b_e%n", 325.0), (3, "cem", 150.0)]


def test_results_are_the_organizers_until_they_are_published(final: Site, played: dict[str, Person]) -> None:  # noqa: F811
    hide(final)
    ada, owner = played["ada"], final.owner()
    assert page(ada, RESULTS).status_code == 403
    assert ada.call("GET", API).status_code == 403
    assert "Only organizers see this page now" in page(owner, RESULTS).text
    assert "Certificate" not in page(owner, RESULTS).text
    assert f'href="{RESULTS}"' not in page(ada, "/competitions/small").text
    publish(final)
    assert f'href="{RESULTS}"' in page(ada, "/competitions/small").text
    assert rows(ada.call("GET", API)) == WON
    answer = owner.call("GET", f"{API}/nowhere/table")
    assert (answer.status_code, answer.json()["message"]) == (404, "Nobody has a result in such a league.")


def test_receipts_of_the_rows_are_public_once_results_are_published(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    guest, owner = final.person("guest"), final.owner()
    with final.services.database.reading() as session:
        row = session.query(Submission).filter_by(kind="final").first()
        assert row is not None
        own, other = row.id, session.query(Submission).filter_by(kind="entry").first()
        assert other is not None
    link = f"{RESULTS}/final/receipts/{own}.json"
    refused = owner.call("GET", f"{API}/receipts")
    told = "Receipts are shown here once the results are published, where the phase shows scores."
    assert (refused.status_code, refused.json()["message"]) == (403, told)
    assert owner.call("GET", link).status_code == 403 and link not in page(owner, RESULTS).text
    publish(final)
    key = read_public_key(guest.call("GET", "/api/v1/receipt-key").text)
    assert link in page(guest, RESULTS).text
    of_row = [one.open(key) for one in read_receipts(guest.call("GET", link).content)]
    assert {one.submission for one in of_row} == {own} and {one.phase for one in of_row} == {"final"}
    everything = read_receipts(guest.call("GET", f"{API}/receipts").content)
    assert len({one.open(key).submission for one in everything}) == 3
    assert guest.call("GET", f"{RESULTS}/final/receipts/{other.id}.json").status_code == 404


def test_what_has_no_results_says_so(site: Site) -> None:
    answer = page(site.owner(), RESULTS)
    assert answer.status_code == 404 and "This competition has no final phase." in answer.text


@pytest.mark.seconds("a whole competition")
def test_every_address_of_a_finished_competition_answers(final: Site, played: dict[str, Person]) -> None:  # noqa: F811
    """The pages that a walk through an open competition does not reach: results, tables, certificates, code."""
    publish(final)
    for_all = ["/results", r"/results/final/free\.(csv|tex)", "/code", r"/code/\w+\.zip"]
    certificates = [r"/results/final/free/certificates/\w+\.pdf"]
    base, everybody = "/competitions/small", (final.person("guest"), None)
    for person in (final.owner(), played["ada"], *everybody):
        opened, broken = walk_below(person, final.client, base, base)
        assert not broken, (person, broken)
        for path in for_all + ([] if person in everybody else certificates):
            assert any(re.fullmatch(base + path, one) for one in opened), (person, path)


@pytest.mark.seconds("a whole final")
def test_a_final_is_over_once_its_results_are_public_whatever_its_dates_say(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    dates = now() + timedelta(days=9), now() + timedelta(days=20)
    with final.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="final").one()
        phase.starts_at, phase.ends_at = dates
    ada, owner, overview = played["ada"], final.owner(), "/competitions/small/manage"
    assert "Final: starts soon" in page(ada, "/competitions/small").text
    assert "Final, " not in page(ada, "/competitions/small/leaderboard").text
    assert "Final opens <time" in " ".join(page(owner, overview).text.split())
    publish(final)
    assert "starts soon" not in page(ada, "/competitions/small").text
    assert "Final, " in page(ada, "/competitions/small/leaderboard").text
    shown = " ".join(page(owner, overview).text.split())
    assert "Final opens" not in shown and "Final ends" not in shown
    with final.services.database.reading() as session:
        phase = session.query(Phase).filter_by(slug="final").one()
        assert (phase.starts_at, phase.ends_at) == dates  # nothing was moved


def test_a_second_final_is_not_offered_before_it_is_published(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    publish(final)
    with final.services.database.writing() as session:
        first = session.query(Phase).filter_by(slug="final").one()
        again = {
            name: getattr(first, name)
            for name in ("competition_id", "kind", "starts_at", "ends_at", "gate_phase_id")
        }
        second = Phase(
            slug="second",
            name="Second final",
            position=2,
            accepts_uploads=False,
            needs_publishing=True,
            **again,
        )
        same = (
            "meta_train_pool_version_id",
            "meta_test_pool_version_id",
            "protocol",
            "tasks",
            "train_seeds",
            "test_seeds",
        )
        version = {name: getattr(first.versions[0], name) for name in same}
        second.versions = [PhaseVersion(number=1, run_seconds=600.0, **version)]
        session.add(second)
    for person, offered in ((final.owner(), True), (played["ada"], False)):
        shown = page(person, RESULTS).text
        assert ("results?phase=second" in shown) == offered and "Results of Final" in shown
    assert page(played["ada"], f"{RESULTS}?phase=second").status_code == 403


def test_the_page_has_podium_prizes_and_method_cards(final: Site, played: dict[str, Person]) -> None:  # noqa: F811
    publish(final)
    shown = page(played["ada"], RESULTS).text
    podium = re.findall(r'podium__rank">(\d)</span>.*?<strong class="break">(.*?)</strong>', shown, re.S)
    assert podium == [("1", "ada"), ("1", "b_e%n"), ("3", "cem")]
    assert "The members of a team share its prize equally." in shown
    assert "ada: 162.50 EUR" in shown and "dee: 162.50 EUR" in shown  # my team's split
    assert "secret ada &amp; co" in shown  # agreed and handed in
    assert "secret ben" not in shown  # not agreed
    assert "secret cem" not in shown  # not handed in
    stranger = page(final.person("vera"), RESULTS).text
    assert "325 EUR" in stranger and "dee: " not in stranger  # members are their team's and the organizers'
    assert "dee: 162.50 EUR" in page(final.owner(), RESULTS).text
    assert shown.count("Code<span") == 2  # of all who are first


@pytest.mark.seconds("a whole competition")
def test_tables_and_certificates_by_page_and_command(
    final: Site,  # noqa: F811
    played: dict[str, Person],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    ada, ben = played["ada"], played["ben"]
    hide(final)
    with served(final.app, free_port()) as where:
        early = CliRunner().invoke(main, ["winners", "small/final", "--server", where, "--token", ada.token])
    words = "The organizers look at the results first. They appear here when they are published.\n"
    assert (early.exit_code, early.output) == (1, words)
    publish(final)
    table = list(csv.DictReader(io.StringIO(page(ada, f"{RESULTS}/final/free.csv").text)))
    assert [(row["rank"], row["team"], row["prize"]) for row in table] == [
        ("1", "ada", "325 EUR"),
        ("1", "b_e%n", "325 EUR"),
        ("3", "cem", "150 EUR"),
    ]
    latex = page(ada, f"{RESULTS}/final/free.tex").text
    assert r"1 & b\_e\%n & $0.600 \pm 0.020$ & 325 EUR \\" in latex
    certificate = re.findall(r'href="([^"]+\.pdf)"', page(ada, RESULTS).text)
    assert len(certificate) == 1
    mine = page(ada, certificate[0])
    assert (mine.headers["content-type"], mine.content[:5]) == ("application/pdf", b"%PDF-")
    assert page(ben, certificate[0]).status_code == 403  # another team's
    options = ("--csv", "t.csv", "--latex", "t.tex", "--certificate", "c.pdf")
    files = [str(tmp_path / word) if "." in word else word for word in options]
    with served(final.app, free_port()) as where:
        said = command(where, ada, "winners", "small/final", "--league", "free", *files)
    assert "   1  ada  0.600 ± 0.020  325.00 EUR" in said and "dee: 162.50 EUR" in said
    assert (tmp_path / "t.csv").read_text() == page(ada, f"{RESULTS}/final/free.csv").text
    assert (tmp_path / "t.tex").read_text() == latex
    assert (tmp_path / "c.pdf").read_bytes() == mine.content


@pytest.mark.seconds("a whole competition")
def test_who_is_disqualified_afterwards_leaves_podium_prizes_certificates_and_code(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    publish(final)
    with final.services.database.writing() as session:
        session.query(Phase).filter_by(slug="final").one().frozen_at = session.query(Phase).first().created_at  # pyright: ignore
    owner, ben = final.owner(), played["ben"]
    entries = owner.call("GET", f"{MANAGE}?phase=final").json()["items"]
    winner = next(row["id"] for row in entries if row["team"] == "ada")
    said = {"reason": "it used the test data"}
    asked = owner.call("POST", f"{MANAGE}/{winner}/acts/disqualify", json=said)
    assert asked.status_code == 409 and asked.json()["preview"]["blocked"] == [
        "The results of “Final” are public, and this changes them: "
        "Free style: “ada” leaves the results (rank 1 and 325 EUR). "
        "Free style: “b_e%n” has rank 1 and 400 EUR instead of rank 1 and 325 EUR. "
        "Free style: “cem” has rank 2 and 250 EUR instead of rank 3 and 150 EUR."
    ]
    assert rows(ben.call("GET", API)) == WON
    consent = {"confirm": winner[:12], "override": True}
    done = owner.call("POST", f"{MANAGE}/{winner}/acts/disqualify", json={**said, **consent})
    assert done.status_code == 200, done.text
    assert "because: it used the test data" in page(ben, RESULTS).text
    assert "the organizers changed the published results of Final" in messages(final, played["dee"])
    assert rows(ben.call("GET", API)) == [(1, "b_e%n", 400.0), (2, "cem", 250.0)]
    shown = page(played["ada"], RESULTS).text
    assert "Certificate" not in shown
    team = played["ada"].call("GET", f"{API}/free/certificate")
    assert (team.status_code, team.json()["message"]) == (404, "This team has no rank in the league.")
    assert page(ben, f"/competitions/small/code/{winner}.zip").status_code == 404


def messages(site: Site, person: Person) -> str:
    with site.services.database.reading() as session:
        return "\n".join(f"{row.title} {row.body}" for row in list_notifications(session, person.id))


@pytest.mark.seconds("a whole competition")
def test_who_joins_a_team_afterwards_changes_nothing_that_is_public(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    """Neither prizes nor titles: the friend of a winner had not answered what the league asks."""
    answer_all(final)
    publish(final)
    ada, fred = played["ada"], final.member("fred")
    join_team(final, ada, fred)
    assert rows(fred.call("GET", API)) == WON
    (league,) = ada.call("GET", API).json()["leagues"]
    assert [(one["name"], one["amount"]) for one in league["rows"][0]["shares"]] == [
        ("ada", 162.5),
        ("dee", 162.5),
    ]
    assert "please answer" not in messages(final, fred), "nobody can answer any more"
    assert fred.call("GET", f"{API}/free/certificate").status_code == 403
    board = fred.call("GET", "/api/v1/competitions/small/phases/final/leaderboard?league=free").json()
    assert [row["score"] for row in board["rows"]] == [0.6, 0.6, 0.5]


def answer_all(site: Site) -> None:
    """The league asks every member, and all have answered."""
    with site.services.database.writing() as session:
        league = session.query(League).filter_by(slug="free").one()
        league.every_member_qualifies = True
        for member in session.query(Membership).filter(Membership.team_id.is_not(None)):
            said = {"league_id": league.id, "membership_id": member.id, "team_id": member.team_id}
            session.add(LeagueAnswer(answers={"qualifies": True}, **said))


@pytest.mark.seconds("a whole competition")
def test_feedback_that_is_opened_again_changes_nothing_that_is_public_unasked(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    publish(final)
    owner, cem, worker = final.owner(), played["cem"], final.worker()
    feedback = "/api/v1/competitions/small/manage/phases/feedback"
    end = {"end": (now() + timedelta(days=1)).isoformat()}
    asked = owner.call("POST", f"{feedback}/acts/extend", json=end)
    assert asked.status_code == 409 and "The results of “Final” are public" in asked.json()["message"]
    consent = {"confirm": "feedback", "override": True}
    assert owner.call("POST", f"{feedback}/acts/extend", json={**end, **consent}).status_code == 200
    scored(worker, cem, 0.95)
    end_feedback(final)
    team = next(row["team_id"] for row in owner.call("GET", FINAL).json() if row["team"] == "cem")
    again = {"replace": [team], "reason": "x"}
    blocked = owner.call("POST", f"{FINAL}/acts/launch", json=again).json()["preview"]["blocked"]
    assert "No. 2 of “cem” was uploaded after the launch." in blocked
    assert "are public" in blocked[0] and rows(cem.call("GET", API)) == WON


ASKED = (  # an act, what is said with it, the name that it asks for, what it does to the results
    ("people/cem/acts/ban", {}, "cem", "“cem” leaves the results (rank 3 and 150 EUR)"),
    ("people/cem/acts/move", {"team": "ada"}, "cem", "“cem” leaves the results (rank 3 and 150 EUR)"),
    ("leagues/free/acts/delete", {}, "free", "“ada” leaves the results (rank 1 and 325 EUR)"),
    ("phases/final/acts/delete", {}, "final", "“ada” leaves the results (rank 1 and 325 EUR)"),
    ("teams/ada/acts/rename", {"name": "Alpha"}, "ada", "“ada” is called “Alpha”"),
)


@pytest.mark.seconds("a whole competition")
def test_who_is_asked_reads_what_the_act_does_to_published_results(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    """The first time, before a name or a reason is given."""
    publish(final)
    owner = final.owner()
    for path, said, name, words in ASKED:
        asked = owner.call("POST", f"/api/v1/competitions/small/manage/{path}", json=said)
        assert asked.status_code == 409, asked.text
        shown = asked.json()["preview"]
        assert any(words in line for line in shown["blocked"]) and shown["name"] == name, shown
        assert (
            shown["reason"] == "Reason (everybody sees it on the page of the results)" and shown["reasoned"]
        )
    assert rows(played["ada"].call("GET", API)) == WON


PUBLISHED = "/api/v1/competitions/small/phases/feedback/results"


def publish_feedback(site: Site, *scores: float) -> list[Person]:
    """Results of a phase without prizes: of ada, ben and so on, in the league that is open to all."""
    worker, people = site.worker(), [site.member(name) for name in ("ada", "ben", "cem")[: len(scores)]]
    for person, score in zip(people, scores, strict=True):
        scored(worker, person, score)
    manage = "/api/v1/competitions/small/manage/phases/feedback/final/acts/publish"
    said = site.owner().call("POST", manage, json={"confirm": "feedback", "override": True})
    assert said.status_code == 200, said.text
    return people


def published(site: Site) -> list[tuple[str, int | None, str, float]]:
    """The league, rank, team and score of each row of the results that everybody sees."""
    found = site.owner().call("GET", PUBLISHED).json()["leagues"]
    return [
        (league["name"], row["rank"], row["team"], row["score"]) for league in found for row in league["rows"]
    ]


def test_a_submission_is_disqualified_past_public_results_on_its_page(site: Site) -> None:
    ada, ben = publish_feedback(site, 0.6, 0.5)
    owner, acts = site.owner(), "/competitions/small/manage/submissions/acts"
    winner = owner.call("GET", f"{MANAGE}?text=ada").json()["items"][0]["id"]
    asked = post(owner, acts, act="disqualify", id=winner).text
    assert "Free style: “ada” leaves the results (rank 1)." in asked and "required" in asked
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked))
    del fields["csrf_token"]
    named = {"confirm": winner[:12], "reason": "it used the test data"}
    again = post(owner, acts, **fields, **named)
    assert again.status_code == 409 and "Override it by name to do it all the same." in again.text
    assert [row[2] for row in published(site)] == ["ada", "ben"]
    done = post(owner, acts, **fields, **named, override="1")
    assert "Disqualify: 1 submission." in " ".join(done.text.split())
    assert published(site) == [("Free style", 1, "ben", 0.5)]
    assert "because: it used the test data" in page(ben, f"{RESULTS}?phase=feedback").text
    assert "the organizers changed the published results of Feedback" in messages(site, ada)


def test_an_entry_is_refused_past_public_results_in_the_list_of_entries(site: Site) -> None:
    add_league(site, "asking", questions=[{"key": "cv", "label": "Your page", "required": False}])
    worker = site.worker()
    for name, score in (("ada", 0.6), ("ben", 0.5)):
        person = site.member(name)
        said = {"answers": {"cv": ""}}
        assert person.call("PUT", "/api/v1/competitions/small/leagues/asking/answers", json=said).is_success
        scored(worker, person, score, leagues=["asking"])
    publish_feedback(site)
    owner, path = site.owner(), "/competitions/small/manage/entries"
    listed = owner.call("GET", "/api/v1/competitions/small/manage/entries").json()["items"]
    both = {row["team"]: row["id"] for row in listed}
    said = {"act": "refuse", "reason": "no student"}
    asked = post(owner, path, entry=list(both.values()), **said).text
    assert "Refuse 2 entries?" in asked and "Type <code>small</code> to confirm" in asked
    assert [row[2] for row in published(site)] == ["ada", "ben"]
    asked = post(owner, path, entry=both["ada"], **said)
    assert "“ada” leaves the results (rank 1)." in asked.text
    done = post(owner, path, entry=both["ada"], **said, confirm="ada", override="1")
    assert flash(done) == (
        "1 of 1 entries changed. The results of “Feedback” are public, and this changes them: "
        "Asking: “ada” leaves the results (rank 1). Asking: “ben” has rank 1 instead of rank 2."
    )
    assert [row[2] for row in published(site)] == ["ben"]


def test_acts_on_several_ask_together_for_what_they_change_in_public_results(site: Site) -> None:
    ada, *_ = publish_feedback(site, 0.6, 0.5, 0.4)
    owner, acts = site.owner(), f"{MANAGE}/acts"
    ids = {row["team"]: row["id"] for row in owner.call("GET", MANAGE).json()["items"]}
    many = {"act": "delete", "ids": [ids["ada"], ids["ben"]]}
    asked = owner.call("POST", acts, json=many)
    preview = asked.json()["preview"]
    assert (asked.status_code, asked.json()["error"]) == (409, "confirm")
    assert (preview["title"], preview["name"], preview["reasoned"]) == ("Delete 2 submissions", "small", True)
    changes = preview["blocked"]
    assert len(changes) == 2 and all(
        f"Free style: “{name}” leaves the results" in " ".join(changes) for name in ("ada", "ben")
    )
    consent = {"confirm": "small", "override": True}
    assert owner.call("POST", acts, json={**many, **consent}).json()["field"] == "reason"
    for said in ({"confirm": "small"}, {**consent, "confirm": "ada"}):
        assert (
            owner.call("POST", acts, json={**many, **said, "reason": "copied"}).json()["error"] == "confirm"
        )
    assert [row[2] for row in published(site)] == ["ada", "ben", "cem"]
    alone = owner.call("POST", acts, json={**many, "ids": [ids["ada"]]}).json()
    assert alone["preview"]["name"] == ids["ada"][:12]
    done = owner.call("POST", acts, json={**many, **consent, "reason": "copied"}).json()
    assert (len(done["done"]), done["skipped"], done["warnings"]) == (2, {}, changes)
    assert published(site) == [("Free style", 1, "cem", 0.4)]
    assert "because: copied" in page(ada, f"{RESULTS}?phase=feedback").text


def test_decisions_on_several_entries_and_teams_ask_for_what_they_change_in_public_results(
    site: Site,
) -> None:
    add_league(site, "asking", questions=[{"key": "cv", "label": "Your page", "required": False}])
    worker, teams = site.worker(), []
    for name, score in (("ada", 0.6), ("ben", 0.5)):
        person = site.member(name)
        said = {"answers": {"cv": ""}}
        assert person.call("PUT", "/api/v1/competitions/small/leagues/asking/answers", json=said).is_success
        scored(worker, person, score, leagues=["asking"])
    publish_feedback(site)
    owner, manage = site.owner(), "/api/v1/competitions/small/manage"
    rows = owner.call("GET", f"{manage}/entries").json()["items"]
    teams = [row["team_id"] for row in rows]
    entries = [{"submission": row["submission"], "league": row["league"]} for row in rows]
    consent = {"confirm": "small", "override": True}
    for path, title, body in (
        ("entries/acts", "Refuse 2 entries", {"act": "refuse", "ids": [row["id"] for row in rows]}),
        ("leagues/teams/decide", "Refuse 2 teams", {"league": "asking", "teams": teams, "admit": False}),
        ("leagues/entries/decide", "Refuse 2 entries", {"entries": entries, "admit": False}),
    ):
        asked = owner.call("POST", f"{manage}/{path}", json={**body, "reason": "no student"})
        assert (asked.status_code, asked.json()["preview"]["title"]) == (409, title)
        assert [row[2] for row in published(site)] == ["ada", "ben"]
    done = owner.call("POST", f"{manage}/{path}", json={**body, **consent, "reason": "no student"}).json()
    assert done["changed"] == 2 and "“ada” leaves the results (rank 1)." in done["warnings"][0]
    assert published(site) == []


def test_an_act_that_asks_nothing_asks_where_it_changes_public_results(site: Site) -> None:
    ada, _ = publish_feedback(site, 0.6, 0.5)
    owner = site.owner()
    winner = owner.call("GET", f"{MANAGE}?text=ada").json()["items"][0]["id"]
    consent = {"confirm": winner[:12], "override": True, "reason": "a doubt"}
    assert owner.call("POST", f"{MANAGE}/{winner}/acts/disqualify", json=consent).status_code == 200
    asked = owner.call("POST", f"{MANAGE}/{winner}/acts/qualify").json()
    assert asked["error"] == "confirm" and asked["preview"]["blocked"] == [
        "The results of “Feedback” are public, and this changes them: "
        "Free style: “ben” has rank 2 instead of rank 1. "
        "Free style: “ada” comes into the results (rank 1)."
    ]
    assert [row[2] for row in published(site)] == ["ben"]
    command_asks(site, owner, winner)
    assert [row[2] for row in published(site)] == ["ada", "ben"]
    assert "the doubt is gone" in messages(site, ada)


def command_asks(site: Site, owner: Person, submission_id: str) -> None:
    """`organize do` without consent shows it, and asks for the reason and the name."""
    with served(site.app, free_port()) as where:
        words = ["organize", "do", "small", "submission.qualify", submission_id, "--override"]
        typed = f"the doubt is gone\n{submission_id[:12]}\n"
        said = CliRunner().invoke(main, [*words, "--server", where, "--token", owner.token], input=typed)
    assert said.exit_code == 0, said.output
    assert (
        "In the way: The results of “Feedback” are public, and this changes them: Free style:" in said.output
    )


def test_a_version_that_is_made_live_asks_for_what_it_changes_in_public_results(site: Site) -> None:
    publish_feedback(site, 0.6, 0.5)
    owner, worker, draft = site.owner(), site.worker(), f"{FEEDBACK}/versions/2"
    post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    post(owner, f"{draft}/rescore", mode="everything")
    finish(worker, 0.4, 0.7)
    asked = post(owner, f"{draft}/make-live").text
    assert "2 submissions get the score of this version" in asked
    assert "“ben” has rank 1 instead of rank 2, has the score 0.700 instead of 0.500." in asked
    assert published(site)[0] == ("Free style", 1, "ada", 0.6)
    said = {"confirm": "feedback", "reason": "a broken worker"}
    assert post(owner, f"{draft}/make-live", **said).status_code == 409
    assert flash(post(owner, f"{draft}/make-live", **said, override="1")) == "Version 2 is live."
    assert published(site) == [("Free style", 1, "ben", 0.7), ("Free style", 2, "ada", 0.4)]


def test_a_renamed_team_has_its_name_in_public_results_by_consent_alone(site: Site) -> None:
    ada, ben = publish_feedback(site, 0.6, 0.5)
    path = "/api/v1/competitions/small/manage/teams/ada/acts/rename"
    said = {"name": "Alpha", "confirm": "ada", "reason": "a wish"}
    assert site.owner().call("POST", path, json=said).status_code == 409
    assert [row[2] for row in published(site)] == ["ada", "ben"]
    assert site.owner().call("POST", path, json={**said, "override": True}).status_code == 200
    assert [row[2] for row in published(site)] == ["Alpha", "ben"]
    assert "Free style: “ada” is called “Alpha”. a wish" in " ".join(messages(site, ada).split())
    assert "Alpha" not in messages(site, ben)


def test_a_renamed_league_keeps_its_name_in_public_results_until_they_are_corrected(site: Site) -> None:
    (ada,) = publish_feedback(site, 0.6)
    owner, manage = site.owner(), "/api/v1/competitions/small/manage"
    assert owner.call("PATCH", f"{manage}/leagues/free", json={"title": "Open"}).is_success
    assert published(site) == [("Free style", 1, "ada", 0.6)]
    said = {"confirm": "feedback", "reason": "its name"}
    corrected = owner.call("POST", f"{manage}/phases/feedback/final/acts/correct", json=said)
    assert corrected.status_code == 200, corrected.text
    assert published(site) == [("Open", 1, "ada", 0.6)]
    assert "The league “Free style” is called “Open”." in messages(site, ada)


def test_a_renamed_phase_or_competition_leaves_public_results_as_they_are(site: Site) -> None:
    publish_feedback(site, 0.6)
    owner, manage = site.owner(), "/api/v1/competitions/small/manage"
    assert owner.call("PATCH", f"{manage}/phases/feedback", json={"title": "Round one"}).is_success
    assert owner.call("PATCH", f"{manage}/settings", json={"title": "Another title"}).is_success
    assert published(site) == [("Free style", 1, "ada", 0.6)]
    assert owner.call("GET", PUBLISHED).json()["corrections"] == []
    assert "Results of Round one" in page(owner, f"{RESULTS}?phase=feedback").text


@pytest.mark.seconds("a whole competition")
def test_boards_that_change_leave_published_results_until_they_are_corrected(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    publish(final)
    owner, cem = final.owner(), played["cem"]
    with final.services.database.writing() as session:  # as a run that is repeated would
        mine = session.query(Submission).filter_by(kind="final", user_id=cem.id).one()
        mine.deleted_at = now()
        refresh_boards(session, mine)
    assert rows(cem.call("GET", API)) == WON
    leaves = "Free style: “cem” leaves the results (rank 3 and 150 EUR)."
    assert leaves in page(owner, "/competitions/small/manage/final?phase=final").text
    silent = owner.call("POST", f"{FINAL}/acts/correct", json={"confirm": "final"})
    assert (silent.status_code, silent.json()["preview"]["does"]) == (409, [leaves])
    said = {"confirm": "final", "reason": "a broken worker"}
    assert owner.call("POST", f"{FINAL}/acts/correct", json=said).status_code == 200
    assert rows(cem.call("GET", API)) == WON[:2]
    assert cem.call("GET", API).json()["corrections"][0]["reason"] == "a broken worker"
    assert leaves in messages(final, cem) and leaves not in messages(final, played["ada"])


@pytest.mark.seconds("a whole competition")
def test_who_is_out_of_the_ranking_takes_no_place_and_no_prize(
    final: Site,  # noqa: F811
    played: dict[str, Person],
) -> None:
    """An organizer's entry, or a baseline: it is shown where it would stand, and everybody behind it moves up."""
    publish(final)
    ben = {"username": "ben", "role": "organizer", "confirm": "ben", "override": True, "reason": "helps us"}
    assert page(final.owner(), "/competitions/small/manage/people").status_code == 200
    assert final.owner().call("POST", "/api/v1/competitions/small/manage/people", json=ben).status_code == 201
    found = rows(played["cem"].call("GET", API))
    assert sorted(found, key=lambda row: row[1]) == [
        (1, "ada", 400.0),
        (None, "b_e%n", 0.0),
        (2, "cem", 250.0),
    ]
    assert "b_e%n" not in re.findall(
        r'<strong class="break">(.*?)</strong>', page(played["cem"], RESULTS).text
    )
    certificate = played["ben"].call("GET", f"{API}/free/certificate")
    assert (certificate.status_code, certificate.json()["message"]) == (
        404,
        "This team has no rank in the league.",
    )


def test_certificates_hold_names_of_every_script() -> None:
    said = Certificate(
        "C",
        "Final",
        "Free",
        "Żółw und Ελπίδα 深度学习 かな 한글",
        ("x" * 300,),
        1,
        2,
        0.5,
        "",
        WHEN,
        "https://x",
    )
    content = as_pdf(said)
    assert (
        b"DejaVuSans" in content
        and b"STSong" in content
        and b"HeiseiMin" in content
        and b"HYSMyeongJo" in content
    )


def test_every_form_of_the_final_page_does_what_it_says(site: Site) -> None:
    """Publish, correct, take the publication back: each sent to the address that its form names."""
    worker, owner = site.worker(), site.owner()
    site.set_phase(needs_publishing=True)
    first = scored(worker, site.member("ada"), 0.6)
    scored(worker, site.member("ben"), 0.5)
    where = f"{BASE}/final?phase=feedback"

    def send(words: str, **fields: str) -> Any:
        """Press the button of these words, and agree to what is asked then."""
        forms = re.findall(r'<form[^>]* action="([^"]+)"[^>]*>(.*?)</form>', page(owner, where).text, re.S)
        (address,) = [at for at, inside in forms if words in " ".join(inside.split())]
        said = post(owner, address, **fields)
        return said if said.status_code == 303 else post(owner, address, **fields, **consent)

    consent = {"confirm": "feedback", "override": "1"}
    assert flash(send("Publish the results", winners="0")).startswith("The results are public.")
    assert [row[2] for row in published(site)] == ["ada", "ben"]
    with site.services.database.writing() as session:  # as a run that is repeated would
        gone = session.get_one(Submission, first)
        gone.deleted_at = now()
        refresh_boards(session, gone)
    corrected = send("Correct the results", reason="a broken worker")
    assert flash(corrected) == "The published results are corrected."
    assert [row[2] for row in published(site)] == ["ben"]
    hidden = flash(send("Take the publication back"))
    assert hidden == "The results are hidden again. The messages that went out cannot be called back."
    assert page(site.person("vera"), f"{RESULTS}?phase=feedback").status_code in (403, 404)
