"""The end of a phase for its organizers: what is under way, outages, and making up for one."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from anyshot_core.words import deadline_words, moment_words
from anyshot_platform.contest.phases.actions.key_acts import why_key_stays_secret
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.priorities import ORGANIZERS_MOST
from anyshot_platform.contest.pools.actions.uses import is_over
from anyshot_platform.foundation.background.models import LoopRound
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import list_open
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.announcements.phases import tell_of_phase
from anyshot_platform.running.operations.watch import watch_downtime
from anyshot_platform.standings.results.actions.final_acts import why_too_early
from tests.platform.admin.test_manage import BASE, page, post
from tests.platform.conftest import Databases
from tests.platform.site import SLUG, Person, Site, in_one_line, make_zip

MINUTE = timedelta(minutes=1)
DEADLINE = f"/api/v1/competitions/{SLUG}/manage/phases/feedback/deadline"
RELIEVE = f"/api/v1/competitions/{SLUG}/manage/phases/feedback/acts/relieve"
PAGE = f"{BASE}/phases/feedback/deadline"


def _deadline(person: Person) -> dict[str, Any]:
    answer = person.call("GET", DEADLINE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _relieve(person: Person, **options: Any) -> dict[str, Any]:
    answer = person.call("POST", RELIEVE, json={"confirm": "feedback", **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _alert(site: Site, kind: str, subject: str, since: datetime, until: datetime | None) -> None:
    with site.services.database.writing() as session:
        session.add(Alert(kind=kind, subject=subject, message=f"{kind}!", since=since, until=until))


def _messages(site: Site, person: Person) -> list[str]:
    with site.services.database.reading() as session:
        query = select(Notification.title).where(Notification.user_id == person.id)
        return list(session.scalars(query.order_by(Notification.created_at)))


def _logged(site: Site) -> AuditEntry:
    with site.services.database.reading() as session:
        return session.scalars(select(AuditEntry).where(AuditEntry.action == "phase.relieve")).one()


@pytest.fixture
def teams(site: Site) -> list[Person]:
    return [site.member(name) for name in ("ann", "ben", "cat")]


def test_the_page_shows_what_is_under_way_and_the_queue_against_the_end(
    site: Site, teams: list[Person]
) -> None:
    ann, ben, cat = teams
    worker = site.worker()
    ann.submit()
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.5).status_code == 204
    with site.services.database.writing() as session:
        run = session.scalars(select(Run)).one()
        run.finished_at, run.claimed_at = now(), now() - 10 * MINUTE
    ben.submit()
    assert worker.claim() is not None
    cat.submit()
    content = make_zip(salt="slow line")
    begun = ann.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": len(content)}).json()
    half = content[: len(content) // 2]
    ann.call("PUT", f"/api/v1/uploads/{begun['id']}", params={"offset": 0}, content=half)
    stranger = site.person("stranger")
    stranger.upload(make_zip(salt="elsewhere"))
    owner = site.owner()
    found = _deadline(owner)
    (uploading,) = found["uploading"]
    assert (uploading["team"], uploading["received"], uploading["size"]) == ("ann", len(half), len(content))
    assert [(row["team"], row["state"]) for row in found["running"]] == [("ben", "claimed")]
    assert [(row["team"], row["state"]) for row in found["waiting"]] == [("cat", "queued")]
    done = datetime.fromisoformat(found["done_latest"])
    assert abs(done - now() - 20 * MINUTE) < MINUTE, "the one that waits begins when the other has ended"
    with site.services.database.reading() as session:
        end = session.get_one(Phase, site.phase_id).ends_at
    assert end is not None
    assert found["queue_words"].endswith(f", before the end of the phase ({moment_words(end)}).")
    shown = in_one_line(page(owner, PAGE).text)
    assert found["queue_words"] in shown and ">50\u202f%" in shown.replace("\u00a0", "\u202f").replace(
        " %", "\u202f%"
    )
    site.set_phase(ends_at=now() + MINUTE)
    assert ", after the end of the phase (" in _deadline(owner)["queue_words"]
    assert page(ann, PAGE).status_code == 403


def test_two_processes_that_start_together_both_note_that_the_site_is_up(
    databases: Databases, tmp_path: Path
) -> None:
    database = databases.services(tmp_path).database

    def watch() -> None:
        with database.writing() as session:
            watch_downtime(session)

    with ThreadPoolExecutor(1) as other:
        with database.writing() as session:
            watch_downtime(session)
            waiting = other.submit(watch)
            time.sleep(0.3)
        waiting.result(60)
    with database.reading() as session:
        assert session.scalars(select(LoopRound.process)).all() == ["site"]


def test_the_downtime_of_the_site_is_proposed_as_more_time(site: Site) -> None:
    def watch() -> None:
        with site.services.database.writing() as session:
            watch_downtime(session)

    end = now() + 30 * MINUTE
    site.set_phase(ends_at=end)
    watch()
    with site.services.database.writing() as session:
        session.execute(update(LoopRound).values(last_at=now() - 25 * MINUTE))
    watch()
    watch()
    found = _deadline(site.owner())
    (outage,) = found["outages"]
    assert re.fullmatch("The site was down from .* to .*[.]", outage["message"])
    assert found["minutes_lost"] in (25, 26)
    assert datetime.fromisoformat(found["proposed_end"]) - end >= 25 * MINUTE
    with site.services.database.reading() as session:
        assert not list_open(session)


def test_more_time_for_the_teams_that_an_outage_hit(site: Site, teams: list[Person]) -> None:
    ann, ben, cat = teams
    ann.submit()
    ben.submit()
    end = (now() - 5 * MINUTE).replace(microsecond=0)
    with site.services.database.writing() as session:
        for run in session.scalars(select(Run)):
            run.created_at = end - 90 * MINUTE
    # The first two overlap, another class has no part in it, and what was over a day before neither.
    _alert(site, "no_workers", "cpu", end - 60 * MINUTE, end - 30 * MINUTE)
    _alert(site, "loop_late", "sweeper", end - 40 * MINUTE, end - 20 * MINUTE)
    _alert(site, "no_workers", "gpu", end - 600 * MINUTE, end)
    _alert(site, "no_workers", "cpu", end - timedelta(days=3), end - timedelta(days=2))
    site.set_phase(ends_at=end, starts_at=end - timedelta(days=5))
    owner = site.owner()
    found = _deadline(owner)
    assert (found["minutes_lost"], found["hit"], found["others"]) == (40, ["ann", "ben"], [])
    proposed = datetime.fromisoformat(found["proposed_end"])
    assert timedelta(0) <= now() + 40 * MINUTE - proposed < 2 * MINUTE, "the end is past: it counts from now"
    assert all(person.submit().json()["error"] == "phase_not_open" for person in teams)
    until = (now() + 40 * MINUTE).replace(second=0, microsecond=0)
    asked = owner.call("POST", RELIEVE, json={"way": "teams", "end": until.isoformat()})
    assert (asked.status_code, asked.json()["error"]) == (409, "confirm")
    told = f"ann and ben can submit until {moment_words(until)}, all others as before."
    preview = asked.json()["preview"]
    assert (preview["does"], preview["told"]) == ([told], 2)
    form = {"way": "teams", "end": until.strftime("%Y-%m-%dT%H:%M"), "zone": "UTC"}
    on_page = post(owner, f"{BASE}/phases/feedback/relieve", **form)
    assert told in in_one_line(on_page.text)
    done = post(
        owner, f"{BASE}/phases/feedback/relieve", **form, confirm="feedback", reason="The power was out"
    )
    assert done.headers["location"].endswith("/deadline")
    for person in (ann, ben):
        taken = person.submit(make_zip(salt=f"late {person.username}"))
        assert taken.status_code == 201, taken.text
        assert "/phases/feedback/submit" in page(person, f"/competitions/{SLUG}").text
        assert person.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/outlook").json()[
            "ends_at"
        ] == until.isoformat().replace("+00:00", "Z")
    assert "/phases/feedback/submit" not in page(cat, f"/competitions/{SLUG}").text
    refused = cat.submit(make_zip(salt="late cat"))
    assert (refused.status_code, refused.json()["error"]) == (409, "phase_not_open")
    words = f"A small competition: your team can submit to Feedback until {moment_words(until)}"
    assert _messages(site, ann) == _messages(site, ben) == [words] and _messages(site, cat) == []
    entry = _logged(site)
    assert (entry.before, entry.after, entry.reason) == (
        {"extensions": {"ann": None, "ben": None}},
        {"extensions": {name: until.isoformat() for name in ("ann", "ben")}},
        "The power was out",
    )
    assert [row["team"] for row in _deadline(owner)["extensions"]] == ["ann", "ben"]


def test_what_a_team_sent_late_counts_once_it_has_more_time(site: Site, teams: list[Person]) -> None:
    site.set_phase(ends_at=now() - MINUTE, late_until=now() + 60 * MINUTE)
    sent = [person.submit().json() for person in teams[:2]]
    assert [one["kind"] for one in sent] == ["late", "late"]
    more = {"way": "teams", "end": (now() + MINUTE).isoformat(), "teams": ["ann"]}
    preview = site.owner().call("POST", RELIEVE, json=more).json()["preview"]
    assert preview["does"][1:] == ["Late submissions that came before that count as in time: 1."]
    _relieve(site.owner(), **more)
    assert [site.submission(one["id"]).kind for one in sent] == ["entry", "late"]


def test_what_waits_for_the_end_waits_for_the_last_team(site: Site, teams: list[Person]) -> None:
    end = now() - 5 * MINUTE
    site.set_phase(ends_at=end)
    _relieve(site.owner(), way="teams", end=(now() + MINUTE).isoformat(), teams=["ann"])
    why = "Some teams have more time in this phase: its key can be published when that has passed."
    early = "Some teams have more time in “Feedback”: what they upload after the launch does not enter."
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        assert (why_key_stays_secret(session, phase), why_too_early(session, phase)) == ([why], [early])
        assert not is_over(phase)
        phase.extensions[0].until = now() - MINUTE
        assert why not in why_key_stays_secret(session, phase) and why_too_early(session, phase) == []
        assert is_over(phase)
        session.rollback()


def test_an_upload_that_begins_in_a_teams_own_time_counts_within_the_grace(
    site: Site, teams: list[Person]
) -> None:
    ann, ben, _ = teams
    site.set_phase(ends_at=now() - 60 * MINUTE)
    _relieve(site.owner(), way="teams", end=(now() + MINUTE).isoformat(), teams=["ann"])
    uploads = [person.upload(make_zip(salt=person.username)) for person in (ann, ben)]
    with site.services.database.writing() as session:
        session.get_one(Phase, site.phase_id).extensions[0].until = now()
    path = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"
    answers = [
        person.call("POST", path, json={"upload_id": upload}).status_code
        for person, upload in zip((ann, ben), uploads, strict=True)
    ]
    assert answers == [201, 409]


def test_the_end_moves_for_everybody_and_is_announced_once(site: Site, teams: list[Person]) -> None:
    site.set_phase(ends_at=now() - MINUTE)
    until = (now() + 30 * MINUTE).replace(second=0, microsecond=0)
    _relieve(site.owner(), way="everybody", end=until.isoformat(), reason="The *power* was out")
    assert all(person.submit().status_code == 201 for person in teams)
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        assert phase.ends_at == until
        announced = session.scalars(select(Announcement)).one()
        assert announced.title == f"Feedback ends {deadline_words(until, 'UTC')}"
        tell_of_phase(session, phase.id)
    for person in teams:
        told = [title for title in _messages(site, person) if "is open" not in title]
        assert told == [f"A small competition: Feedback ends {moment_words(until)}"]
    assert _logged(site).after == {"end": until.isoformat()}


def test_what_was_handed_in_before_the_end_goes_first(site: Site, teams: list[Person]) -> None:
    ann, ben, cat = teams
    first = ann.submit().json()["id"]
    site.set_phase(ends_at=now())
    _relieve(site.owner(), way="teams", end=(now() + 5 * MINUTE).isoformat(), teams=["ben"])
    late = ben.submit().json()["id"]
    with site.services.database.writing() as session:
        early = session.scalars(select(Run).where(Run.submission_id == first)).one()
        early.queued_at = now() + MINUTE  # the other one would be taken first
    found = _relieve(site.owner(), way="queue")
    assert found["warnings"] == []
    with site.services.database.reading() as session:
        priorities = {run.submission_id: run.priority for run in session.scalars(select(Run))}
    assert (priorities[first], priorities[late]) == (ORGANIZERS_MOST, 20)
    job = site.worker().claim()
    assert job is not None and job["run_id"] == _run_of(site, first)
    assert _messages(site, ann) == [
        "A small competition: what your team handed in to Feedback goes first now"
    ]
    assert not any("goes first" in title for person in (ben, cat) for title in _messages(site, person))


def _run_of(site: Site, submission_id: str) -> str:
    with site.services.database.reading() as session:
        return session.scalars(select(Run.id).where(Run.submission_id == submission_id)).one()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"way": "teams", "teams": ["ann"]}, "Say until when."),
        ({"way": "teams", "end": "2090-01-01T00:00:00Z", "teams": ["zoe"]}, "There is no team zoe"),
        (
            {"way": "teams", "end": "2090-01-01T00:00:00Z"},
            "No team is known that an outage hit: name the teams.",
        ),
        ({"way": "teams", "end": "2001-01-01T00:00:00Z", "teams": ["ann"]}, "The new end is not after now"),
    ],
)
def test_what_cannot_be_made_up_for_is_refused(
    site: Site, teams: list[Person], options: dict[str, Any], words: str
) -> None:
    refused = site.owner().call("POST", RELIEVE, json={"confirm": "feedback", **options})
    assert (refused.status_code, refused.json()["error"]) == (409, "act_refused")
    assert words in refused.json()["message"]


def test_the_phases_page_leads_to_its_deadline(site: Site) -> None:
    owner = site.owner()
    (link,) = re.findall(r'href="([^"]+/deadline)"', page(owner, f"{BASE}/phases/feedback").text)
    assert page(owner, link).status_code == 200
    assert "relieve" not in page(site.member("rita"), link).text
