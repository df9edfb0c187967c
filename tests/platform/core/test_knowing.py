"""What a stranger learns beside the point: that something secret exists, whose data it uses, what is in them.

Each of these was tried on a running site before it was a test.
"""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_core.data.pack import pack_dataset
from anyshot_platform.contest.competitions.states import CompetitionState, Visibility
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from tests.core.tinydata import write_dataset
from tests.platform.core.test_access import ROUTES, UNSAFE, fill
from tests.platform.site import SLUG, Person, Site

NOWHERE = "nothing-of-that-name"


def answer(person: Person, method: str, path: str) -> tuple[int, Any]:
    """What a person is told, without what differs by the address alone."""
    options: dict[str, Any] = {"json": {}} if method in UNSAFE else {}
    given = person.call(
        method, path, headers={"accept": "application/json"}, follow_redirects=False, **options
    )
    told = given.json() if "json" in given.headers.get("content-type", "") else given.text
    return given.status_code, told


@pytest.mark.rotating
@pytest.mark.parametrize("state", ["private", "draft", "not open yet"])
def test_a_hidden_competition_answers_like_one_that_does_not_exist(site: Site, state: str) -> None:
    """On every route that names a competition, whatever else the address names."""
    thread = site.member("petra")
    submission = thread.submit().json()
    with site.services.database.writing() as session:
        competition = site.competition(session)
        if state == "private":
            competition.visibility = Visibility.PRIVATE
        elif state == "draft":
            competition.state = CompetitionState.DRAFT
        else:
            competition.opens_at = now().replace(year=now().year + 1)
    stranger, learned = site.person("sam"), []
    values = {
        "phase_slug": "feedback",
        "league_slug": "free",
        "submission_id": submission["id"],
        "page_slug": "overview",
    }
    values |= {"run_id": submission["runs"][0]["id"], "username": "petra", "act": "pause"}
    for route in ROUTES:
        if "{slug}" not in route.path or "/pools/" in route.path:
            continue
        for method in route.methods or ():
            told = [
                answer(stranger, method, fill(route.path, values | {"slug": slug}))
                for slug in (SLUG, NOWHERE)
            ]
            if str(told[0]).replace(SLUG, NOWHERE) != str(told[1]):
                learned.append((method, route.path, told))
    assert learned == []


@pytest.fixture
def lent(site: Site, tmp_path: Path) -> Person:
    """Somebody whose public pool the competition trains on; its test pool has the same image, and is hidden."""
    sam = site.person("sam")
    rows = []
    for name, seed in (("OPEN", 1), ("SECRET", 1)):
        source = write_dataset(tmp_path / name, seed=seed)
        rows.append(add_pack(site.services, pack_dataset(source, tmp_path / f"{name}.anyshot-pack").path).id)
    with site.services.database.writing() as session:
        version = session.scalars(select(Phase).where(Phase.id == site.phase_id)).one().versions[0]
        for (slug, owner), pack_id in zip((("lent", sam.id), ("kept", site.owner_id)), rows, strict=True):
            pool = create_pool(session, slug=slug, name=slug, owner_id=owner)
            made = create_pool_version(session, pool, [session.get_one(Pack, pack_id)], created_by=owner)
            if slug == "lent":
                pool.published_at, version.meta_train_pool_version_id = now(), made.id
            else:
                version.meta_test_pool_version_id = made.id
    return sam


def test_who_lends_a_pool_learns_nothing_of_what_is_tested_beside_it(site: Site, lent: Person) -> None:
    """The comparison of one's pool names images of other datasets: of those that one may look into."""
    told = lent.call("GET", "/api/v1/pools/lent/overlaps").json()
    assert "kept" not in str(told) and "SECRET" not in str(told)
    assert told["compared"] == 0
    page = lent.call("GET", "/organize/pools/lent").text
    assert "SECRET" not in page and "kept" not in page
    owner = site.owner().call("GET", "/api/v1/pools/kept/overlaps").json()
    assert owner["compared"] == 1  # those who may look into both are told


def test_publishing_a_dataset_does_not_tell_whether_somebody_tests_on_it(site: Site, lent: Person) -> None:
    """Packs of a public dataset are the same wherever they are made: whoever has one could ask for each."""
    with site.services.database.writing() as session:
        secret = session.scalars(select(Pack).where(Pack.name == "SECRET")).one()
        pool = create_pool(session, slug="guess", name="guess", owner_id=lent.id)
        create_pool_version(session, pool, [secret], created_by=lent.id)
    body = {"confirm": "guess"}
    assert lent.call("POST", "/api/v1/pools/guess/acts/publish", json=body).status_code == 200
    own = site.owner().call("POST", "/api/v1/pools/kept/acts/publish", json={"confirm": "kept"})
    assert own.status_code == 409 and "Feedback" in own.text


@pytest.mark.parametrize("state", ["private", "draft"])
def test_who_lends_a_pool_learns_nothing_of_hidden_competitions(site: Site, lent: Person, state: str) -> None:
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.title = "A competition in the dark"
        competition.state = CompetitionState.DRAFT if state == "draft" else competition.state
        competition.visibility = Visibility.PRIVATE
    assert "in the dark" not in lent.call("GET", "/organize/pools/lent").text
    refused = lent.call("POST", "/api/v1/pools/lent/acts/delete")
    assert refused.status_code == 409 and "in the dark" not in refused.text
    assert "in the dark" in site.owner().call("GET", "/organize/pools/kept").text


def test_a_public_pool_of_a_private_competition_does_not_name_it(site: Site, lent: Person) -> None:
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.visibility, competition.title = Visibility.PRIVATE, "A competition in the dark"
        pool = session.scalars(select(Pool).where(Pool.slug == "small-train")).one()
        pool.published_at, pool.competition_id = now(), competition.id
    for path in ("/api/v1/pools", "/api/v1/pools/small-train"):
        shown = lent.call("GET", path).json()
        assert "'competition': 'small'" not in str(shown)
    assert "in the dark" not in lent.call("GET", "/organize/pools/small-train").text
    assert site.owner().call("GET", "/api/v1/pools/small-train").json()["competition"] == SLUG
