"""The pages of organizers and administrators are readable on a phone, and in the dark.

`ANYSHOT_SHOTS=FOLDER` leaves a picture of each, on a phone and on a desk, to be looked at.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from selenium import webdriver
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.execution.releases import words_for_too_old
from anyshot_platform.judging.execution.scheduling import TOO_OLD
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.workers.models import Worker, WorkerToken
from anyshot_platform.people.alerts.service import open_alert
from anyshot_platform.people.users.models import User
from anyshot_platform.running.operations.watch import watch_conditions
from tests.contract.recording import worker_info
from tests.platform.web.conftest import LiveSite, Visitor
from tests.platform.web.test_axe import violations
from tests.platform.web.test_axe_organizers import add_reports, desk_paths
from tests.platform.web.test_ugly_states import LOOK, SHOTS, VIEWS, _open, _shoot, add_ugly, faults


def add_trouble(session: Session, live: LiveSite | Visitor) -> None:
    """Each alert that the platform watches for, work that was given up, and a worker of an older release."""
    old = worker_info(name="old-one", hardware_class="gpu", version=1)
    token = WorkerToken(name="gpu", digest="0" * 64)
    session.add(token)
    session.flush()
    worker = Worker(name=old.name, hardware_class="gpu", info=old, last_seen_at=now(), token_id=token.id)
    session.add(worker)
    session.flush()
    run_id = session.scalars(select(Run.id).where(Run.state == RunState.FAILED)).first()
    for number in range(60, 66):
        words = "The worker that had this run stopped answering."
        outcome = {"outcome": Verdict.WORKER_LOST.value, "ended_at": now(), "message": words}
        who = {"worker_id": worker.id, "worker_name": worker.name, "number": number}
        session.add(Attempt(run_id=run_id, epoch=number, **who, **outcome))
    for run in session.scalars(select(Run).where(Run.state == RunState.QUEUED)):
        run.queued_at = now() - timedelta(days=1)
    session.add(Trouble(duty="results", subject="0" * 32, attempts=9, error="b", set_aside_at=now()))
    session.flush()
    assert watch_conditions(session, live.services.settings) >= 3
    open_alert(session, TOO_OLD, worker.id, words_for_too_old(old))


@pytest.mark.slow("every page for organizers, in a browser")
def test_desks_are_readable(live: LiveSite, browser: webdriver.Chrome, tmp_path: Path) -> None:
    add_ugly(live)
    reports = add_reports(live, tmp_path)
    with live.services.database.writing() as session:
        for competition in session.scalars(select(Competition)):
            competition.summary = ""
        organizer = session.get_one(User, live.scene.organizer.id)
        organizer.is_site_admin = True
        add_trouble(session, live)
        paths = [*desk_paths(session, live, reports), "/admin/budgets"]
    live.sign_in(browser, live.scene.organizer)
    odd: dict[str, list[str]] = {}
    for path in paths:
        _open(browser, live.address + path, "phone", bare=False)
        found = faults(browser.execute_script(LOOK), wide=VIEWS["phone"][0]) + violations(browser)
        odd |= {path: found} if found else {}
        if SHOTS:
            _shoot(
                browser, live.address + path, path.strip("/").replace("/", "-").replace("?", "-"), bare=False
            )
    assert not odd, "\n".join(f"{name}: {one}" for name, found in odd.items() for one in found)
