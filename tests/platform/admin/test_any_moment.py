"""Every act at every moment: it is done, refused with words, or asks; never half, and a second time changes nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts
from anyshot_platform.actions.service import ActRefused, NeedsConsent, carry_out, preview
from anyshot_platform.contest.competitions.actions import acts as competition_acts
from anyshot_platform.contest.competitions.actions import member_acts
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.phases.actions import acts as phase_acts
from anyshot_platform.contest.phases.actions.differences import flatten
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.pools.models import Pool, PoolPack, PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.running.deadlines.acts import RELIEVE, Relief
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import BASE, finish, page, post
from tests.platform.site import SLUG, Site

HOUR = timedelta(hours=1)
MANAGE = f"/api/v1/competitions/{SLUG}/manage"
PHASE_STATES: dict[str, Callable[[], dict[str, Any]]] = {
    "upcoming": lambda: {"starts_at": now() + HOUR},
    "open": dict,
    "paused": lambda: {"paused_at": now()},
    "closed by hand": lambda: {"closed_at": now()},
    "over": lambda: {"ends_at": now() - HOUR},
    "frozen": lambda: {"frozen_at": now()},
    "published": lambda: {"ends_at": now() - HOUR, "needs_publishing": True, "published_at": now()},
    "waiting for results": lambda: {"ends_at": now() - HOUR, "needs_publishing": True},
    "key published": lambda: {"ends_at": now() - HOUR, "key_published_at": now()},
    "deleted": lambda: {"deleted_at": now()},
}
# What each act does in each of these states: d(one), a(lready so), r(efused), n(ame is asked).
PHASE_TABLE = {
    #               upc open pau clo over fro pub wai key del
    "open": "d a d d r a r r r a",
    "close": "d d d a a d a a a d",
    "pause": "d d a r r d r r r d",
    "resume": "a a d a a a a a a a",
    "extend": "d d d d d d n d r d",
    "freeze": "d d d d d a d d d d",
    "unfreeze": "a a a a a d a a a a",
    "delete": "n n n n n n n n n a",
    "restore": "a a a a a a a a a d",
    "redraw-seeds": "r r r r r r r r r r",  # there is a score under the key
    "publish-key": "r r r n n r n r a r",
    "pin-image": "n n n n n n n n n n",  # the score came from another image
    "unpin-image": "a a a a a a a a a a",
    "add-evaluation": "r r r r r r r r r r",  # the pool here is of paper: no task can be drawn from it
    "remove-evaluation": "r r r r r r r r r r",  # there is none
    "evaluate": "r r r r r r r r r r",
    "relieve": "n n n r n n n n r n",
}
ACTS: dict[str, Act[Phase, Any]] = {**phase_acts.ACTS, RELIEVE.name: RELIEVE}
OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {  # what an act cannot do without
    "extend": lambda: {"end": now() + HOUR},
    "relieve": lambda: {"way": Relief.TEAMS, "end": now() + timedelta(days=40), "teams": ["pia"]},
    "add-evaluation": lambda: {"evaluation": "shots"},
    "remove-evaluation": lambda: {"evaluation": "shots"},
}


def fields(*rows: Any) -> list[dict[str, Any]]:
    """All columns of some rows as they are in the database."""
    found = []
    for row in rows:
        inspect(row).session.refresh(row)
        found.append({column.key: getattr(row, column.key) for column in inspect(row).mapper.column_attrs})
    return found


def asking(actor_id: str, act: Act[Any, Opts], reason: str = "", /, **options: Any) -> ActRequest[Opts]:
    """A request for an act, with those of the options that it takes."""
    taken = {name: value for name, value in options.items() if name in act.options.model_fields}
    return ActRequest(actor_id, reason, act.options(**taken))


def entries(session: Session) -> int:
    return session.scalar(select(func.count(AuditEntry.id))) or 0


def in_editor(session: Session, subject: Any) -> dict[str, Any]:
    """What the editor of a phase shows, by field; of anything else nothing."""
    return flatten(describe_phase(session, subject, "")) if isinstance(subject, Phase) else {}


def outcome(
    session: Session, act: Act[Any, Opts], subject: Any, request: ActRequest[Opts], *rows: Any
) -> str:
    """What becomes of an act, tried without consent and then with it; checks that nothing is ever half done."""
    session.flush()
    before, logged, edited = fields(*rows), entries(session), in_editor(session, subject)
    shown, word = preview(session, act, subject, request), "d"
    assert shown.done or shown.refused or shown.does, f"{act.key} says nothing"
    assert shown.undo, f"{act.key} does not say how it is undone"
    try:
        done = carry_out(session, act, subject, request)
    except ActRefused as error:
        assert error.message and fields(*rows) == before and entries(session) == logged
        return "r"
    except NeedsConsent:
        assert fields(*rows) == before and entries(session) == logged
        done, word = carry_out(session, act, subject, request, Consent(shown.name, override=True)), "n"
    session.flush()
    assert done.message
    assert done.changed == (not shown.done)
    assert entries(session) == logged + done.changed
    if not done.changed:
        assert fields(*rows) == before
        return "a"
    named = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one().after
    changed = {name for name, value in in_editor(session, subject).items() if value != edited[name]}
    assert changed <= named.keys(), f"{act.key}: the log does not name the fields of the editor"
    if act.key != "phase.redraw_seeds":
        once = fields(*rows)
        again = carry_out(session, act, subject, request)
        assert not again.changed and fields(*rows) == once, f"{act.key} does more the second time"
    return word


def test_every_act_on_a_phase_in_every_state(site: Site) -> None:
    site.member("pia").submit()
    finish(site.worker(image_digests={"": "sha256:" + "1" * 64}), 0.5)
    actor = site.owner().id
    with site.services.database.writing() as session:
        session.query(Pool).filter_by(slug="small-pool").one().published_at = now()
    for act_name, row in PHASE_TABLE.items():
        found = []
        for values in PHASE_STATES.values():
            with site.services.database.writing() as session:
                phase = session.get_one(Phase, site.phase_id)
                for name, value in values().items():
                    setattr(phase, name, value)
                wish = asking(actor, ACTS[act_name], **OPTIONS.get(act_name, dict)())
                found.append(outcome(session, ACTS[act_name], phase, wish, phase))
                session.rollback()
        assert " ".join(found) == row, act_name
    assert PHASE_TABLE.keys() == ACTS.keys()


COMPETITION_TABLE = {  # draft, published, archived, deleted
    "published": "d a d r",  # the fixture tests on what no pool publishes: nothing is missing in the draft
    "draft": "a n r n",
    "archived": "r d a d",
    "delete": "n n n a",
    "restore": "a a a d",
}
MEMBER_TABLE = {  # invited, pending, approved, banned, rejected, withdrawn
    member_acts.APPROVE: "r d a d d r",
    member_acts.REJECT: "n n n n a n",
    member_acts.BAN: "n n n a n n",
}


def test_every_act_on_a_competition_in_every_state(site: Site) -> None:
    site.member("pia")
    site.set_phase(ends_at=now() + HOUR)
    known = {"delete": competition_acts.DELETE, "restore": competition_acts.RESTORE}
    states: list[dict[str, Any]] = [{"state": state} for state in CompetitionState]
    wish = ActRequest(site.owner().id)
    for act_name, row in COMPETITION_TABLE.items():
        act, found = known.get(act_name) or competition_acts.STATES[CompetitionState(act_name)], []
        for values in (*states, {"deleted_at": now()}):
            with site.services.database.writing() as session:
                competition = site.competition(session)
                for name, value in values.items():
                    setattr(competition, name, value)
                found.append(outcome(session, act, competition, wish, competition))
                session.rollback()
        assert " ".join(found) == row, act_name


def test_every_act_on_a_person_in_every_state(site: Site) -> None:
    pia = site.member("pia")
    pia.submit()
    finish(site.worker(), 0.5)
    wish = ActRequest(site.owner().id)
    for act, row in MEMBER_TABLE.items():
        found = []
        for status in MemberStatus:
            with site.services.database.writing() as session:
                membership = member(session, site, pia.id)
                membership.status = status
                found.append(outcome(session, act, membership, wish, membership))
                session.rollback()
        assert " ".join(found) == row, act.key


def test_nobody_is_decided_on_in_an_archived_competition(site: Site) -> None:
    pia, wish = site.member("pia"), ActRequest(site.owner().id)
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.ARCHIVED
        membership = member(session, site, pia.id)
        for act, status in zip(
            (member_acts.BAN, member_acts.REJECT, member_acts.APPROVE),
            (*["approved"] * 2, "banned"),
            strict=True,
        ):
            membership.status = MemberStatus(status)
            with pytest.raises(ActRefused, match="The competition is archived: publish it again"):
                carry_out(session, act, membership, wish, Consent("pia"))


@pytest.mark.parametrize(
    ("now_is", "row"), [("participant", "n n n a"), ("organizer", "n a d d"), ("owner", "a d d d")]
)
def test_every_change_of_a_role(site: Site, now_is: str, row: str) -> None:
    pia = site.member("pia", Role(now_is))
    found, actor = [], site.owner().id
    for role in Role:
        with site.services.database.writing() as session:
            membership, wish = member(session, site, pia.id), asking(actor, member_acts.ROLE, role=role)
            found.append(outcome(session, member_acts.ROLE, membership, wish, membership))
            session.rollback()
    assert " ".join(found) == row


def member(session: Session, site: Site, user_id: str) -> Membership:
    found = find_membership(session, site.competition(session).id, user_id)
    assert found is not None
    return found


def test_the_last_owner_stays(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        wish = asking(owner.id, member_acts.ROLE, role=Role.REVIEWER)
        with pytest.raises(PlatformError, match="name another one first"):
            carry_out(session, member_acts.ROLE, member(session, site, owner.id), wish)


# What people see of it


def test_back_to_draft_asks_and_says_who_loses_what(site: Site) -> None:
    owner = site.owner()
    site.member("pia").submit()
    asked = post(owner, f"{BASE}/state", state="draft")
    assert "2 members, 1 submission, 1 phase." in asked.text
    assert "Feedback: uploads are refused from now on." in asked.text
    assert "1 run is queued or running" in asked.text
    assert site.client.get(f"/competitions/{SLUG}").status_code == 200
    post(owner, f"{BASE}/state", state="draft", confirm=SLUG)
    assert site.client.get(f"/competitions/{SLUG}").status_code == 404
    assert log(site, "competition.draft")[0].before == {"state": "published"}


def test_a_phase_that_feeds_another_is_deleted_knowingly(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        competition = session.get_one(Phase, site.phase_id).competition
        final = Phase(competition_id=competition.id, slug="final", name="Final", starts_at=now())
        final.gate_phase_id = site.phase_id
        session.add(final)
    refused = owner.call("POST", f"{MANAGE}/phases/feedback/acts/delete")
    assert refused.json()["preview"]["blocked"] == ["“Final” takes its entries from this phase."]
    body = {"confirm": "feedback", "override": True}
    assert owner.call("POST", f"{MANAGE}/phases/feedback/acts/delete", json=body).status_code == 200
    assert log(site, "phase.delete")[0].after["overridden"]


def test_who_took_what_is_secret_is_in_the_log(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    submission = pia.submit().json()["id"]
    archive = f"/api/v1/submissions/{submission}/archive"
    assert pia.call("GET", archive).is_success
    assert log(site, "read.submission") == []
    assert owner.call("GET", archive).is_success
    (read,) = log(site, "read.submission")
    assert (read.actor_id, read.object_id, read.after) == (owner.id, submission, {"file": "code"})
    with site.services.database.reading() as session:
        pools = session.query(Pool).order_by(Pool.slug).all()
        assert [pool.slug for pool in pools] == ["small-pool", "small-train"]
        entry = session.query(Pool).filter_by(slug="small-pool").one()
        pack = session.execute(
            select(PoolPack.pack_id).join(PoolVersion).where(PoolVersion.pool_id == entry.id)
        ).scalar_one()
    assert owner.call("GET", f"/organize/pools/small-pool/packs/{pack}/download").is_success
    assert log(site, "read.hidden_data")[0].after == {"pool": "small-pool", "pack": "alpha"}
    secrets = f"{BASE}/bundle-with-seeds"
    assert "anyone who has it can draw the hidden tasks" in page(owner, secrets).text
    assert post(owner, secrets, confirm="smal").status_code == 409
    assert log(site, "competition.take_secrets") == []
    assert post(owner, secrets, confirm=SLUG).headers["content-type"] == "application/zip"
    assert log(site, "competition.take_secrets")[0].after == {"secrets_of": ["feedback"]}
    assert "read.hidden_data" in page(owner, f"{BASE}/audit").text
