"""Schemathesis over the OpenAPI description, as every role: whatever fits the schema, and much that does not.

Three requests in four name objects that exist. Each test takes a part of the operations: CI runs a slice of the parts,
`make fuzz` all of them, with more requests each and other ones each time.
"""

import hashlib
import os
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from anyshot_core.wire.reports import Flips
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.people.accounts.service import create_token
from anyshot_platform.people.users.viewer import Scope
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip

PARTS = 12
EXAMPLES = int(os.environ.get("ANYSHOT_FUZZ", "4"))  # requests to an operation
CHANCE = "ANYSHOT_FUZZ" in os.environ  # other requests each time
API = f"/api/v1/competitions/{SLUG}"
# The stream stays open until its submission ends, which a made-up one does not have; it is tested by hand.
LEFT_OUT = {"/api/v1/submissions/{submission_id}/stream"}
Callers = dict[str, Person | PaperWorker | None]


def make_callers(site: Site) -> Callers:
    """Everybody who may knock."""
    callers: Callers = {
        "nobody": None,
        "participant": site.member("petra"),
        "teamless": site.member("otto"),
        "reviewer": site.member("rita", Role.REVIEWER),
        "organizer": site.member("oscar", Role.ORGANIZER),
        "owner": site.owner(),
        "stranger": site.person("sam"),
        "admin": site.person("admiral", is_site_admin=True),
        "reader": site.person("ruth", scopes=(Scope.READ,)),
        "banned": site.member("bert"),
        "worker": site.worker(),
    }
    with site.services.database.writing() as session:
        banned = session.query(Membership).filter_by(user_id=_person(callers, "banned").id).one()
        banned.status = MemberStatus.BANNED
    return callers


def slice_of(name: str, slices: int) -> int:
    """The slice that a name falls into: stable, whatever else there is."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % slices


def _person(callers: Callers, role: str) -> Person:
    found = callers[role]
    assert isinstance(found, Person)
    return found


def make_objects(site: Site, callers: Callers) -> dict[str, Any]:
    """One of everything that addresses name, by the name of the parameter."""
    petra, owner, worker = _person(callers, "participant"), _person(callers, "owner"), callers["worker"]

    def post(person: Person, path: str, **body: Any) -> dict[str, Any]:
        answer = person.call("POST", path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    upload = petra.upload(b"ten bytes.")
    submission = petra.submit().json()
    assert isinstance(worker, PaperWorker)
    job = worker.claim()
    assert job is not None
    baseline = post(
        owner, f"{API}/manage/baselines", name="Base", upload_id=owner.upload(make_zip(salt="base"))
    )
    with site.services.database.writing() as session:
        member = session.query(Membership).filter_by(user_id=petra.id).one()
        version = session.query(PhaseVersion).filter_by(phase_id=site.phase_id).one()
        spare = create_token(session, petra.id, name="spare", scopes=(Scope.READ,))
        report = Report(
            competition_id=member.competition_id,
            phase_id=site.phase_id,
            phase_version_id=version.id,
            analysis="flips",
            parameters=Flips(replicates=100, seed=1, rule="mean", names={}, feedback={}),
            digest="0" * 64,
            run_id=submission["runs"][0]["id"],
        )
        session.add(report)
        session.flush()
        ids = {"membership_id": member.id, "team_id": member.team_id, "report_id": report.id}
        ids["token_id"] = spare.token.id
    return {
        **ids,
        "slug": SLUG,
        "phase_slug": "feedback",
        "league_slug": "free",
        "pool_slug": "small-pool",
        "number": 1,
        "submission_id": submission["id"],
        "run_id": job["run_id"],
        "upload_id": upload,
        "baseline_slug": baseline["key"],
        "name": "log.txt",
        "webhook_id": post(owner, f"{API}/manage/webhooks", url="https://example.org/x")["id"],
        "announcement_id": post(owner, f"{API}/manage/announcements/acts/add", title="t", body="b")["id"],
        "page_id": post(owner, f"{API}/manage/pages", title="Rules", body="b")["id"],
    }


def send(site: Site, case: schemathesis.Case[Any], caller: Person | PaperWorker | None) -> Any:
    """Send a case to the site."""
    headers = {"authorization": f"Bearer {caller.token}"} if caller else {}
    request = case.as_transport_kwargs(base_url="http://testserver", headers=headers)
    known = {key: value for key, value in request.items() if key in ("params", "headers", "json", "data")}
    return site.client.request(request["method"], request["url"], follow_redirects=False, **known)


def fault_of(answer: Any, declared: dict[str, Any]) -> str:
    """What is wrong with an answer; empty where nothing is."""
    status = answer.status_code
    if status >= 500 and status != 503:
        return "our fault"
    if str(status) not in declared and f"{status // 100}XX" not in declared:
        return "not in the description"
    if status >= 400 and not {"error", "message"} <= set(answer.json()):
        return "without words"
    return ""


def knock(site: Site, operation: Any, callers: Callers, real: dict[str, Any]) -> list[str]:
    """Send requests to an operation; what was wrong with the answers."""
    declared, faults = operation.definition.raw["responses"], []

    @given(case=operation.as_strategy(), caller=st.sampled_from(sorted(callers)), use_real=st.integers(0, 3))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not CHANCE,
        phases=[Phase.generate],
        suppress_health_check=cast("list[HealthCheck]", list(HealthCheck)),
        database=None,
    )
    def once(case: schemathesis.Case[Any], caller: str, use_real: int) -> None:
        if use_real:
            parameters = dict(case.path_parameters or {})
            case.path_parameters = {name: real.get(name, value) for name, value in parameters.items()}
        answer = send(site, case, callers[caller])
        if fault := fault_of(answer, declared):
            where = f"{case.method} {case.path} {case.path_parameters} as {caller}"
            faults.append(f"{fault}: {where}: {answer.status_code} {answer.text[:200]}")

    once()
    return faults


def probe(site: Site, part: int) -> int:
    """Knock at each operation of a part; the number of operations."""
    callers = make_callers(site)
    real = make_objects(site, callers)
    schema = schemathesis.openapi.from_dict(site.app.openapi())
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    mine = [one for one in operations if one.path not in LEFT_OUT and slice_of(one.label, PARTS) == part]
    assert [fault for operation in mine for fault in knock(site, operation, callers, real)] == []
    return len(mine)


@pytest.mark.rotating
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_every_answer_is_in_the_description_and_none_is_our_fault(site: Site, part: int) -> None:
    assert probe(site, part) > 3
