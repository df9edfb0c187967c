"""The page of a scored submission answers: its place, what it changed, how sure that is; the same words in JSON."""

import html
import re
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import Audience
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.submissions.answer import ScoreChange
from anyshot_platform.standings.entries.service import stand
from anyshot_platform.standings.leaderboards.trust import read_beside
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene


@pytest.fixture
def ada(visitor: Visitor, scene: Scene) -> Visitor:
    """Ada, whose team has its entry: #2, on rank 4 of 8."""
    with visitor.services.database.writing() as session:
        phase = session.get_one(Phase, scene.phase.id)
        version = session.get_one(PhaseVersion, scene.version.id)
        stand(session, phase, version, session.get_one(Team, scene.team.id))
    visitor.sign_in(scene.ada)
    return visitor


def _text(visitor: Visitor, scene: Scene, name: str) -> str:
    return " ".join(html.unescape(visitor.see(f"/submissions/{scene.submissions[name].id}")).split())


def _json(visitor: Visitor, scene: Scene, name: str) -> Any:
    return visitor.client.get(f"/api/v1/submissions/{scene.submissions[name].id}").json()


def _set_phase(visitor: Visitor, scene: Scene, **values: object) -> None:
    with visitor.services.database.writing() as session:
        phase = session.get_one(Phase, scene.phase.id)
        for name, value in values.items():
            setattr(phase, name, value)


def test_the_page_says_rank_and_change_in_the_one_statement(ada: Visitor, scene: Scene) -> None:
    text = _text(ada, scene, "finished")
    assert "Rank 4 of 8." in text and "your best other submission (#1)" in text
    first, second = scene.submissions["finished"], scene.submissions["older"]
    with ada.services.database.reading() as session:
        version = session.get_one(PhaseVersion, scene.version.id)
        asked = [(first.id, second.id)]
        (said,) = read_beside(session, ada.services.storage, version, asked, sees_board=True)
    assert said is not None and said.told_apart
    assert "your best other submission (#1)" in text
    assert said.words("This submission", "your best other (#1)") in text
    assert "the best baseline (“Prototypical Networks”)" in text


def test_one_that_does_not_count_names_the_one_that_does(ada: Visitor, scene: Scene) -> None:
    text = _text(ada, scene, "older")
    assert "Your team's entry is another one, #2, on rank 4 of 8." in text
    assert "Your best other (#2) is better than this submission by 0.0" in text


@pytest.mark.parametrize(
    ("difference", "shown"),
    [(0.0004, "0.000"), (-0.0004, "0.000"), (0.0006, "+0.001"), (-0.25, "−0.250"), (0.0, "0.000")],
)
def test_a_change_that_rounds_to_nothing_has_no_sign(difference: float, shown: str) -> None:
    assert ScoreChange("another one", None, difference, None, "").figure == shown


def test_json_has_the_same_answer(ada: Visitor, scene: Scene) -> None:
    answer = _json(ada, scene, "finished")["answer"]
    assert [(place["rank"], place["ranked"], place["counts"]) for place in answer["places"]] == [(4, 8, True)]
    own, baseline = answer["changes"]
    assert own["submission_id"] == scene.submissions["older"].id and baseline["submission_id"] is None
    assert own["statement"]["verdict"] == "different" and own["words"] in _text(ada, scene, "finished")


def test_a_hidden_board_gives_neither_rank_nor_baseline(ada: Visitor, scene: Scene) -> None:
    _set_phase(ada, scene, board_audience=Audience.ORGANIZERS)
    text = _text(ada, scene, "finished")
    assert "Rank" not in text and "baseline" not in text and "your best other submission (#1)" in text
    assert [one["rank"] for one in _json(ada, scene, "finished")["answer"]["places"]] == [None]


def test_hidden_scores_leave_no_answer(ada: Visitor, scene: Scene) -> None:
    _set_phase(ada, scene, scores_visible=False)
    assert (
        "best other" not in _text(ada, scene, "finished") and _json(ada, scene, "finished")["answer"] is None
    )


def test_what_was_withdrawn_is_not_compared_with(ada: Visitor, scene: Scene) -> None:
    ada.send("/account", f"/submissions/{scene.submissions['older'].id}/withdraw")
    assert "best other submission" not in _text(ada, scene, "finished")
    with ada.services.database.reading() as session:
        assert session.get_one(Submission, scene.submissions["older"].id).withdrawn_at


def test_opening_a_page_marks_the_messages_about_it_as_read(ada: Visitor, scene: Scene) -> None:
    path = f"/submissions/{scene.submissions['finished'].id}"
    page = ada.see(path)
    assert "Notifications, 1 unread" in page and f'data-seen="{path}"' in page
    ada.send("/account", "/notifications/seen", 204, url=path)
    page = ada.see(path)
    assert "unread" not in page and "data-seen" not in page


def test_a_page_tells_how_good_why_and_what_is_next_before_how_it_ran_and_the_details(
    ada: Visitor, scene: Scene
) -> None:
    page = ada.see(f"/submissions/{scene.submissions['finished'].id}")
    titles = [
        re.sub(r"<[^>]+>", "", title).strip() for title in re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.DOTALL)
    ]
    order = ["Result", "Next", "How it ran", "Log", "Details"]
    assert [title for title in titles if title in order] == order
    assert page.index('id="results-title"') < page.index("By dataset") < page.index("How it ran")
    details = page.partition('id="details-title"')[2]
    folded = re.findall(r"<details class=\"disclosure[^>]*><summary>([^<]+)<", details)
    assert folded == [
        "Edit note and tags",
        "Where the time went",
        "Provenance: image, digests, seeds, hardware",
        "Downloads",
    ]
    archive = f'href="/api/v1/submissions/{scene.submissions["finished"].id}/archive"'
    assert page.count(archive) == details.count(archive) == 1, "each file is offered once"


def test_frames_outside_ones_own_code_are_folded_where_there_are_own_ones(ada: Visitor, scene: Scene) -> None:
    failed = scene.submissions["failed"]
    trace = (
        ada.see(f"/submissions/{failed.id}").partition('aria-label="Traceback"')[2].partition("</section>")[0]
    )
    folded = re.findall(r"<details[^>]*><summary>([^<]+)</summary>(.*?)</details>", trace)
    assert [words for words, _ in folded] == ["2 lines outside your code"] and "session.py" in folded[0][1]
    assert "model.py" not in folded[0][1] and "Traceback (most recent" not in folded[0][1]
    with ada.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == failed.id)).one()
        run.detail = (
            'Traceback (most recent call last):\n  File "/usr/lib/python3.11/x.py", line 1, in f\nOSError: x'
        )
    assert "outside your code" not in ada.see(f"/submissions/{failed.id}")


def test_a_failure_is_told_once(ada: Visitor, scene: Scene) -> None:
    page = ada.see(f"/submissions/{scene.submissions['failed'].id}")
    assert re.search(r'<p class="strong" data-status aria-live="polite" hidden>Failed\.</p>', page)
    assert "Your submission failed." in page or "Your code raised an error." in page
