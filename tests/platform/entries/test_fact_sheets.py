"""Fact sheets are wanted when they are due, from whom they are due, and are shown to organizers."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from httpx2 import Response
from sqlalchemy import select

from anyshot_core.command import main
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import Due
from anyshot_platform.standings.fact_sheets.models import FactSheet
from tests.platform.admin.test_manage import page, post
from tests.platform.admin.test_two_actors import seen
from tests.platform.core.test_admission import served
from tests.platform.entries.test_entries import scored
from tests.platform.entries.test_finals import end_feedback, final, launch  # noqa: F401
from tests.platform.site import Site, make_zip
from tests.platform.web.test_again import _send
from tests.platform.web.test_two_writers import kept

SHEET = "/api/v1/competitions/small/fact-sheet"
FORM = "/competitions/small/fact-sheet"
UPLOAD = "/competitions/small/phases/feedback/submit"
SHEETS = "/api/v1/competitions/small/manage/fact-sheets"
QUESTIONS = [
    {"key": "method", "label": "Describe the method", "required": True},
    {"key": "code", "label": "Where the code is", "required": False},
]


@pytest.fixture
def asking(final: Site) -> Site:  # noqa: F811
    with final.services.database.writing() as session:
        final.competition(session).fact_sheet = QUESTIONS
    return final


def test_only_finalists_owe_one_and_organizers_see_it(asking: Site) -> None:
    worker, ada, bob, owner = asking.worker(), asking.member("ada"), asking.member("bob"), asking.owner()
    scored(worker, ada, 0.5)  # not refused: nothing is due yet
    scored(worker, bob, 0.1)  # below the gate
    assert ada.call("GET", SHEET).json()["state"] == "not_asked"
    end_feedback(asking)
    launch(owner)
    assert [(row["team"], row["state"]) for row in owner.call("GET", SHEETS).json()] == [("ada", "missing")]
    draft = ada.call("PUT", SHEET, json={"answers": {"code": "soon"}}).json()
    assert draft["state"] == "draft"
    early = ada.call("PUT", SHEET, json={"answers": {"code": "soon"}, "hand_in": True})
    assert (early.status_code, "Describe the method" in early.json()["message"]) == (422, True)
    said = {"answers": {"method": "prototypes", "code": "here"}, "hand_in": True, "public": True}
    assert ada.call("PUT", SHEET, json=said).json()["state"] == "handed_in"
    (row,) = owner.call("GET", SHEETS).json()
    assert (row["answers"], row["public"]) == ({"method": "prototypes", "code": "here"}, True)
    assert bob.call("GET", SHEETS).status_code == 403


def test_two_members_of_a_team_fill_in_one_fact_sheet(asking: Site) -> None:
    """The second sees both answers and who wrote, and loses none of theirs."""
    ada, bob = asking.member("ada"), asking.member("bob")
    with asking.services.database.writing() as session:
        competition = asking.competition(session)
        competition.team_size = 2
        first, second = (find_membership(session, competition.id, one.id) for one in (ada, bob))
        assert first is not None and second is not None
        second.team_id = first.team_id
    read = seen(bob, FORM)
    assert post(ada, FORM, seen=read, fact_method="prototypes", act="save").status_code == 303
    found = ada.call("GET", SHEET).json()
    asked = post(bob, FORM, seen=read, fact_method="MAML", fact_code="here", act="hand_in")
    assert asked.status_code == 409 and "prototypes" in asked.text and "MAML" in asked.text
    stale = ada.call("PUT", SHEET, json={"answers": {"method": "MAML"}}, headers={"if-match": '"0"'})
    assert (stale.status_code, stale.json()["error"]) == (409, "stale")
    assert {clash["by"] for clash in stale.json()["fields"]} == {"ada"}
    tag = {"if-match": found["etag"]}
    said = ada.call("PUT", SHEET, json={"answers": {"method": "USL"}}, headers=tag)
    assert said.json()["answers"]["method"] == "USL"
    once_more = post(bob, FORM, **kept(asked))
    assert once_more.status_code == 409 and "ada changed this" in once_more.text  # she wrote again meanwhile
    assert post(bob, FORM, **kept(once_more)).status_code == 303
    sheet = ada.call("GET", SHEET).json()
    assert (sheet["answers"], sheet["state"]) == ({"method": "MAML", "code": "here"}, "handed_in")


def test_a_page_saves_as_many_answers_as_are_asked_for(asking: Site) -> None:
    """A bundle may ask more questions than one request over JSON may answer."""
    with asking.services.database.writing() as session:
        asked = [{"key": f"q-{number}", "label": "Why?", "required": False} for number in range(101)]
        asking.competition(session).fact_sheet = asked
    ada = asking.member("ada")
    assert post(ada, FORM, **{"seen": seen(ada, FORM), "fact_q-100": "so", "act": "save"}).status_code == 303
    assert ada.call("GET", SHEET).json()["answers"] == {"q-100": "so"}


def test_an_upload_needs_one_only_where_the_competition_says_so(asking: Site) -> None:
    with asking.services.database.writing() as session:
        asking.competition(session).fact_sheet_from = Due.UPLOAD
    ada = asking.member("ada")
    refused = ada.submit()
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "Please answer on the fact sheet: Describe the method.",
    )
    ada.call("PUT", SHEET, json={"answers": {"method": "prototypes"}, "hand_in": True})
    assert ada.submit().status_code == 201
    bob, owner = asking.member("bob"), asking.owner()
    assert bob.submit(fact_sheet={"method": "mine"}).status_code == 201
    changed = bob.submit(make_zip(salt="again"), fact_sheet={"method": "better", "code": "there"})
    assert changed.status_code == 201
    found = {row["team"]: (row["state"], row["answers"]) for row in owner.call("GET", SHEETS).json()}
    assert found["bob"] == ("handed_in", {"method": "better", "code": "there"})
    assert found["ada"] == ("handed_in", {"method": "prototypes"})  # an upload without answers leaves them
    shown = page(owner, "/competitions/small/manage/fact-sheets").text
    assert "Submitted 2 times" in shown and "mine" in shown and "better" in shown


def test_the_upload_page_shows_what_was_handed_in_and_leaves_it(asking: Site) -> None:
    """It demanded all answers anew, and what was typed to get past them replaced those shown beside the results."""
    ada = asking.member("ada")
    with asking.services.database.writing() as session:
        asking.competition(session).fact_sheet_from = Due.UPLOAD
    ada.call("PUT", SHEET, json={"answers": {"method": "two\nlines", "code": "here"}})
    asking.set_phase(quota_day=9, quota_concurrent=9)
    digest = ada.submit().json()["digest"]
    assert ada.call("GET", SHEET).json()["state"] == "draft"
    fields = {"fact_method": "two\r\nlines", "fact_code": "here"}

    def send(**changes: str) -> Response:
        form = {"again": digest, "seen": seen(ada, UPLOAD), **fields, **changes}
        return _send(asking, ada, UPLOAD, **form)

    shown = page(ada, UPLOAD).text
    assert ">two\nlines</textarea>" in shown and ">here</textarea>" in shown
    assert send().status_code == 303
    sheet = ada.call("GET", SHEET).json()
    assert (sheet["state"], sheet["answers"]) == ("handed_in", {"method": "two\nlines", "code": "here"})
    ada.call("PUT", SHEET, json={"answers": {"method": "two\nlines", "code": "there"}, "hand_in": True})
    fields["fact_code"] = "there"
    before = history(asking)
    assert send(comment="once more").status_code == 303
    assert history(asking) == before  # nothing new was said
    assert send(fact_code="").status_code == 303
    assert ada.call("GET", SHEET).json()["answers"] == {"method": "two\nlines"}
    refused = send(fact_method="")
    assert refused.status_code == 422 and "Please answer on the fact sheet" in refused.text
    asking.offer_smoke_tests()
    assert send(fact_method="", kind="smoke").status_code == 303
    # A browser asks for no answer before a smoke test.
    assert re.search(r'value="smoke"[^>]*\sformnovalidate>', page(ada, UPLOAD).text)


def history(site: Site) -> list[object]:
    with site.services.database.reading() as session:
        return session.scalars(select(FactSheet)).one().history


def test_null_is_no_answer(asking: Site) -> None:
    """It was kept as the text None."""
    ada = asking.member("ada")
    with asking.services.database.writing() as session:
        asking.competition(session).fact_sheet_from = Due.UPLOAD
    refused = ada.submit(fact_sheet={"method": None})
    assert refused.status_code == 422 and "Describe the method" in refused.json()["message"]
    assert ada.submit(fact_sheet={"method": 5, "code": None}).status_code == 201
    assert ada.call("GET", SHEET).json()["answers"] == {"method": "5"}


def test_a_corrected_answer_keeps_what_the_team_agreed_to(asking: Site, tmp_path: Path) -> None:
    """Without --public the command took the agreement back, and the method card was gone from the results."""
    ada = asking.member("ada")
    (file := tmp_path / "answers.json").write_text('{"method": "prototypes"}')
    with served(asking) as address:
        environment = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": ada.token}

        def agreed(*options: str) -> bool:
            words = ["fact-sheet", "small", str(file), "--hand-in", *options]
            done = CliRunner().invoke(main, words, env=environment)
            assert done.exit_code == 0, done.output
            return ada.call("GET", SHEET).json()["public"]

        asked = ((), ("--public",), (), ("--no-public",), ())
        assert [agreed(*options) for options in asked] == [False, True, True, False, False]


def test_a_question_that_is_asked_no_more_stops_no_upload(asking: Site) -> None:
    """Answers to it were sent along with each upload: "The fact sheet has no question code"."""
    bob, owner = asking.member("bob"), asking.owner()
    with asking.services.database.writing() as session:
        asking.competition(session).fact_sheet_from = Due.UPLOAD
    assert bob.submit(fact_sheet={"method": "mine", "code": "my repository"}).status_code == 201
    with asking.services.database.writing() as session:
        asking.competition(session).fact_sheet = [QUESTIONS[0], {**QUESTIONS[1], "key": "source"}]
    again = bob.submit(make_zip(salt="again"), fact_sheet={"method": "better"})
    assert again.status_code == 201, again.text
    sheet = bob.call("GET", SHEET).json()
    assert (sheet["state"], sheet["answers"]) == ("handed_in", {"method": "better"})
    assert "my repository" in page(owner, "/competitions/small/manage/fact-sheets").text  # in the history


def test_answers_that_nobody_asked_for_are_a_draft_of_the_fact_sheet(asking: Site) -> None:
    ada = asking.member("ada")
    ada.call("PUT", SHEET, json={"answers": {"method": "prototypes"}})
    assert ada.submit(fact_sheet={"code": "soon"}).status_code == 201
    sheet = ada.call("GET", SHEET).json()
    assert (sheet["state"], sheet["answers"]) == ("draft", {"method": "prototypes", "code": "soon"})
    unknown = ada.submit(make_zip(salt="x"), fact_sheet={"colour": "red"})
    assert (unknown.status_code, "no question colour" in unknown.json()["message"]) == (422, True)
