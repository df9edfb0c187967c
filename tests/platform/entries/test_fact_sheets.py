"""Fact sheets are wanted when they are due, from whom they are due, and are shown to organizers."""

from __future__ import annotations

import pytest

from anyshot_platform.fact_sheets.states import Due
from tests.platform.entries.test_entries import scored
from tests.platform.entries.test_finals import end_feedback, final, launch  # noqa: F401
from tests.platform.site import Site

SHEET = "/api/v1/competitions/small/fact-sheet"
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
    assert asking.member("bob").submit(fact_sheet={"method": "mine"}).status_code == 201
