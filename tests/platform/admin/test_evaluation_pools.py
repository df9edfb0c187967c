"""A further evaluation that names a pool keeps the version of it, as a phase keeps the versions of its pools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.database import Database
from anyshot_platform.evaluations.points import list_points
from anyshot_platform.migration import migrate
from anyshot_platform.organizers.pools.organizing import put_packs
from anyshot_platform.phases.models import Phase
from anyshot_platform.pools.models import Pack, Pool
from tests.platform.admin.test_leaking_images import OTHERS, SEEDS, drawn, page_text, pool_of
from tests.platform.admin.test_manage import BASE, page
from tests.platform.admin.test_two_actors import log
from tests.platform.admin.test_upgrades import fill
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


def test_an_upgrade_holds_what_was_tested_on_until_then(empty_database: str) -> None:
    database = Database(empty_database)
    migrate(database, "0012")
    fill(database)
    migrate(database, "0049")
    with database.engine.begin() as connection:
        run = connection.exec_driver_sql
        for number in (1, 2):
            run(
                "INSERT INTO pool_versions (id, pool_id, number, digest, note, created_by, created_at)"
                f" VALUES ('v{number}', 'pool', {number}, '', '', 'keeper', '2026-01-01 00:00:00')"
            )
        lines = 'pool pool=pool tasks=4\n{"name": "shots", "pool": "pool"}\npool key=other pool=gone\nbase'
        run("UPDATE phases SET evaluations = '" + lines + "' WHERE id = 'p'")
    migrate(database)
    with database.engine.connect() as connection:
        held = connection.exec_driver_sql("SELECT phase_id, pool_version_id FROM evaluation_pools").all()
    database.dispose()
    assert [tuple(row) for row in held] == [("p", "v2")]
