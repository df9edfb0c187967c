"""A zip that asks for more validation datasets than its phase has is refused before it is queued, and costs nothing."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.protocols import HeldOutDomains, Roles, WithinDomain
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.images import opened
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.judging.execution.kinds.training_data import count_shown
from tests.core.tinydata import write_pack
from tests.platform.core.test_each_dataset import by_dataset
from tests.platform.site import MODEL, SLUG, Person, Site, make_paper_pack, make_zip
from tests.platform.web.test_handing_in import DOORS, hand_in, told

ONE_DATASET = (
    "config.json: validation_datasets is 1; allowed is 0 or null, because meta-training has one dataset."
    " Correct it in config.json."
)


def holding_out(number: int) -> bytes:
    """A zip that sets so many datasets aside."""
    return make_zip({"model.py": MODEL, "config.json": b'{"validation_datasets": %d}' % number})


def train_on(site: Site, number: int) -> None:
    """The phase trains on so many datasets."""
    ids = [make_paper_pack(site.services, f"training-{place}") for place in range(number)]
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="more", name="More", owner_id=site.owner_id)
        packs = [session.get_one(Pack, pack_id) for pack_id in ids]
        version = create_pool_version(session, pool, packs, created_by=site.owner_id)
        session.get_one(Phase, site.phase_id).versions[0].meta_train_pool_version_id = version.id


def left_today(person: Person) -> int:
    return person.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/quota").json()["day"]["left"]


def test_a_phase_that_goes_dataset_by_dataset_refuses_validation_datasets(site: Site) -> None:
    """Green checks, then a failure on every dataset, cost one submission of two a day."""
    alice = site.member("alice")
    train_on(site, 3)
    digest = alice.submit(holding_out(1)).json()["digest"]
    by_dataset(site)
    left = left_today(alice)
    for door, source in itertools.product(DOORS, ("upload", "digest")):
        given = alice.upload(holding_out(1)) if source == "upload" else digest
        answer = hand_in(site, alice, door, source, given)
        assert answer.status_code == 422 and ONE_DATASET in told(answer), told(answer)
        assert left_today(alice) == left
        if door == "form":
            assert "It cost no quota." in told(answer) and "What was checked" in told(answer)


def check(person: Person, content: bytes, **phase: Any) -> dict[str, Any]:
    answer = person.call("POST", f"/api/v1/uploads/{person.upload(content)}/check", params=phase)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_upload_page_checks_for_its_phase(site: Site) -> None:
    alice = site.member("alice")
    by_dataset(site)
    page = alice.call("GET", f"/competitions/{SLUG}/phases/feedback/submit").text
    assert f"/check?competition={SLUG}&amp;phase=feedback" in page
    here = {"competition": SLUG, "phase": "feedback"}
    assert check(alice, holding_out(1))["ok"], "of no phase"
    assert check(alice, holding_out(0), **here)["ok"]
    (failed,) = [one for one in check(alice, holding_out(1), **here)["checks"] if one["outcome"] == "failed"]
    assert f"{failed['found']} {failed['remedy']}" == ONE_DATASET
    elsewhere = alice.call(
        "POST", f"/api/v1/uploads/{alice.upload(holding_out(1))}/check", params={**here, "phase": "nowhere"}
    )
    assert elsewhere.status_code == 404


def test_as_many_are_held_out_as_leave_one_to_train_on(site: Site) -> None:
    alice = site.member("alice")
    train_on(site, 3)
    assert alice.submit(holding_out(2)).status_code == 201
    refused = alice.submit(holding_out(3))
    assert refused.status_code == 422 and (
        "validation_datasets is 3; allowed is a whole number from 0 to 2, or null,"
        " because meta-training has 3 datasets. Correct it in config.json."
    ) in told(refused)


def test_where_the_phase_says_what_is_validated_on_nothing_is_held_out(site: Site) -> None:
    by_dataset(site, validation_protocol={"name": "within_domain", "split": "70/15/15", "part": "meta_valid"})
    assert site.member("alice").submit(holding_out(1)).status_code == 201


def test_a_smoke_test_is_checked_for_its_own_data(site: Site) -> None:
    """It trains on the public pool, without the phase's validation protocol."""
    alice = site.member("alice")
    train_on(site, 3)
    site.offer_smoke_tests("one", "two")
    assert alice.submit(holding_out(1), smoke=True).status_code == 201
    refused = alice.submit(holding_out(2), smoke=True)
    assert refused.status_code == 422 and "because meta-training has 2 datasets" in told(refused)
    assert alice.submit(holding_out(2)).status_code == 201


@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_the_number_is_that_of_the_job(site: Site, smoke: bool, each: bool) -> None:
    """What a worker is sent to train on decides what its runner allows."""
    alice = site.member("alice")
    train_on(site, 3)
    site.offer_smoke_tests("one", "two")
    if each:
        by_dataset(site)
    alice.submit(holding_out(0), smoke=smoke)
    job = site.worker().claim()
    assert job is not None and not job.get("validation_protocol")
    trained = 1 if job["dataset"] is not None else len(job["meta_train"])
    site.set_phase(quota_day=9)
    assert alice.submit(holding_out(trained), smoke=smoke).status_code == 422
    assert alice.submit(holding_out(trained - 1), smoke=smoke).status_code == 201


def test_a_dataset_that_the_protocol_hides_is_not_trained_on(site: Site, tmp_path: Path) -> None:
    """Of a held-out domain a worker keeps nothing; the packs are opened to see what is left."""
    blob = keep_file(site.services, write_pack(tmp_path, "shown"))
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="real", name="Real", owner_id=site.owner_id)
        pack = Pack(name="shown", domain="tiny", digest=blob.digest, size=blob.size, images=60, classes=5)
        session.add(pack)
        session.flush()
        real = create_pool_version(session, pool, [pack], created_by=site.owner_id)
        with opened(site.services.storage, blob.digest) as found:
            hidden, other = (Roles(HeldOutDomains(domains=(name,))) for name in (found.domain, "other"))
        counted = [count_shown(session, roles, real, None) for roles in (hidden, other, None)]
        trained = count_shown(session, Roles(WithinDomain()), real, real)
    assert (counted, trained) == ([0, 1, 1], 1)
