"""A zip is uploaded once: a smoke test ends with an answer and a button that submits that very zip."""

import re
from datetime import timedelta
from typing import Any

from httpx2 import Response
from sqlalchemy import func, select

from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.platform.entries.test_entries import add_league, scored
from tests.platform.site import SLUG, Person, Site, make_zip

_HTML = {"accept": "text/html"}
SAME_SEEDS = (
    "Every entry of a phase gets the same seeds and the same hidden tasks, so the same zip gets them again."
)
_PATH = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"


def _smoked(site: Site, person: Person, seconds: float = 4.0) -> dict[str, Any]:
    """A smoke test that is through: 2 public tasks in `seconds`."""
    site.offer_smoke_tests()
    site.set_phase(smoke_tasks=2)
    made = person.submit(smoke=True, comment="wider").json()
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    usage = {"participant_seconds": 10.0, "meta_test_seconds": seconds, "memory_peak_bytes": 3 << 30}
    assert worker.complete(job, 0.4, usage=usage).status_code == 204
    return person.call("GET", f"/api/v1/submissions/{made['id']}").json()


def _page(site: Site, person: Person, path: str, status: int = 200) -> str:
    answer = site.client.get(path, headers={**person.headers, **_HTML})
    assert answer.status_code == status, answer.text[:500]
    return answer.text


def _send(site: Site, person: Person, action: str, files: Any = None, **fields: str) -> Response:
    """Send a form in a browser that the person is signed in with."""
    with site.services.database.writing() as session:
        secret = begin_session(session, session.get_one(User, person.id), user_agent="test", days=1).secret
    site.client.cookies.set(SESSION_COOKIE, secret)
    token = re.findall(r'csrf-token" content="(\w+)"', site.client.get("/", headers=_HTML).text)[0]
    sent = {"csrf_token": token, **fields}
    answer = site.client.post(action, data=sent, files=files, headers=_HTML, follow_redirects=False)
    site.client.cookies.clear()
    return answer


def test_a_smoke_test_ends_with_score_time_and_what_the_phase_would_take(site: Site) -> None:
    alice = site.member("alice")
    site.set_version(run_seconds=60.0)
    shown = _smoked(site, alice)
    assert shown["smoke"]["score"] == 0.4 and shown["smoke"]["tasks"] == 2 and shown["smoke"]["fits"] is True
    assert (
        "(2.0 s a task) the 10 tasks of the phase take 20 s of the budget of 1 min"
        in shown["smoke"]["projection"]
    )
    page = _page(site, alice, f"/submissions/{shown['id']}")
    assert "Your code works" in page and "0.400" in page and "3.0 GiB" in page
    assert "leaves 40 s for meta-training" in page and "Submit this zip for scoring" in page
    listed = _page(site, alice, f"/competitions/{SLUG}/submissions").split("<tbody>")[1]
    assert (
        " ".join(re.sub(r"<[^>]+>", " ", listed).split()).count("0.400 ± ") == 1
        and "on public tasks" in listed
    )


def test_a_smoke_test_that_is_too_slow_for_the_phase_says_so(site: Site) -> None:
    site.set_version(run_seconds=60.0)
    shown = _smoked(site, site.member("alice"), seconds=14.0)
    assert shown["smoke"]["fits"] is False and "more than the budget" in shown["smoke"]["projection"]


def test_the_button_of_a_smoke_test_submits_that_very_zip_without_an_upload(site: Site) -> None:
    alice = site.member("alice")
    shown = _smoked(site, alice)
    page = _page(site, alice, f"/submissions/{shown['id']}")
    form = page[page.index('<form method="post" action="/competitions/small/phases/feedback/submit"') :]
    sent = dict(re.findall(r'name="(again|comment)" value="([^"]*)"', form[: form.index("</form>")]))
    assert sent == {"again": shown["digest"], "comment": "wider"}
    with site.services.database.reading() as session:
        before = session.scalar(select(func.count()).select_from(Upload))
    answer = _send(site, alice, f"/competitions/{SLUG}/phases/feedback/submit", **sent, kind="entry")
    assert answer.status_code == 303, answer.text[:500]
    entry = alice.call("GET", "/api/v1" + answer.headers["location"]).json()
    assert (entry["kind"], entry["digest"], entry["comment"]) == ("entry", shown["digest"], "wider")
    job = site.worker().claim()
    assert job is not None and site.client.get(job["submission"]["url"]).content == make_zip(salt="alice")
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Upload)) == before


