"""Acts on pools, code, versions, finals and invitations in each state; and that no act is without a row."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect
from sqlalchemy.orm import Session

import anyshot_platform
from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts
from anyshot_platform.actions.service import ActRefused, NeedsConsent, carry_out, preview
from anyshot_platform.contest.competitions.actions import acts as competition_acts
from anyshot_platform.contest.competitions.actions import member_acts
from anyshot_platform.contest.competitions.actions.member_acts import Invitation
from anyshot_platform.contest.competitions.actions.moving import MOVE
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.actions import version_acts as phase_version_acts
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import PhaseKind, RescoreMode, VersionState
from anyshot_platform.contest.pools.actions import acts as pool_acts
from anyshot_platform.contest.pools.actions import version_acts
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.database import Moment, now
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.actions import acts as submission_acts
from anyshot_platform.judging.submissions.actions import code_acts
from anyshot_platform.judging.submissions.actions.bulk import SubmissionAct
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.workers.models import Worker, WorkerRequest, WorkerToken
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.people.webhooks.actions import acts as webhook_acts
from anyshot_platform.people.webhooks.actions.organizing import add_webhook
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.rehearsals.acts import REHEARSE, Rehearsable
from anyshot_platform.standings.baselines.models import Baseline
from anyshot_platform.standings.results.actions import final_acts
from tests.platform.admin import test_any_moment as first
from tests.platform.admin import test_any_moment_more as more
from tests.platform.admin.test_any_moment import HOUR, asking, member, outcome
from tests.platform.admin.test_manage import BASE, finish, post
from tests.platform.site import SLUG, Site, make_paper_pack

ROOT = Path(__file__).parents[3]
# What each act does in each state: d(one), a(lready so), r(efused), n(ame is asked).
POOL_TABLE = {
    # tested on, not used, without packs, public, deleted
    "publish": "r n r a r",
    "publish-when-over": "n n n a r",
    "keep-hidden": "a a a a a",
    "unpublish": "a a a d a",
    "give": "d d d d r",
    "delete": "r d d d a",
    "restore": "a a a a d",
    "version": "d d d d r",
    "remove-dataset": "a a a a a",
    "combine": "r r r r r",
}
WEBHOOK_TABLE = {  # on, off, with a test that waits, removed
    "on": "a d a d",
    "off": "d a d a",
    "test": "d d a d",
    "renew": "d d d d",
    "remove": "d d d a",
}
SUBMISSION_TABLE = {
    # queued, running, failed, cancelled; finished: as it is, disqualified, withdrawn, deleted, without quota,
    # quarantined, with published code
    "rerun": "a a d d d d d d d d d",
    "rescore": "r r r r d d d d d d d",
    "cancel": "d d a a a a a a a a a",
    "disqualify": "d d d d d a d d d d d",
    "qualify": "a a a a a d a a a a a",
    "refund": "d d d d d d d d a d d",
    "charge": "a a a a a a a a d a a",
    "delete": "d d d d d d d a d d d",
    "restore": "a a a a a a a d a a a",
}
CODE_TABLE = {  # nothing published, published, hidden
    "hide": "d d a",
    "show": "a a d",
}
VERSION_TABLE = {  # draft, scoring, live, retired
    "rescore": "d d r d",
    "make-live": "r r a r",
    "discard": "d d r a",
}
FINAL_TABLE = {
    #               upc open pau clo over fro pub wai key del
    "launch": "n n n n n n n n n r",
    "repeat": "a a a a a a a a a a",
    "publish": "n n n n n n a n n r",
    "correct": "r r r r r r a r r r",
    "unpublish": "a a a a a a d a a a",
}
COMPETITION_TABLE = {  # draft, published, archived, deleted
    "rehearse": "d d d r",
    "take-secrets": "n n n n",
}
MEMBER_TABLE = {  # invited, pending, approved, banned, rejected, withdrawn
    "add": "n n n r n n",
    "move": "r r n r r r",
}
# Winners need a published final: `test_winners.py` carries the act out in each state.
ELSEWHERE = {"winner.check": "tests/platform/entries/test_winners.py"}


def declared() -> dict[str, Act[Any, Any]]:
    """Every act that a module of the organizers' or the administrators' declares, by key."""
    found: dict[str, Act[Any, Any]] = {}
    for module in (
        one
        for one in pkgutil.walk_packages(anyshot_platform.__path__, "anyshot_platform.")
        if ".actions." in one.name or ".running." in one.name
    ):
        for value in vars(importlib.import_module(module.name)).values():
            for act in value.values() if isinstance(value, dict) else [value]:
                if isinstance(act, Act):
                    found[act.key] = act
    return found


NO_STATE = "no act asks for it"
HELD = "in the table"
# Every moment, state and flag of what an act is done to, and whether a state of its table has it.
MOMENTS: dict[type[Any], dict[str, str]] = {
    Competition: {
        "state": HELD,
        "deleted_at": HELD,
        "opens_at": "the clock publishes, by the act: web/test_look.py, admin/test_visibility.py",
        "fact_sheet_by": NO_STATE,
        "code_published_at": "code.hide and code.show are done to teams",
    },
    Phase: dict.fromkeys(
        (
            "ends_at",
            "paused_at",
            "closed_at",
            "frozen_at",
            "published_at",
            "key_published_at",
            "deleted_at",
            "launched_at",
        ),
        HELD,
    )
    | {"late_until": "after the end, for uploads alone: entries/test_late.py"},
    PhaseVersion: {"state": HELD, "live_at": "goes with its state"},
    Membership: {"status": HELD, "role": HELD, "terms_accepted_at": NO_STATE},
    Team: {"deleted_at": HELD, "code_hidden_at": HELD},
    Submission: {
        "status": HELD,
        "disqualified_at": HELD,
        "withdrawn_at": HELD,
        "deleted_at": HELD,
        "code_published_at": HELD,
        "noted_at": NO_STATE,
        "arrived_at": NO_STATE,
        "quota_decided_at": NO_STATE,
        "finished_at": "goes with its status",
    },
    Pool: {"published_at": HELD, "deleted_at": HELD},
    Webhook: {"deleted_at": HELD},
    Report: {"deleted_at": HELD},
    League: {"deleted_at": HELD, "opens_at": NO_STATE},
    Baseline: {"deleted_at": HELD},
    Announcement: {"deleted_at": HELD, "edited_at": NO_STATE},
    User: {
        "blocked_at": HELD,
        "second_factor_since": HELD,
        "deleted_at": "`find_user` finds no account that is deleted",
        "email_verified_at": NO_STATE,
        "last_login_at": NO_STATE,
    },
    Worker: {"paused_at": HELD, "stopped_at": HELD},
    WorkerToken: {"revoked_at": HELD, "expires_at": HELD, "last_used_at": NO_STATE},
    WorkerRequest: {"asked_at": NO_STATE, "collected_at": "contract/test_joining.py"},
    Trouble: {"set_aside_at": HELD},
    Alert: {"until": HELD, "told_at": NO_STATE, "posted_at": NO_STATE},
}


def test_every_moment_of_what_acts_are_done_to_has_its_state() -> None:
    """A new column `..._at`, state or status is one more moment: a state of the tables has it, or it says why not."""
    for model, known in MOMENTS.items():
        columns = {
            column.key
            for column in inspect(model).columns
            if (isinstance(column.type, Moment) and column.nullable)
            or column.key in ("state", "status", "role")
        }
        assert columns == known.keys(), model.__name__
    subjects = {act.key.partition(".")[0] for act in declared().values()}
    # their objects have no moments of their own, or are those of a row above
    without = {"code", "entry", "file", "final", "image", "page", "set_aside", "version", "winner", "member"}
    named = {model.__tablename__.rstrip("s") for model in MOMENTS}
    assert subjects - without <= named, "what these are done to stands in no row"


def test_every_act_that_is_declared_has_its_row() -> None:
    """Who declares an act says what it does at each moment, here or beside it."""
    rows = {f"phase.{name.replace('-', '_')}" for name in first.PHASE_TABLE}
    for kind, table in (
        ("pool", POOL_TABLE),
        ("code", CODE_TABLE),
        ("webhook", WEBHOOK_TABLE),
        ("submission", SUBMISSION_TABLE),
        ("version", VERSION_TABLE),
        ("final", FINAL_TABLE),
        ("competition", COMPETITION_TABLE),
        ("member", MEMBER_TABLE),
        *more.TABLES.items(),
    ):
        rows |= {f"{kind}.{name if kind == 'user' else name.replace('-', '_')}" for name in table}
    rows |= {act.key for act in competition_acts.ACTS.values()}
    rows |= {act.key for act in (member_acts.APPROVE, member_acts.REJECT, member_acts.BAN, member_acts.ROLE)}
    assert all((ROOT / place).exists() for place in ELSEWHERE.values())
    assert rows | ELSEWHERE.keys() == declared().keys()


def rolled_back(site: Site) -> Iterator[Session]:
    """Sessions whose changes are taken back."""
    while True:
        with site.services.database.writing() as session:
            yield session
            session.rollback()


def test_every_act_on_a_pool_in_every_state(site: Site) -> None:
    owner = site.owner()
    gamma, delta = (make_paper_pack(site.services, name) for name in ("gamma", "delta"))
    acts = pool_acts.ACTS | version_acts.ACTS
    with site.services.database.writing() as session:
        create_pool(session, slug="empty", name="Empty", owner_id=owner.id)
    states = ("small-pool", "spare", "empty", "public", "deleted")
    for name, row in POOL_TABLE.items():
        found = []
        for state, session in zip(states, rolled_back(site), strict=False):
            pool = pool_in(session, site, state, gamma)
            act = acts[name]
            wishes = {
                "competition": SLUG,
                "packs": [session.get_one(Pack, delta).digest],
                "dataset": "nowhere",
            }
            viewer = Viewer(user_id=owner.id, is_site_admin=True)
            wish = replace(asking(owner.id, act, **wishes), viewer=viewer)
            found.append(outcome(session, act, pool, wish, pool))
        assert " ".join(found) == row, name
    assert POOL_TABLE.keys() == acts.keys()


def test_what_a_pool_waits_for_and_holds_is_changed_once(site: Site) -> None:
    """States that the table has not: waiting for the clock, with two datasets, and combining another pool."""
    owner = site.owner()
    packs = [make_paper_pack(site.services, name) for name in ("gamma", "delta")]
    tries = [
        ("keep-hidden", {}),
        ("unpublish", {}),
        ("remove-dataset", {"dataset": "gamma"}),
        ("combine", {}),
    ]
    acts = pool_acts.ACTS | version_acts.ACTS
    for (name, wishes), session in zip(tries, rolled_back(site), strict=False):
        pool = create_pool(session, slug="full", name="Full", owner_id=owner.id)
        rows = [session.get_one(Pack, pack_id) for pack_id in packs]
        create_pool_version(session, pool, rows, created_by=owner.id)
        pool.publish_when_over, pool.combines = True, ["small-train"]
        pool.published_at = now() if name == "unpublish" else None
        wish = replace(asking(owner.id, acts[name], **wishes), viewer=Viewer(user_id=owner.id))
        assert outcome(session, acts[name], pool, wish, pool) == "d", name
        assert pool.publish_when_over == (name in ("remove-dataset", "combine"))


def pool_in(session: Session, site: Site, state: str, pack_id: str) -> Pool:
    """A pool in one of the states."""
    if state in ("small-pool", "empty"):
        return session.query(Pool).filter_by(slug=state).one()
    pool = create_pool(session, slug=state, name=state, owner_id=site.owner_id)
    create_pool_version(session, pool, [session.get_one(Pack, pack_id)], created_by=site.owner_id)
    pool.published_at = now() if state == "public" else None
    pool.deleted_at = now() if state == "deleted" else None
    return pool


def test_every_act_on_a_webhook_in_every_state(site: Site) -> None:
    states: list[dict[str, Any]] = [{}, {"active": False}, {}, {"active": False, "deleted_at": now()}]
    for name, row in WEBHOOK_TABLE.items():
        found = []
        for place, (values, session) in enumerate(zip(states, rolled_back(site), strict=False)):
            where = site.competition(session).id
            hook = add_webhook(session, where, "https://example.org/hook", [], site.owner_id)
            for column, value in values.items():
                setattr(hook, column, value)
            if place == 2:
                session.add(WebhookDelivery(webhook_id=hook.id, event="test", payload={}))
            session.flush()
            found.append(attempt(session, webhook_acts.ACTS[name], hook, ActRequest(site.owner_id)))
        assert " ".join(found) == row, name
    assert WEBHOOK_TABLE.keys() == webhook_acts.ACTS.keys()


def test_every_act_on_a_submission_in_every_state(site: Site) -> None:
    site.set_phase(quota_day=9)
    pia, worker = site.member("pia"), site.worker()
    ids = [pia.submit().json()["id"]]
    finish(worker, 0.5)
    ids += [pia.submit().json()["id"]]
    job = worker.claim()
    assert job is not None and worker.fail(job, "RUNTIME_ERROR").is_success
    ids += [pia.submit().json()["id"]]
    assert pia.call("POST", f"/api/v1/submissions/{ids[-1]}/cancel").is_success
    ids += [pia.submit().json()["id"]]
    assert worker.claim() is not None
    ids += [pia.submit().json()["id"]]
    finished, failed, cancelled, running, queued = ids
    assert {site.submission(one).status for one in ids} == set(SubmissionStatus)
    states: list[tuple[str, dict[str, Any]]] = [
        *((one, {}) for one in (queued, running, failed, cancelled, finished)),
        (finished, {"disqualified_at": now(), "disqualified_reason": "why"}),
        (finished, {"withdrawn_at": now()}),
        (finished, {"deleted_at": now()}),
        (finished, {"counts_quota": False}),
        (finished, {"quarantined": True}),
        (finished, {"code_published_at": now()}),
    ]
    for name, row in SUBMISSION_TABLE.items():
        found = []
        for (identity, values), session in zip(states, rolled_back(site), strict=False):
            submission = session.get_one(Submission, identity)
            for column, value in values.items():
                setattr(submission, column, value)
            session.flush()
            wish = ActRequest(site.owner_id, "why")
            found.append(attempt(session, submission_acts.ACTS[name], submission, wish))
            again = preview(session, submission_acts.ACTS[name], submission, wish)
            assert again.done or again.refused or name == "cancel", f"{name} does more the second time"
        assert " ".join(found) == row, name
    assert SUBMISSION_TABLE.keys() == submission_acts.ACTS.keys() == set(SubmissionAct)


def test_a_bulk_act_previews_what_it_leaves_out_and_is_harmless_again(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    ids = [pia.submit().json()["id"] for _ in range(2)]
    finish(site.worker(), 0.5)  # of the two, one has a score
    done = owner.call("POST", f"{first.MANAGE}/submissions/{ids[0]}/acts/rescore")
    said = {"message": "Its scoring is queued.", "changed": True, "undo": "cancel", "warnings": []}
    assert done.json() == said
    again = owner.call("POST", f"{first.MANAGE}/submissions/{ids[0]}/acts/rescore").json()
    assert (again["message"], again["changed"]) == ("It is being evaluated already.", False)
    with site.services.database.reading() as session:
        assert session.query(Run).filter_by(submission_id=ids[0]).count() == 2
    asked = post(owner, f"{BASE}/submissions/acts", act="cancel", id=ids).text
    assert "To take it back: Run it again." in " ".join(asked.split())
    assert "What is queued ends at once" in asked and "Cancel 2 submissions?" in asked
    post(owner, f"{BASE}/submissions/acts", act="cancel", id=ids[0], confirmed="1")
    asked = " ".join(post(owner, f"{BASE}/submissions/acts", act="cancel", id=ids).text.split())
    assert "Cancel 1 submission?" in asked and "1 submission: It has ended already." in asked


def test_every_act_on_a_teams_code_in_every_state(site: Site) -> None:
    site.member("pia").submit()
    finish(site.worker(), 0.5)
    for name, row in CODE_TABLE.items():
        found = []
        for state, session in zip(("none", "published", "hidden"), rolled_back(site), strict=False):
            submission = session.query(Submission).one()
            team = session.get_one(Team, submission.team_id)
            submission.code_published_at = None if state == "none" else now()
            team.code_hidden_at = now() if state == "hidden" else None
            found.append(outcome(session, code_acts.ACTS[name], team, ActRequest(site.owner_id), team))
        assert " ".join(found) == row, name


def test_every_act_on_a_version_in_every_state(site: Site) -> None:
    site.member("pia").submit()
    finish(site.worker(), 0.5)
    for name, row in VERSION_TABLE.items():
        found = []
        for state, session in zip(VersionState, rolled_back(site), strict=False):
            phase = session.get_one(Phase, site.phase_id)
            version = phase.live
            if state != VersionState.LIVE:
                columns = {c.key: getattr(version, c.key) for c in PhaseVersion.__table__.columns}
                columns |= {"id": "v" * 32, "number": 2, "state": state, "live_at": None}
                version = PhaseVersion(**columns)
                version.phase = phase
                session.add(version)
                session.flush()
            act = phase_version_acts.ACTS[name]
            wish = asking(site.owner_id, act, mode=RescoreMode.EVERYTHING)
            found.append(attempt(session, act, version, wish))
        assert " ".join(found) == row, name


def attempt(session: Session, act: Act[Any, Opts], subject: Any, wish: ActRequest[Opts]) -> str:
    """As `outcome`, for acts that may be done again, and for services that refuse by themselves."""
    shown = preview(session, act, subject, wish)
    assert shown.undo and (shown.done or shown.refused or shown.blocked or shown.does)
    try:
        try:
            done, word = carry_out(session, act, subject, wish), "d"
        except NeedsConsent:
            done, word = carry_out(session, act, subject, wish, Consent(shown.name, override=True)), "n"
    except PlatformError as error:
        assert error.message
        assert isinstance(error, ActRefused) or error.status in (409, 422)
        return "r"
    assert done.message
    return word if done.changed else "a"


def test_every_act_on_a_final_in_every_state(site: Site) -> None:
    site.member("pia").submit()
    finish(site.worker(), 0.5)
    with site.services.database.writing() as session:
        source = session.get_one(Phase, site.phase_id)
        final = Phase(
            competition_id=source.competition_id,
            slug="final",
            name="Final",
            kind=PhaseKind.FINAL,
            starts_at=now() - HOUR,
            accepts_uploads=False,
            needs_publishing=True,
            gate_phase_id=source.id,
        )
        columns = {c.key: getattr(source.live, c.key) for c in PhaseVersion.__table__.columns}
        final.versions.append(PhaseVersion(**{**columns, "id": "w" * 32, "phase_id": None}))
        session.add(final)
    for name, row in FINAL_TABLE.items():
        found = []
        for values, session in zip(first.PHASE_STATES.values(), rolled_back(site), strict=False):
            phase = session.query(Phase).filter_by(slug="final").one()
            for column, value in values().items():
                setattr(phase, column, value)
            session.flush()
            found.append(
                attempt(session, final_acts.ACTS[name], phase, asking(site.owner_id, final_acts.ACTS[name]))
            )
        assert " ".join(found) == row, name
    assert FINAL_TABLE.keys() == final_acts.ACTS.keys()


def test_further_acts_on_a_competition_in_every_state(site: Site) -> None:
    site.set_phase(ends_at=now() + HOUR)
    acts: dict[str, Act[Any, Any]] = {"rehearse": REHEARSE, "take-secrets": competition_acts.TAKE_SECRETS}
    states: list[dict[str, Any]] = [{"state": state} for state in CompetitionState]
    owner = site.owner()
    with site.services.database.writing() as session:
        session.add(
            Baseline(competition_id=site.competition(session).id, slug="r", name="Random", builtin="random")
        )
    viewer = Viewer(user_id=owner.id, username=owner.username)
    for name, row in COMPETITION_TABLE.items():
        found = []
        for values, session in zip([*states, {"deleted_at": now()}], rolled_back(site), strict=False):
            competition = site.competition(session)
            for column, value in values.items():
                setattr(competition, column, value)
            session.flush()
            wish = replace(asking(owner.id, acts[name], tasks=2, teams=5), viewer=viewer)
            subject = Rehearsable(competition, site.services) if name == "rehearse" else competition
            found.append(attempt(session, acts[name], subject, wish))
        assert " ".join(found) == row, name
    assert COMPETITION_TABLE.keys() == acts.keys()


@pytest.mark.parametrize("name", MEMBER_TABLE)
def test_inviting_and_moving_a_person_in_every_state(site: Site, name: str) -> None:
    pia, ben = site.member("pia"), site.member("ben")
    pia.submit()
    finish(site.worker(), 0.5)
    found = []
    for status, session in zip(MemberStatus, rolled_back(site), strict=False):
        membership = member(session, site, pia.id)
        membership.status = status
        competition = site.competition(session)
        competition.team_size = 3
        session.flush()
        if name == "add":
            invitation = Invitation(competition, session.get_one(User, pia.id))
            wish = asking(site.owner_id, member_acts.INVITE, role=Role.REVIEWER)
            found.append(attempt(session, member_acts.INVITE, invitation, wish))
        else:
            team = session.get_one(Team, member(session, site, ben.id).team_id)
            wish = asking(site.owner_id, MOVE, team=team.name)
            found.append(attempt(session, MOVE, membership, wish))
    assert " ".join(found) == MEMBER_TABLE[name]
