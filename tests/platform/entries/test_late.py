"""Late submissions: taken after a phase's end where it says so, scored, shown to their team, and never ranked."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_core.words import deadline_words, moment_words
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.people.audit.models import AuditEntry
from tests.platform.admin.test_manage import finish, page
from tests.platform.admin.test_organizer_api import ask
from tests.platform.core.test_deadline import FORM, HAND_IN, _hand_in, _uploaded
from tests.platform.entries.test_finals import add_final, preview
from tests.platform.site import SLUG, Person, Site, in_one_line, make_zip

MINUTE = timedelta(minutes=1)
CLOSED, ENDED = "“Feedback” is closed.", "“Feedback” is closed: it ended at "
BOARD = f"/competitions/{SLUG}/leaderboard"
ABOVE_LATE = "Late submissions, out of the ranking"


def end(site: Site, ago: timedelta = MINUTE, **values: Any) -> datetime:
    """End the phase, which takes late submissions for another hour; returns its end."""
    ended = now() - ago
    site.set_phase(ends_at=ended, **{"late_until": now() + timedelta(hours=1), **values})
    return ended


def send_late(person: Person, **wishes: Any) -> dict[str, Any]:
    made = person.submit(make_zip(salt=f"late {now()}"), **wishes)
    assert made.status_code == 201, made.text
    assert made.json()["kind"] == "late"
    return made.json()


@pytest.fixture
def ended(site: Site) -> Site:
    """Bob has 0.5 in time; then the phase has ended and takes late ones."""
    bob, worker = site.member("bob"), site.worker()
    assert bob.submit().status_code == 201
    finish(worker, 0.5)
    end(site)
    return site


def test_a_late_one_is_scored_and_stands_below_the_line_where_the_phase_wants_it(ended: Site) -> None:
    alice = ended.member("alice")
    for mean in (0.95, 0.9):  # the last counts in this phase
        made = send_late(alice)
        finish(ended.worker(f"paper {mean}"), mean)
    visitor = ended.person("visitor")
    for shown in (False, True):
        ended.set_phase(show_late=shown)
        board = ended.board("free")
        assert [(row["rank"], row["team"]) for row in board["rows"]] == [(1, "bob")] and board["total"] == 1
        assert [(row["team"], row["score"], row["submission_number"]) for row in board["late"]] == (
            [("alice", 0.9, 2)] if shown else []
        )
        text = page(visitor, BOARD).text
        assert (ABOVE_LATE in text) == shown and ("alice" in text) == shown
    own = alice.call("GET", f"/api/v1/submissions/{made['id']}").json()
    assert (own["kind"], own["score"], own["answer"]) == ("late", 0.9, None)
    assert "0.900" in page(alice, f"/submissions/{made['id']}").text
    newest = alice.call("GET", "/api/v1/notifications").json()[0]
    assert "0.900" in newest["title"] and "never ranked" in newest["body"]
    assert alice.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/entries").json() == []


def test_a_board_with_late_ones_alone_shows_them_and_a_frozen_or_withdrawn_one_is_not_there(
    site: Site,
) -> None:
    alice = site.member("alice")
    end(site, show_late=True)
    made = send_late(alice)
    finish(site.worker(), 0.9)
    assert ABOVE_LATE in page(alice, BOARD).text
    site.set_phase(frozen_at=now())
    assert site.board("free")["late"] == []
    site.set_phase(frozen_at=None)
    assert len(site.board("free")["late"]) == 1
    assert alice.call("POST", f"/api/v1/submissions/{made['id']}/withdraw").status_code == 200
    assert site.board("free")["late"] == []


def test_pages_say_before_and_after_the_hand_in_that_it_is_late_and_what_that_means(site: Site) -> None:
    alice = site.member("alice")
    before = in_one_line(page(alice, FORM).text)
    assert "This submission will be late" not in before and "is late:" not in before
    ended = end(site, show_late=True)
    with site.services.database.reading() as session:
        until = session.get_one(Phase, site.phase_id).late_until
    assert until is not None
    rule = (
        f"What is handed in later, before {deadline_words(until, 'UTC')}, is late: it costs quota, is scored and shown "
        "to its team, and the leaderboard shows it below a line. It is never ranked, enters no final and wins no prize."
    )
    form = in_one_line(page(alice, FORM).text)
    assert "This submission will be late" in form and f". {rule}</p>" in form
    assert f"Feedback ended {moment_words(ended)}" in re.sub("<[^>]+>", "", form)
    assert f'href="{FORM}"' in page(alice, f"/competitions/{SLUG}").text, "the way to the form"
    (phase,) = alice.call("GET", f"/api/v1/competitions/{SLUG}").json()["phases"]
    assert phase["deadline_rule"].endswith(rule)
    made = send_late(alice)
    came = moment_words(datetime.fromisoformat(made["created_at"]), "seconds")
    said = (
        f"It is late: it came at {came}, after the end of the phase. It is scored and never ranked, unless the "
        "organizers move the end past that moment."
    )
    assert made["counted_words"] == said
    shown = in_one_line(page(alice, f"/submissions/{made['id']}").text)
    assert said in shown and '<span class="badge badge--violet">late</span>' in shown
    assert "late</span>" in page(alice, f"/competitions/{SLUG}/submissions?kind=late").text
    found = alice.call("GET", "/api/v1/submissions", params={"kind": "late"}).json()["items"]
    assert [one["id"] for one in found] == [made["id"]]


def test_late_ones_are_taken_before_a_moment_and_refused_after_it_with_both_moments(site: Site) -> None:
    alice = site.member("alice")
    ended = end(site)
    send_late(alice)
    until = now() - timedelta(seconds=1)
    site.set_phase(late_until=until)
    refused = alice.submit()
    words = (
        f"{ENDED}{deadline_words(ended, 'UTC')}, and took late submissions until "
        f"{deadline_words(until, 'UTC')}. Only its organizers can give you more time."
    )
    assert (refused.status_code, refused.json()["error"]) == (409, "phase_not_open")
    assert refused.json()["message"] == words and words in in_one_line(page(alice, FORM).text)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"late_until": None}, ENDED),
        ({"closed_at": now()}, CLOSED),
        ({"paused_at": now()}, ENDED),
        ({"accepts_uploads": False}, ENDED),
    ],
)
def test_none_is_taken_without_the_setting_or_where_organizers_stopped_the_phase(
    site: Site, values: dict[str, Any], words: str
) -> None:
    alice = site.member("alice")
    end(site, **values)
    refused = alice.submit()
    assert refused.status_code == 409 and refused.json()["message"].startswith(words)


def test_what_counts_as_in_time_by_its_upload_is_not_late_and_goes_first(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    slow = _uploaded(site, bob, now() - 2 * MINUTE, now())
    ended = end(site)
    late = send_late(alice)
    in_time = _hand_in(bob, upload_id=slow).json()
    assert in_time["kind"] == "entry" and datetime.fromisoformat(in_time["created_at"]) < ended
    worker = site.worker()
    claimed = [job["run_id"] for _ in range(2) if (job := worker.claim())]
    runs = [alice.call("GET", f"/api/v1/submissions/{late['id']}").json()["runs"][0]["id"]]
    assert len(claimed) == 2 and claimed[1] == runs[0]


def test_an_upload_that_was_complete_too_late_is_late_by_its_hand_in(site: Site) -> None:
    alice = site.member("alice")
    upload = _uploaded(site, alice, now() - 60 * MINUTE, now() - 30 * MINUTE)
    end(site, ago=50 * MINUTE)
    made = _hand_in(alice, upload_id=upload).json()
    assert made["kind"] == "late" and datetime.fromisoformat(made["created_at"]) > now() - MINUTE


def test_quotas_hold_for_late_ones(site: Site) -> None:
    alice = site.member("alice")
    site.set_phase(quota_day=1)
    end(site)
    send_late(alice)
    finish(site.worker(), 0.9)
    refused = alice.call("POST", HAND_IN, json={"upload_id": alice.upload(make_zip(salt="more"))})
    assert (refused.status_code, refused.json()["error"]) == (429, "quota_used_up")


def test_a_late_one_enters_no_final_and_its_run_holds_nothing_up(ended: Site) -> None:
    add_final(ended)
    alice, owner = ended.member("alice"), ended.owner()
    send_late(alice)
    launched = f"/api/v1/competitions/{SLUG}/manage/phases/final/final/acts/launch"
    looked = owner.call("POST", launched, json={}, params={"preview": "true"}).text
    assert "not ended yet" not in looked
    finish(ended.worker(), 0.9)
    assert set(preview(owner)) == {"bob"} and preview(owner)["bob"]["enters"]


def by_act(owner: Person, to: datetime) -> None:
    moved = ask(owner, "POST", "/phases/feedback/acts/extend", {"end": to.isoformat()})
    assert moved["settings"]["end"] == to.isoformat()


def in_editor(owner: Person, to: datetime) -> None:
    (phase,) = ask(owner, "GET", "/phases")
    ask(owner, "PUT", "/phases/feedback", {**phase["settings"], "end": to.isoformat()})


def test_an_end_that_is_moved_past_a_late_one_makes_it_count(ended: Site) -> None:
    alice, owner, worker = ended.member("alice"), ended.owner(), ended.worker()
    first = send_late(alice)
    finish(worker, 0.9)
    between = now()
    second = send_late(ended.member("carol"))
    by_act(owner, between)
    assert [(row["rank"], row["team"]) for row in ended.board("free")["rows"]] == [(1, "alice"), (2, "bob")]
    assert [ended.submission(one["id"]).kind for one in (first, second)] == ["entry", "late"]
    in_editor(owner, between + 30 * MINUTE)
    finish(worker, 0.7)
    assert [row["team"] for row in ended.board("free")["rows"]] == ["alice", "carol", "bob"]
    by_act(owner, between - timedelta(hours=1))
    assert ended.submission(first["id"]).kind == "entry", "what counted once is late never again"


def test_the_moment_for_late_ones_lies_after_the_end(ended: Site) -> None:
    owner = ended.owner()
    (phase,) = ask(owner, "GET", "/phases")
    settings, ends = phase["settings"], datetime.fromisoformat(phase["settings"]["end"])
    assert settings["late_until"] and settings["shown"]["late"] is False
    for late_until, finish_at, words in (
        (ends, ends, "Late submissions are taken after the end of the phase: this must be a later moment."),
        (ends, None, "A phase without an end has no late submissions."),
    ):
        wrong = {**settings, "late_until": late_until.isoformat(), "end": finish_at and finish_at.isoformat()}
        refused = ask(owner, "PUT", "/phases/feedback", wrong, status=422)
        assert refused["field"] == "late_until" and words in refused["message"]
    kept = ask(owner, "PUT", "/phases/feedback", {**settings, "shown": {**settings["shown"], "late": True}})
    assert kept["settings"]["shown"]["late"] and kept["settings"]["late_until"] == settings["late_until"]
    until = datetime.fromisoformat(settings["late_until"])
    refused = ask(owner, "POST", "/phases/feedback/acts/extend", {"end": until.isoformat()}, status=409)
    late = f"It takes late submissions until {deadline_words(until, 'UTC')}"
    assert f"{late}: set a moment after the new end, or none, first." in refused["message"]
    with ended.services.database.reading() as session:
        actions = session.scalars(select(AuditEntry.action)).all()
    assert actions.count("phase.change") == 1 and "phase.extend" not in actions
