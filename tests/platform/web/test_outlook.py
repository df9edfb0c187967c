"""What an open phase still holds for a team, on the competition's page and over JSON."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_core.words import moment_words
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from tests.platform.admin.test_manage import page
from tests.platform.site import SLUG, PaperWorker, Person, Site, in_one_line, make_zip

PATH = f"/api/v1/competitions/{SLUG}/phases/feedback/outlook"


def _outlook(person: Person) -> dict[str, Any]:
    answer = person.call("GET", PATH)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _took(site: Site, submission_id: str, minutes: float) -> None:
    """Let the run of a submission have taken so long, up to now."""
    with site.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == submission_id)).one()
        run.finished_at, run.claimed_at = now(), now() - timedelta(minutes=minutes)


def scored(worker: PaperWorker, person: Person, site: Site, minutes: float, mean: float = 0.5) -> str:
    made = person.submit(make_zip(salt=f"{minutes} min"))
    assert made.status_code == 201, made.text
    job = worker.claim()
    assert job is not None and worker.complete(job, mean).status_code == 204
    _took(site, made.json()["id"], minutes)
    return made.json()["id"]


def test_the_outlook_tells_what_counts_runs_and_is_left(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    end = datetime.combine(now().date() + timedelta(days=3), datetime.min.time(), UTC)
    site.set_phase(ends_at=end, quota_day=3, quota_phase=100)
    first = _outlook(alice)
    assert (first["left"], first["last_moment"], first["entries"]) == (9, None, [])
    assert first["without_entry"] == ["Free style", "From scratch"]
    worker = site.worker()
    scored(worker, bob, site, 2)
    scored(worker, bob, site, 10)
    mine = scored(worker, alice, site, 5, 0.75)
    waiting = alice.submit(make_zip(salt="waiting")).json()
    before = now()
    found = _outlook(alice)
    assert (found["left"], found["quota"]["concurrent"]["left"]) == (7, 2)
    assert found["left_words"] == (
        "7 submissions left until the end: 1 today (UTC), 98 in this phase, 2 more at a time."
    )
    assert [(row["league_name"], row["number"], row["score"]) for row in found["entries"]] == [
        ("Free style", 1, 0.75)
    ]
    (under_way,) = found["under_way"]
    assert (under_way["submission"], under_way["state"]) == (waiting["id"], "queued")
    earliest, latest = (datetime.fromisoformat(under_way[name]) for name in ("earliest", "latest"))
    assert (latest - earliest).total_seconds() == pytest.approx(8 * 60, abs=2)
    assert earliest >= before + timedelta(minutes=2)
    last = found["last_moment"]
    assert last["submission"] == mine and last["seconds"] == pytest.approx(300, abs=1)
    moment = datetime.fromisoformat(last["moment"])
    wait = timedelta(
        minutes=(2 + 10 + 5) / 3
    )  # one run is ahead, which takes what the last ones took on average
    assert abs(end - wait - timedelta(minutes=5) - moment) < timedelta(seconds=2)
    shown = in_one_line(page(alice, f"/competitions/{SLUG}").text)
    for words in (found["left_words"], last["words"], found["rule"], "#2 submission.zip"):
        assert words in shown
    assert f"if you submit by {moment_words(moment)}." in last["words"]
    assert "My outlook" not in page(site.person("guest"), f"/competitions/{SLUG}").text
    site.set_phase(ends_at=now() + timedelta(minutes=3))
    late = _outlook(alice)["last_moment"]["words"]
    assert (
        late == "A run like that of #1 (5 min) would end after the phase: its score comes too late to react."
    )


def test_the_quota_of_the_phase_and_its_end_bound_what_is_left(site: Site) -> None:
    alice = site.member("alice")
    for changes, left, words in (
        (
            {"quota_phase": 4},
            4,
            "4 submissions left until the end: 3 today (UTC), 4 in this phase, 3 more at a time.",
        ),
        ({"quota_phase": None, "ends_at": now() + timedelta(seconds=1)}, 3, None),
        (
            {"quota_phase": None, "ends_at": None, "quota_concurrent": None, "quota_day": None},
            None,
            "Any number of submissions left.",
        ),
    ):
        site.set_phase(**changes)
        found = _outlook(alice)
        assert found["left"] == left
        assert words is None or found["left_words"] == words


def test_hidden_scores_are_not_in_the_outlook(site: Site) -> None:
    alice = site.member("alice")
    scored(site.worker(), alice, site, 5)
    site.set_phase(scores_visible=False)
    found = _outlook(alice)
    assert found["last_moment"] is None and found["entries"][0]["score"] is None
