"""Boards that show the last submission above the gate of the next phase follow what becomes of that phase."""

from typing import Any

import pytest

from anyshot_platform.contest.phases.states import BoardShows
from tests.platform.entries.test_entries import names, scored
from tests.platform.entries.test_finals import add_final, end_feedback, preview
from tests.platform.site import SLUG, Site

PHASES = f"/api/v1/competitions/{SLUG}/manage/phases"


@pytest.fixture
def above(site: Site) -> tuple[Site, dict[str, str]]:
    """ada has 0.4 above the gate of 0.3, and then 0.2; the ids of both by their score."""
    add_final(site)
    site.set_phase(board_shows=BoardShows.LAST_ABOVE_GATE)
    worker, ada = site.worker(), site.member("ada")
    made = {str(score): scored(worker, ada, score) for score in (0.4, 0.2)}
    assert names(site, "free") == [("ada", 0.4)]
    return site, made


def ask(site: Site, method: str, path: str, body: dict[str, Any]) -> None:
    answer = site.owner().call(method, f"{PHASES}/{path}", json=body)
    assert answer.is_success, answer.text


def test_the_board_follows_the_final_that_is_deleted_and_restored(above: tuple[Site, dict[str, str]]) -> None:
    site, made = above
    ask(site, "POST", "final/acts/delete", {"confirm": "final"})
    assert names(site, "free") == [("ada", 0.2)]
    ask(site, "POST", "final/acts/restore", {})
    assert names(site, "free") == [("ada", 0.4)]
    end_feedback(site)
    assert preview(site.owner())["ada"]["submission"] == made["0.4"]


def test_the_board_follows_where_the_entries_of_the_final_come_from(
    above: tuple[Site, dict[str, str]],
) -> None:
    """A launch took the submission of before: the entry was chosen when its phase led nowhere."""
    site, made = above
    ask(site, "PATCH", "final", {"entries": None})
    assert names(site, "free") == [("ada", 0.2)]
    ask(site, "PATCH", "final", {"entries": {"phase": "feedback"}})
    assert names(site, "free") == [("ada", 0.4)]
    end_feedback(site)
    assert preview(site.owner())["ada"]["submission"] == made["0.4"]
