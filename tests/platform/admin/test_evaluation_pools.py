"""A further evaluation that names a pool keeps the version of it, as a phase keeps the versions of its pools."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.actions.acts import pools_to_publish, publish_if_over
from anyshot_platform.contest.pools.actions.organizing import put_packs
from anyshot_platform.contest.pools.models import Pack, Pool, PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.evaluations.points import list_points
from tests.platform.admin.test_leaking_images import OTHERS, SEEDS, drawn, page_text, pool_of
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.admin.test_two_actors import log
from tests.platform.site import Person, Site

FEEDBACK = f"{BASE}/phases/feedback"
PHASE = "/api/v1/competitions/small/manage/phases/feedback"
LINE = "pool pool=more tasks=4"
PROTOCOL = {"name": "any_way_any_shot", "ways": [2, 3], "shots": [1, 2], "query": 2}


@pytest.fixture
def owner(site: Site, tmp_path: Path) -> Person:
    """The owner of a phase that trains and tests on images of its own, beside a pool `more`."""
    for number, slug in enumerate(("seen", "tested", "more")):
        pool_of(site, slug, drawn(tmp_path, slug.title(), [seed + number * 100 for seed in SEEDS]))
    owner = site.owner()
    save(owner, meta_train="seen", meta_test="tested", protocol=PROTOCOL)
    return owner


def save(owner: Person, *, newest: bool = False, **tasks: Any) -> None:
    answer = owner.call("PATCH", PHASE, json={"tasks": tasks, "newest_pools": newest})
    assert answer.is_success, answer.text


def act(person: Person, name: str, **options: Any):
    return person.call("POST", f"{PHASE}/acts/{name}", json=options)


def put_another(site: Site, tmp_path: Path) -> None:
    """Version 2 of the pool `more`."""
    pool_of(site, "brought", drawn(tmp_path, "Brought", OTHERS))
    with site.services.database.writing() as session:
        pool = session.query(Pool).filter_by(slug="more").one()
        put_packs(session, pool, [session.query(Pack).filter_by(name="Brought").one()], "", site.owner_id)


def versions_tested(site: Site, slug: str = "small") -> list[int]:
    """The versions of pools that the evaluations of the phase `feedback` test on."""
    with site.services.database.reading() as session:
        phases = session.scalars(select(Phase).where(Phase.slug == "feedback"))
        (phase,) = [one for one in phases if one.competition.slug == slug]
        return [point.pool.number for point in list_points(session, phase.live)]


def shown(owner: Person) -> str:
    return page_text(page(owner, FEEDBACK).text)


def test_a_phase_keeps_its_version_of_an_evaluations_pool_and_shows_it(
    site: Site, owner: Person, tmp_path: Path
) -> None:
    """It was the newest at any moment: the scores of the evaluation were gone as soon as someone mended the pool."""
    save(owner, evaluations=LINE)
    put_another(site, tmp_path)
    assert versions_tested(site) == [1]
    assert owner.call("PATCH", PHASE, json={"title": "Renamed"}).is_success
    save(owner, evaluations=f"{LINE}\nshots numbers=1 tasks=4")
    assert versions_tested(site) == [1, 1] and "further evaluations pool more, version 1" in shown(owner)
    uses = page_text(page(owner, "/organize/pools/more").text)
    assert "Renamed" in uses and "version 1" in uses
    save(owner, newest=True)
    assert versions_tested(site) == [2, 1] and "further evaluations pool more, version 2" in shown(owner)
    entry = log(site, "phase.change")[-1]
    assert entry.before == {"tasks.evaluations": "more, version 1"}
    assert entry.after == {"tasks.evaluations": "more, version 2"}


def test_an_evaluation_that_is_added_by_its_act_keeps_its_version_too(
    site: Site, owner: Person, tmp_path: Path
) -> None:
    assert act(owner, "add-evaluation", evaluation=LINE).is_success
    put_another(site, tmp_path)
    assert versions_tested(site) == [1]
    assert act(owner, "remove-evaluation", evaluation="pool").is_success
    assert act(owner, "add-evaluation", evaluation=LINE).is_success, "taken away and added, it has the newest"
    assert versions_tested(site) == [2]


def test_a_copy_of_the_competition_has_the_same_version(site: Site, owner: Person, tmp_path: Path) -> None:
    save(owner, evaluations=LINE)
    put_another(site, tmp_path)
    copied = owner.call("POST", "/api/v1/competitions/small/manage/clone", json={"slug": "again"})
    assert copied.is_success, copied.text
    assert versions_tested(site, "again") == [1]


def test_a_name_alone_opens_nobodys_pool_to_an_evaluation(site: Site, owner: Person, tmp_path: Path) -> None:
    """Learners see the images that they are tested on: the act took the name of any pool of the site."""
    stranger = site.person("stranger")
    with site.services.database.writing() as session:
        session.query(Pool).filter_by(slug="more").one().owner_id = stranger.id
    refused = act(owner, "add-evaluation", evaluation=LINE)
    assert refused.status_code == 409 and "There is no pool more that you may use." in refused.text
    with site.services.database.writing() as session:
        session.get_one(Phase, site.phase_id).evaluations = LINE  # as another site's bundle might say
    copied = owner.call("POST", "/api/v1/competitions/small/manage/clone", json={"slug": "again"})
    assert "the evaluation pool was left out. There is no pool more that you may use." in copied.text
    assert versions_tested(site, "again") == []


def _tick(site: Site) -> list[str]:
    """The pools that the clock publishes now."""
    with site.services.database.writing() as session:
        done = [one for one in pools_to_publish(session) if publish_if_over(session, one)]
        return [session.get_one(Pool, one).slug for one in done]


def test_a_pool_that_an_evaluation_tests_on_is_in_use(site: Site, owner: Person) -> None:
    """It was deleted under a running phase, and its labels were given away."""
    save(owner, evaluations=LINE)
    path = "/api/v1/pools/more"
    named = "“Feedback” of “A small competition”"
    refused = owner.call("POST", f"{path}/acts/delete")
    assert refused.status_code == 409 and f"{named} uses this pool." in refused.text
    refused = owner.call("POST", f"{path}/acts/publish", json={"confirm": "more"})
    assert refused.status_code == 409
    assert f"{named} has not ended and tests on datasets of this pool" in refused.text
    save(owner, evaluations="")
    assert owner.call("POST", f"{path}/acts/delete").is_success


def test_images_that_an_evaluation_tests_on_are_not_published_in_another_pool(
    site: Site, owner: Person, tmp_path: Path
) -> None:
    save(owner, evaluations=LINE)
    seeds = [*OTHERS[:-1], SEEDS[0] + 200]  # of the pool `more`
    pool_of(site, "copy", drawn(tmp_path, "Copy", seeds))
    refused = owner.call("POST", "/api/v1/pools/copy/acts/publish", json={"confirm": "copy"})
    assert refused.status_code == 409 and "1 image of Copy is in More too" in refused.text
    with site.services.database.writing() as session:
        copy = session.scalars(select(PoolVersion.id).join(Pool).where(Pool.slug == "copy")).one()
    site.set_version(meta_train_pool_version_id=copy)
    compared = page_text(page(owner, "/organize/pools/more").text)
    assert "1 image of More is in Copy too" in compared, (
        "the page of the pool compares what its competition uses"
    )


def test_the_clock_waits_for_a_phase_whose_evaluation_tests_on_the_pool(site: Site, owner: Person) -> None:
    save(owner, evaluations=LINE)
    path = "/organize/pools/more/publish-when-over"
    asked = page_text(post(owner, path).text)
    assert "of “A small competition” uses it." in asked and "No phase" not in asked
    assert flash(post(owner, path, confirm="more")).startswith("It will be published")
    assert log(site, "pool.publish_when_over"), "in the log of the competition that uses it"
    assert _tick(site) == []
    site.set_phase(ends_at=now() - timedelta(seconds=1), needs_publishing=True)
    assert _tick(site) == [], "its results are not public yet"
    site.set_phase(published_at=now())
    assert _tick(site) == ["more"]