def test_a_league_that_opens_later_does_not_stop_the_button_of_a_smoke_test(site: Site) -> None:
    add_league(site, "later", opens_at=now() + timedelta(days=1))
    alice = site.member("alice")
    shown = _smoked(site, alice)
    address = f"/competitions/{SLUG}/phases/feedback/submit"
    answer = _send(site, alice, address, again=shown["digest"], kind="entry")
    assert answer.status_code == 303, answer.text[:500]
    entry = alice.call("GET", "/api/v1" + answer.headers["location"]).json()
    assert (entry["kind"], entry["leagues"]) == ("entry", ["free"])


def test_a_smoke_test_tells_only_of_entries_that_its_button_replaces(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    scored(worker, alice, 0.5, leagues=["free", "scratch"])
    page = _page(site, alice, f"/submissions/{_smoked(site, alice)['id']}")
    assert "Free style: No. 1 counts here now" in page
    assert "From scratch: No. 1" not in page


def test_a_zip_is_taken_again_by_its_digest_for_its_own_team_alone(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    digest = alice.submit().json()["digest"]
    again = alice.call("POST", _PATH, json={"digest": digest, "comment": "once more"})
    assert again.status_code == 201 and again.json()["number"] == 2 and again.json()["digest"] == digest
    stolen = bob.call("POST", _PATH, json={"digest": digest})
    assert (stolen.status_code, stolen.json()["error"]) == (404, "unknown_zip")
    assert alice.call("POST", _PATH, json={"digest": "0" * 64}).status_code == 404
    for body in ({}, {"digest": digest, "upload_id": "x"}):
        assert alice.call("POST", _PATH, json=body).status_code == 422
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 2


def test_a_zip_that_is_taken_again_costs_quota_and_meets_every_rule(site: Site) -> None:
    alice = site.member("alice")
    site.set_phase(quota_day=1)
    digest = alice.submit().json()["digest"]
    refused = alice.call("POST", _PATH, json={"digest": digest})
    assert (refused.status_code, refused.json()["error"]) == (429, "quota_used_up")


def test_a_submission_lists_all_runs_of_its_zip(site: Site) -> None:
    alice = site.member("alice")
    shown = _smoked(site, alice)
    second = alice.call("POST", _PATH, json={"digest": shown["digest"]}).json()
    page = _page(site, alice, f"/submissions/{shown['id']}")
    assert "2 submissions of this zip" in page and f'href="/submissions/{second["id"]}"' in page


def test_the_form_shows_the_zip_that_is_here_already(site: Site) -> None:
    alice = site.member("alice")
    shown = _smoked(site, alice)
    form = f"/competitions/{SLUG}/phases/feedback/submit?again="
    page = _page(site, alice, form + shown["digest"])
    assert "nothing is uploaded" in page and f'name="again" value="{shown["digest"]}"' in page
    assert 'type="file"' not in page and "upload.js" not in page
    assert SAME_SEEDS in " ".join(page.split())
    unknown = _page(site, alice, form + "0" * 64)
    assert 'type="file"' in unknown and 'name="again"' not in unknown


def test_who_submits_a_zip_again_reads_that_seeds_and_tasks_stay_the_same(site: Site) -> None:
    alice = site.member("alice")
    made = alice.submit().json()
    worker = site.worker()
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.4).status_code == 204
    page = " ".join(_page(site, alice, f"/submissions/{made['id']}").split())
    assert "Submit this zip again" in page and SAME_SEEDS in page
    again = alice.call("POST", _PATH, json={"digest": made["digest"]}).json()
    repeated = worker.claim()
    assert repeated is not None and repeated["submission"]["digest"] == job["submission"]["digest"]
    assert again["number"] == 2 and _drawn_from(repeated) == _drawn_from(job)


def _drawn_from(job: dict[str, Any]) -> dict[str, Any]:
    return {name: job[name] for name in ("train_seed", "test_seed", "query_key", "fingerprint")}


def test_only_the_team_is_offered_to_submit_again(site: Site) -> None:
    alice = site.member("alice")
    shown = _smoked(site, alice)
    page = _page(site, site.owner(), f"/submissions/{shown['id']}")
    assert "Your code works" in page and "Submit this zip" not in page
    assert shown["kind"] == SubmissionKind.SMOKE
