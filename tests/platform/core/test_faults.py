"""A failure that is not the participant's is told in one fixed sentence; its details go to organizers and operators."""

import json

import pytest
from sqlalchemy import select

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.visibility.faults import NOT_YOURS, TRIED_AGAIN
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.notifications.models import Email, Notification
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.platform.site import Person, Site

SECRET = "OCR_GRK_" + "ab" * 32 + " in /srv/packs"


def _page(site: Site, person: Person, path: str) -> str:
    with site.services.database.writing() as session:
        user = session.get_one(User, person.id)
        secret = begin_session(session, user, user_agent="test", days=1).secret
    site.client.cookies.set(SESSION_COOKIE, secret)
    answer = site.client.get(path, headers={"accept": "text/html"})
    site.client.cookies.clear()
    assert answer.status_code == 200
    return answer.text


def _exits(site: Site, person: Person, submission_id: str, *, ended: bool = True) -> dict[str, str]:
    """Whatever tells the person of the failure; streams go on until the run has ended."""
    api = f"/api/v1/submissions/{submission_id}"
    page = f"/submissions/{submission_id}"
    streams = [f"{api}/stream", f"{page}/stream"] if ended else []
    told = {path: person.call("GET", path).text for path in (api, f"{api}/log", *streams[:1])}
    told |= {path: _page(site, person, path) for path in (page, f"{page}/log.txt", *streams[1:])}
    told["notifications"] = _page(site, person, "/notifications")
    with site.services.database.reading() as session:
        for mail in session.scalars(select(Email).where(Email.to == f"{person.username}@example.org")):
            told[f"mail {mail.id}"] = mail.body
        rows = session.scalars(select(Notification).where(Notification.user_id == person.id))
        told["notification"] = json.dumps([[row.title, row.body] for row in rows])
    return told


@pytest.mark.parametrize("verdict", ["BAD_SETTINGS", "BAD_POOL", "TASK_SERVER_BUG"])
def test_a_failure_that_is_not_theirs_tells_participants_nothing_hidden(site: Site, verdict: str) -> None:
    ada, olga = site.member("ada"), site.owner()
    submission_id = ada.submit().json()["id"]
    worker = site.worker()
    while (job := worker.claim()) is not None:
        assert worker.fail(job, verdict, f"cannot be used: {SECRET}", detail=SECRET).status_code == 204
        told = _exits(site, ada, submission_id, ended=False)
        assert not [name for name, text in told.items() if "OCR_GRK" in text or "/srv/packs" in text]
    api = f"/api/v1/submissions/{submission_id}"
    told = _exits(site, ada, submission_id)
    assert not [name for name, text in told.items() if "OCR_GRK" in text or "/srv/packs" in text]
    assert NOT_YOURS in told[api] and NOT_YOURS in told[f"{api}/stream"]
    assert NOT_YOURS in told[f"/submissions/{submission_id}"]
    assert NOT_YOURS in told["notification"]
    seen = _exits(site, olga, submission_id)
    assert SECRET in seen[api] and SECRET in seen[f"/submissions/{submission_id}"]
    reviewer = site.member("rita", Role.REVIEWER)
    assert SECRET in reviewer.call("GET", api).text


def test_a_run_that_is_tried_again_says_so_and_not_why(site: Site) -> None:
    ada = site.member("ada")
    submission_id = ada.submit().json()["id"]
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.fail(job, "DOCKER_ERROR", SECRET)
    (run,) = ada.call("GET", f"/api/v1/submissions/{submission_id}").json()["runs"]
    assert run["state"] == "queued" and run["message"] == TRIED_AGAIN
    (run,) = site.owner().call("GET", f"/api/v1/submissions/{submission_id}").json()["runs"]
    assert SECRET in run["message"]


def test_a_failure_that_crosses_a_cancellation_tells_nothing_hidden(site: Site) -> None:
    ada = site.member("ada")
    submission_id = ada.submit().json()["id"]
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    with site.services.database.writing() as session:
        session.get_one(Run, job["run_id"]).cancel_requested_at = now()
    worker.fail(job, "BAD_SETTINGS", SECRET)
    (run,) = ada.call("GET", f"/api/v1/submissions/{submission_id}").json()["runs"]
    assert run["state"] == "cancelled" and run["message"] == "Cancelled."


def test_a_participants_own_failure_is_told_in_full(site: Site) -> None:
    ada = site.member("ada")
    submission_id = ada.submit().json()["id"]
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.fail(job, "RUNTIME_ERROR", "ValueError in fit: too few", detail="model.py, line 14")
    (run,) = ada.call("GET", f"/api/v1/submissions/{submission_id}").json()["runs"]
    assert run["message"] == "ValueError in fit: too few" and run["detail"] == "model.py, line 14"
