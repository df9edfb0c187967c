"""What counts at a phase's end: when an upload began, within the grace; and the place that a ticket keeps."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import select

from anyshot_core.words import moment_words
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import deadline_rule
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.admission import Slots
from anyshot_platform.site.web.tickets import COOKIE
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from anyshot_platform.standings.results.actions.final_acts import why_too_early
from tests.platform.admin.test_manage import page
from tests.platform.site import SLUG, Person, Site, in_one_line, make_zip

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
GRACE = 15 * MINUTE
FORM = f"/competitions/{SLUG}/phases/feedback/submit"
HAND_IN = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"


@pytest.fixture
def alice(site: Site) -> Person:
    return site.member("alice")


def _uploaded(site: Site, person: Person, begun: datetime, complete: datetime) -> str:
    """The id of an upload that came between these moments."""
    upload_id = person.upload(make_zip(salt=f"{begun}"))
    _set_upload(site, upload_id, begun_at=begun, completed_at=complete)
    return upload_id


def _set_upload(site: Site, upload_id: str, **moments: datetime | None) -> None:
    with site.services.database.writing() as session:
        for name, moment in moments.items():
            setattr(session.get_one(Upload, upload_id), name, moment)


def _hand_in(person: Person, **what: Any) -> Response:
    return person.call("POST", HAND_IN, json=what)


MOMENTS = [  # when it began and was complete, from the end on; how long ago that was; what it is answered
    (-SECOND, 5 * SECOND, 5 * MINUTE, 201),
    (0 * SECOND, 5 * SECOND, 5 * MINUTE, 409),
    (SECOND, 5 * SECOND, 5 * MINUTE, 409),
    (-SECOND, GRACE, 20 * MINUTE, 201),
    (-SECOND, GRACE + SECOND, 20 * MINUTE, 409),
    (-MINUTE, -SECOND, GRACE - MINUTE, 201),
    (-MINUTE, -SECOND, GRACE + SECOND, 409),  # handed in too late
    (-SECOND, 10 * MINUTE, 10 * MINUTE + GRACE - MINUTE, 201),
    (-SECOND, 10 * MINUTE, 10 * MINUTE + GRACE + SECOND, 409),
]


def test_an_upload_that_began_before_the_end_counts_within_the_grace(site: Site, alice: Person) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    for begun, complete, ended_ago, status in MOMENTS:
        end = now() - ended_ago
        upload_id = _uploaded(site, alice, end + begun, end + complete)
        site.set_phase(ends_at=end)
        checked = alice.call(
            "POST", f"/api/v1/uploads/{upload_id}/check", params={"competition": SLUG, "phase": "feedback"}
        )
        assert checked.status_code == (200 if status == 201 else 409), (begun, complete, ended_ago)
        answer = _hand_in(alice, upload_id=upload_id)
        assert answer.status_code == status, answer.text
        if status == 201:
            assert site.submission(answer.json()["id"]).created_at == end + begun
        else:
            assert answer.json()["error"] == "phase_not_open"


def test_the_first_byte_and_the_last_one_are_what_an_upload_is_measured_by(site: Site, alice: Person) -> None:
    content = make_zip(salt="in parts")
    begun = alice.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": len(content)}).json()[
        "id"
    ]
    moments = [now()]
    for part in (content[:10], content[10:20], content[20:]):
        where = {"offset": content.index(part)}
        alice.call("PUT", f"/api/v1/uploads/{begun}", params=where, content=part)
        moments.append(now())
    with site.services.database.reading() as session:
        upload = session.get_one(Upload, begun)
        assert upload.begun_at and moments[0] < upload.begun_at < moments[1]
        assert upload.completed_at and moments[2] < upload.completed_at < moments[3]


def test_the_moment_that_counts_is_told_and_both_are_in_the_audit_log(site: Site, alice: Person) -> None:
    end = now() - MINUTE
    upload_id = _uploaded(site, alice, end - 2 * SECOND, end + SECOND)
    site.set_phase(ends_at=end)
    shown = _hand_in(alice, upload_id=upload_id).json()
    counts, arrived = (datetime.fromisoformat(shown[name]) for name in ("created_at", "arrived_at"))
    assert counts == end - 2 * SECOND and end < arrived < now()
    words = (
        f"It counts as of {moment_words(counts, 'seconds')}, when handing it in began; "
        f"it arrived at {moment_words(arrived, 'seconds')}."
    )
    assert shown["counted_words"] == words
    assert words in in_one_line(page(alice, f"/submissions/{shown['id']}").text)
    with site.services.database.reading() as session:
        (entry,) = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "submission.counted_earlier")
        ).all()
        assert (entry.actor_id, entry.object_id) == (alice.id, shown["id"])
        assert entry.after == {"counts": counts.isoformat(), "arrived": arrived.isoformat()}


def test_a_submission_in_time_says_nothing_of_moments(site: Site, alice: Person) -> None:
    shown = alice.submit().json()
    assert (shown["arrived_at"], shown["counted_words"]) == (None, "")


def test_quotas_go_by_the_moment_that_counts(site: Site, alice: Person) -> None:
    site.set_phase(quota_day=1, grace_seconds=100_000.0, starts_at=now() - timedelta(days=2))
    assert alice.submit().status_code == 201
    yesterday = now() - timedelta(days=1)
    upload_id = _uploaded(site, alice, yesterday - MINUTE, yesterday + MINUTE)
    site.set_phase(ends_at=yesterday)
    made = _hand_in(alice, upload_id=upload_id)
    assert made.status_code == 201, made.text
    assert site.submission(made.json()["id"]).quota_day == (yesterday - MINUTE).date()


def test_the_last_submission_is_the_one_that_began_last(site: Site, alice: Person) -> None:
    """A quick one overtakes a slow one that began before it; when both are scored, the quick one stands."""
    slow = _uploaded(site, alice, now() - 2 * MINUTE, now() - MINUTE)
    quick = alice.submit(make_zip(salt="quick")).json()
    site.set_phase(ends_at=now() - SECOND)
    late = _hand_in(alice, upload_id=slow)
    assert late.status_code == 201, late.text
    worker = site.worker()
    for mean in (0.5, 0.9):
        job = worker.claim()
        assert job is not None
        assert worker.complete(job, mean).status_code == 204
    ids = {site.submission(quick["id"]).score: "quick", site.submission(late.json()["id"]).score: "slow"}
    assert ids[site.board("free")["rows"][0]["score"]] == "quick"


def test_an_upload_that_is_under_way_is_gone_on_with_after_the_end(site: Site, alice: Person) -> None:
    """By the command: it asks by digest first, and hears that the zip is unknown, not that the phase is closed."""
    content = make_zip(salt="slow line")
    digest = hashlib.sha256(content).hexdigest()
    site.set_phase(ends_at=now() - MINUTE)
    assert _hand_in(alice, digest=digest).json()["error"] == "phase_not_open"
    body = {"filename": "a.zip", "size": len(content), "digest": digest}
    upload = alice.call("POST", "/api/v1/uploads", json=body).json()
    alice.call("PUT", f"/api/v1/uploads/{upload['id']}", params={"offset": 0}, content=content[:50])
    _set_upload(site, upload["id"], begun_at=now() - 2 * MINUTE)
    assert _hand_in(alice, digest=digest).json()["error"] == "unknown_zip"
    assert 'id="upload-form"' in page(alice, FORM).text, "and the page lets one go on"
    again = alice.call("POST", "/api/v1/uploads", json=body).json()
    assert (again["id"], again["received"]) == (upload["id"], 50)
    alice.call("PUT", f"/api/v1/uploads/{upload['id']}", params={"offset": 50}, content=content[50:])
    assert _hand_in(alice, upload_id=upload["id"]).status_code == 201
    assert 'id="upload-form"' not in page(alice, FORM).text


def test_a_phase_that_is_paused_or_closed_by_hand_takes_nothing_more(site: Site, alice: Person) -> None:
    for stopped in ({"paused_at": now()}, {"paused_at": None, "closed_at": now()}):
        upload_id = _uploaded(site, alice, now() - 2 * MINUTE, now() - MINUTE)
        site.set_phase(ends_at=now() - MINUTE, **stopped)
        assert _hand_in(alice, upload_id=upload_id).json()["error"] == "phase_not_open"


def test_page_and_json_say_the_rule_and_the_page_counts_down(site: Site, alice: Person) -> None:
    site.set_phase(ends_at=datetime.fromisoformat("2090-12-02T11:59:00+00:00"), time_zone="AoE")
    rule = (
        "What counts is when your upload begins: one that begins before 2 Dec 2090, 11:59 UTC "
        "(1 Dec 2090, 23:59 AoE) counts if it is complete within 15 min of that, and submitted within 15 min of being "
        "complete."
    )
    form = in_one_line(page(alice, FORM).text)
    assert rule in form and 'data-countdown="2090-12-02T11:59:00+00:00"' in form
    (phase,) = alice.call("GET", f"/api/v1/competitions/{SLUG}").json()["phases"]
    assert phase["deadline_rule"] == rule
    with site.services.database.reading() as session:
        found = session.get_one(Phase, site.phase_id)
        found.grace_seconds = 0
        assert deadline_rule(found) == (
            "What counts is when you submit: the upload must be complete, and submitted, before "
            "2 Dec 2090, 11:59 UTC (1 Dec 2090, 23:59 AoE)."
        )
        session.rollback()


class Load:
    """Whether the site has more visitors than it can answer."""

    too_much = False


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """A site that refuses while it has too much to do."""
    load, take = Load(), Slots.take

    async def take_or_not(slots: Slots) -> bool:
        return not load.too_much and await take(slots)

    monkeypatch.setattr(Slots, "take", take_or_not)
    return load


def _refused(load: Load, person: Person, path: str, body: dict[str, Any]) -> datetime:
    """The moment at which a request is refused for load."""
    load.too_much, before = True, now()
    answer = person.call("POST", path, json=body)
    load.too_much = False
    assert answer.status_code == 503 and "Your place is kept" in answer.json()["message"]
    return before


def test_who_is_refused_for_load_keeps_their_place(site: Site, alice: Person, load: Load) -> None:
    content = make_zip(salt="refused")
    body = {"filename": "a.zip", "size": len(content)}
    refused = _refused(load, alice, "/api/v1/uploads", body)
    ticket = site.client.cookies[COOKIE]
    site.set_phase(ends_at=now())
    made = _hand_in(alice, upload_id=alice.upload(content))
    assert made.status_code == 201, made.text
    assert refused < site.submission(made.json()["id"]).created_at < refused + 5 * SECOND
    assert COOKIE not in site.client.cookies, "it is used"
    site.client.cookies.set(COOKIE, ticket)
    assert _hand_in(alice, upload_id=alice.upload(make_zip(salt="another"))).status_code == 409


def test_a_zip_that_is_known_keeps_its_place_too(site: Site, alice: Person, load: Load) -> None:
    known = alice.submit().json()["digest"]
    refused = _refused(load, alice, HAND_IN, {"digest": known})
    site.set_phase(ends_at=now())
    made = _hand_in(alice, digest=known)
    assert made.status_code == 201, made.text
    assert refused < site.submission(made.json()["id"]).created_at < site_end(site)
    assert _hand_in(alice, digest=known).json()["error"] == "phase_not_open"


def site_end(site: Site) -> datetime:
    """When the phase ends."""
    with site.services.database.reading() as session:
        end = session.get_one(Phase, site.phase_id).ends_at
        assert end is not None
        return end


@pytest.mark.parametrize("wrong", ["another's", "forged", "old", "none"])
def test_a_ticket_that_is_not_ones_own_or_too_old_keeps_nothing(
    site: Site, alice: Person, load: Load, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = alice.submit().json()["digest"]
    if wrong == "old":
        site.set_phase(ends_at=now() + MINUTE)
        with monkeypatch.context() as before:
            before.setattr("anyshot_platform.site.web.tickets.now", lambda: now() - GRACE - SECOND)
            _refused(load, alice, HAND_IN, {"digest": known})
    else:
        who = site.member("bob") if wrong == "another's" else alice
        _refused(load, who, HAND_IN, {"digest": known})
    ticket = site.client.cookies[COOKIE]
    site.client.cookies.clear()
    if wrong != "none":
        moment, _, signature = ticket.partition(".")
        text = f"{int(moment) - 1}.{signature}" if wrong == "forged" else ticket
        site.client.cookies.set(COOKIE, text)
    site.set_phase(ends_at=now())
    assert _hand_in(alice, digest=known).json()["error"] == "phase_not_open"


def test_no_ticket_for_what_hands_nothing_in(site: Site, alice: Person, load: Load) -> None:
    load.too_much = True
    assert alice.call("GET", f"/competitions/{SLUG}").status_code == 503
    assert COOKIE not in site.client.cookies
    assert site.client.post("/api/v1/uploads", json={}).status_code == 503
    assert COOKIE not in site.client.cookies, "nobody is signed in"


def test_a_form_with_its_file_counts_from_its_first_byte(site: Site, alice: Person) -> None:
    with site.services.database.writing() as session:
        secret = begin_session(session, session.get_one(User, alice.id), user_agent="test", days=1).secret
    site.client.cookies.set(SESSION_COOKIE, secret)
    html = {"accept": "text/html"}
    (token,) = re.findall(r'csrf-token" content="(\w+)"', site.client.get("/", headers=html).text)[:1]
    before = now()
    sent = site.client.post(
        FORM,
        data={"csrf_token": token},
        files={"file": ("a.zip", make_zip(salt="form"), "application/zip")},
        headers=html,
        follow_redirects=False,
    )
    assert sent.status_code == 303, sent.text
    with site.services.database.reading() as session:
        (submission,), (upload,) = session.query(Submission), session.query(Upload)
        assert upload.begun_at and upload.completed_at
        assert before < submission.created_at == upload.begun_at < upload.completed_at


def test_a_launch_asks_while_uploads_that_began_in_time_are_under_way(site: Site, alice: Person) -> None:
    _uploaded(site, alice, now() - 2 * MINUTE, now())
    _uploaded(site, site.person("stranger"), now() - 2 * MINUTE, now())
    for ended_ago, words in ((MINUTE, 1), (2 * GRACE + MINUTE, 0)):
        site.set_phase(ends_at=now() - ended_ago)
        with site.services.database.reading() as session:
            said = why_too_early(session, session.get_one(Phase, site.phase_id))
        assert len([one for one in said if "1 upload that began before the end" in one]) == words
