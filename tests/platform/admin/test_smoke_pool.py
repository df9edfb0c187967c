"""A smoke test, and a log of everything, show images with labels: only of what participants can download anyway."""

import re
from datetime import timedelta
from typing import Any

import pytest

from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.actions.acts import pools_to_publish, publish_if_over
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from tests.platform.admin.test_manage import post
from tests.platform.site import Person, Site, make_paper_pack

PHASE = "/api/v1/competitions/small/manage/phases/feedback"


def save(owner: Person, **parts: dict[str, Any]):
    """Save the phase with some settings changed."""
    settings = owner.call("GET", PHASE).json()["settings"]
    for part, values in parts.items():
        settings[part] = {**settings[part], **values}
    return owner.call("PUT", PHASE, json=settings)


def publish(site: Site, slug: str, published: bool = True) -> None:
    with site.services.database.writing() as session:
        session.query(Pool).filter(Pool.slug == slug).one().published_at = now() if published else None


def test_without_a_pool_of_its_own_there_is_no_smoke_test(site: Site) -> None:
    alice = site.member("alice")
    refused = alice.submit(smoke=True)
    assert (refused.status_code, refused.json()["error"]) == (409, "no_smoke_test")
    assert "Smoke test first" not in alice.call("GET", "/competitions/small/phases/feedback/submit").text


def test_with_a_public_pool_it_is_offered_and_runs_on_that_pool_alone(site: Site) -> None:
    site.offer_smoke_tests("public-data")
    alice = site.member("alice")
    assert "Smoke test first" in alice.call("GET", "/competitions/small/phases/feedback/submit").text
    assert alice.submit(smoke=True).status_code == 201
    job = site.worker().claim()
    assert job is not None
    assert {pack["name"] for pack in job["meta_train"] + job["meta_test"]} == {"public-data"}
    assert job["log_policy"] == "everything"


def test_a_phase_is_not_saved_with_a_smoke_pool_that_is_tested_on(site: Site) -> None:
    owner = site.owner()
    publish(site, "small-pool")
    refused = save(owner, smoke={"pool": "small-pool"})
    assert refused.status_code == 422 and "shares datasets with small-pool" in refused.text


