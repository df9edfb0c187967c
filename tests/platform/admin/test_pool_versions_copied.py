"""Phases on two versions of one pool: a copy and a rehearsal have the newest alone, and say so."""

import pytest
from sqlalchemy import select

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool_version
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.entries.test_finals import add_final
from tests.platform.site import SLUG, Site, make_paper_pack, make_zip

WORDS = "All phases get version 2 of the pool small-pool. Those with an earlier one of it: Feedback."
STAYS = "“{}” of “A small competition” stays on version {} until its settings name the new one."
MANAGE = f"/api/v1/competitions/{SLUG}/manage"


@pytest.fixture
def corrected(site: Site) -> Site:
    """The pool was corrected while feedback ran, which keeps the first version; the final takes the second."""
    add_final(site)
    pack_id = make_paper_pack(site.services, "corrected")
    with site.services.database.writing() as session:
        old = session.get_one(Phase, site.phase_id).versions[0].meta_test
        assert old is not None
        new = create_pool_version(
            session, old.pool, [session.get_one(Pack, pack_id)], created_by=site.owner_id
        )
        final = session.scalars(select(Phase).where(Phase.slug == "final")).one()
        final.versions[0].meta_test_pool_version_id = new.id
    return site


def test_a_copy_has_the_newest_version_and_its_organizers_hear_which_phases_had_another(
    corrected: Site,
) -> None:
    owner = corrected.owner()
    made = owner.call("POST", f"{MANAGE}/clone", json={"slug": "next"})
    assert WORDS in made.json()["notices"]
    assert WORDS in page(owner, "/competitions/next/manage/import").text
    with corrected.services.database.reading() as session:
        copy = session.scalars(select(Competition).where(Competition.slug == "next")).one()
        phases = session.scalars(select(Phase).where(Phase.competition_id == copy.id))
        assert {phase.slug: phase.live.meta_test and phase.live.meta_test.number for phase in phases} == {
            "feedback": 2,
            "final": 2,
        }


def test_a_rehearsal_says_it_in_its_story(corrected: Site) -> None:
    owner = corrected.owner()
    zip_ = owner.upload(make_zip(salt="a baseline"))
    body = {"name": "Simple", "upload_id": zip_, "leagues": ["free"]}
    assert owner.call("POST", f"{MANAGE}/baselines", json=body).status_code == 201
    started = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5})
    assert started.status_code == 201, started.text
    assert WORDS in str(owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"][0])


def test_who_creates_a_version_reads_which_phases_stay_on_theirs(corrected: Site) -> None:
    """Over JSON, and on the page of the pool."""
    owner, pool = corrected.owner(), "/api/v1/pools/small-pool"
    newest, first = owner.call("GET", pool).json()["versions"]
    digests = [row["digest"] for row in (*newest["packs"], *first["packs"])]
    made = owner.call("POST", f"{pool}/acts/version", json={"packs": digests})
    stay = [STAYS.format(*one) for one in (("Feedback", 1), ("Final", 2))]
    assert (made.status_code, made.json()["warnings"]) == (200, stay)
    shown = flash(post(owner, "/organize/pools/small-pool/packs", pack_digest=digests[1]))
    assert shown.endswith(" ".join(stay))
