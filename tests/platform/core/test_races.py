"""Acts of several people at the same moment, on PostgreSQL, which lets them run beside one another."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.execution.parts import lock_submission
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.server.sweeper import take_back_lost
from tests.platform.core.races import AT_ONCE
from tests.platform.core.test_access import member_of
from tests.platform.core.test_leases import let_leases_run_out
from tests.platform.entries.test_entries import scored
from tests.platform.entries.test_finals import FINAL, end_feedback, final  # noqa: F401 - a fixture
from tests.platform.site import SLUG, Site
from tests.services.processes import wait_until

API = f"/api/v1/competitions/{SLUG}"


@pytest.fixture
def site(postgres_site: Site) -> Site:
    return postgres_site


def test_a_final_that_is_launched_eight_times_at_once_has_each_entry_once(final: Site) -> None:  # noqa: F811
    worker, owner = final.worker(), final.owner()
    for name in ("ada", "grace"):
        scored(worker, final.member(name), 0.5)
    end_feedback(final)
    body = {"confirm": "final", "override": True}

    def launch(_: int) -> int:
        return owner.call("POST", f"{FINAL}/acts/launch", json=body).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        statuses = Counter(threads.map(launch, range(AT_ONCE)))
    assert statuses[200] >= 1 and set(statuses) <= {200, 409}, statuses
    with final.services.database.reading() as session:
        phase = session.query(Phase).filter_by(slug="final").one()
        entered = [row.team_id for row in session.query(Submission).filter_by(phase_id=phase.id)]
    assert len(entered) == len(set(entered)) == 2


def test_a_ban_wins_against_who_joins_at_the_same_moment(site: Site) -> None:
    owner, people = site.owner(), [site.member(f"person{number}") for number in range(AT_ONCE)]
    members = {person.id: member_of(site, person.id) for person in people}
    with site.services.database.writing() as session:
        for member in session.query(Membership).filter(Membership.id.in_(members.values())):
            member.status = MemberStatus.WITHDRAWN

    for person in people:
        ban = f"{API}/manage/people/{members[person.id]}/acts/ban"
        with ThreadPoolExecutor(2) as threads:
            banned = threads.submit(owner.call, "POST", ban, json={"reason": "x"})
            joined = threads.submit(person.call, "POST", f"{API}/join", json={})
        assert banned.result().status_code == 200, banned.result().text
        assert joined.result().status_code < 500
    with site.services.database.reading() as session:
        found = session.query(Membership).filter(Membership.id.in_(members.values()))
        assert {member.status for member in found} == {MemberStatus.BANNED}


def test_a_sweeper_that_takes_a_run_back_stands_in_nobodys_way(site: Site) -> None:
    """Whoever reports of a run locks its submission first: a sweeper that held the run meanwhile would never end."""
    site.member("ada").submit()
    job = site.worker().claim()
    assert job is not None
    let_leases_run_out(site)
    waiting = text("SELECT 1 FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as threads:
        with site.services.database.writing() as session:
            run = session.get_one(Run, job["run_id"])
            lock_submission(session, run.submission_id or "")
            swept = threads.submit(take_back_lost, site.services)
            wait_until(lambda: session.execute(waiting).first() is not None, "a sweeper that waits")
            session.execute(select(Run).where(Run.id == run.id).with_for_update(nowait=True))
        assert swept.result() == 1