def test_a_pool_of_other_name_with_one_hidden_pack_is_found_too(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        tested = session.get_one(Phase, site.phase_id).versions[0].meta_test
        assert tested is not None
        pool = create_pool(session, slug="other", name="Other", owner_id=site.owner_id)
        pool.published_at = now()
        create_pool_version(session, pool, [entry.pack for entry in tested.entries], created_by=site.owner_id)
    assert "shares datasets with small-pool" in save(owner, smoke={"pool": "other"}).text


def test_a_phase_is_not_saved_with_a_smoke_pool_that_is_not_public(site: Site) -> None:
    owner = site.owner()
    slug = site.offer_smoke_tests()
    site.set_phase(smoke_pool_version_id=None)
    publish(site, slug, False)
    refused = save(owner, smoke={"pool": slug})
    assert refused.status_code == 422 and "is not public" in refused.text
    publish(site, slug)
    assert save(owner, smoke={"pool": slug}).status_code == 200


def test_a_pool_that_is_hidden_again_ends_smoke_tests_and_their_logs(site: Site) -> None:
    slug = site.offer_smoke_tests()
    alice = site.member("alice")
    assert alice.submit(smoke=True).status_code == 201
    publish(site, slug, False)
    assert site.worker().claim() is None, "the run that was queued gets no data"
    assert alice.submit(smoke=True).json()["error"] == "no_smoke_test"


def test_a_pool_of_smoke_tests_is_in_use(site: Site) -> None:
    owner, slug = site.owner(), site.offer_smoke_tests()
    refused = owner.call("POST", f"/api/v1/pools/{slug}/acts/delete")
    assert refused.status_code == 409
    assert "“Feedback” of “A small competition” uses this pool." in refused.text
    site.set_phase(smoke_pool_version_id=None)
    assert owner.call("POST", f"/api/v1/pools/{slug}/acts/delete").is_success


def test_smoke_tests_keep_no_pool_hidden(site: Site) -> None:
    """They show its labels anyway and need it public: nothing has to end before it is."""
    owner, slug = site.owner(), site.offer_smoke_tests()
    publish(site, slug, False)
    path = f"/organize/pools/{slug}"
    asked = " ".join(post(owner, f"{path}/publish-when-over").text.split())
    assert "“Feedback” of “A small competition” has its smoke tests on this pool" in asked
    assert "No phase trains or tests on it yet" in asked and "uses it." not in asked
    post(owner, f"{path}/publish-when-over", confirm=slug)
    with site.services.database.writing() as session:
        assert [publish_if_over(session, one) for one in pools_to_publish(session)] == [False]
        phase = session.get_one(Phase, site.phase_id)
        over = {"starts_at": now() - timedelta(days=2), "ends_at": now() - timedelta(days=1)}
        before = Phase(competition_id=phase.competition_id, slug="before", name="Before", **over)
        before.versions = [PhaseVersion(meta_train_pool_version_id=phase.smoke_pool_version_id)]
        session.add(before)
    with site.services.database.writing() as session:
        assert [publish_if_over(session, one) for one in pools_to_publish(session)] == [True]
    assert site.member("alice").submit(smoke=True).status_code == 201


def test_a_phase_keeps_the_version_of_its_smoke_pool_and_shows_it(site: Site) -> None:
    """It moved with every save, and nobody saw on which data the smoke tests were."""
    owner, slug = site.owner(), site.offer_smoke_tests()
    editor = "/competitions/small/manage/phases/feedback"
    more = make_paper_pack(site.services, "more")
    with site.services.database.writing() as session:
        pool = session.query(Pool).filter(Pool.slug == slug).one()
        create_pool_version(session, pool, [session.get_one(Pack, more)], created_by=site.owner_id)
    assert save(owner, quota={"per_day": 7}).status_code == 200
    assert "smoke test pool public, version 1" in owner.call("GET", editor).text
    uses = " ".join(owner.call("GET", f"/organize/pools/{slug}").text.split())
    assert re.search(r"Used by.{0,200}Feedback.{0,200}version 1", uses), "as the pool's page says it"
    settings = owner.call("GET", PHASE).json()["settings"]
    assert owner.call("PUT", PHASE, json={**settings, "newest_pools": True}).status_code == 200
    assert "smoke test pool public, version 2" in owner.call("GET", editor).text


def test_a_version_may_not_test_on_what_the_smoke_test_shows(site: Site) -> None:
    owner = site.owner()
    slug = site.offer_smoke_tests()
    settings = owner.call("GET", PHASE).json()["settings"]
    settings["tasks"]["meta_test"] = slug
    refused = owner.call("POST", f"{PHASE}/versions", json={"settings": settings, "reason": "more data"})
    assert refused.status_code == 422 and "smoke test would show" in refused.text


def test_logs_of_everything_need_public_tasks(site: Site) -> None:
    owner, alice = site.owner(), site.member("alice")
    refused = save(owner, shown={"logs": "everything"})
    assert refused.status_code == 422 and "Logs of everything" in refused.text
    publish(site, "small-pool")
    assert save(owner, shown={"logs": "everything"}).status_code == 200
    publish(site, "small-pool", False)
    alice.submit()
    job = site.worker().claim()
    assert job is not None and job["log_policy"] == "meta_train"


@pytest.mark.parametrize("name", ["within-domain-metadl-2021", "cross-domain-metadl-2022"])
def test_the_ready_made_competitions_smoke_test_no_pool_that_they_test_on(name: str) -> None:
    phases = read_ready_made(name).spec.phases
    tested = {phase.tasks.meta_test for phase in phases} - {None}
    assert tested and not tested & {phase.smoke.pool for phase in phases}


def test_the_competition_of_2021_says_that_it_has_no_smoke_test() -> None:
    bundle = read_ready_made("within-domain-metadl-2021")
    assert all(phase.smoke.pool is None for phase in bundle.spec.phases)
    assert "There is no smoke test on this site" in bundle.files["pages/submissions.md"].decode()
