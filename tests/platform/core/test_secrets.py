"""What a participant can compute from what they see: everything here is tried by someone who wants the hidden tasks.

docs/organizers/secrets.md lists what is tried; each attack is first shown to work where it must.
"""

import hashlib
import hmac
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from anyshot_core.protocols import AnyWayAnyShot, Legacy, Protocol, WithinDomain
from anyshot_core.protocols.keys import KeyPurpose, PhaseSecrets, Seed, derive, draw_mark, read_seed
from anyshot_core.taskserver.tasks import query_order
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.secrets import secrets_of
from anyshot_starting_kit.cli.verify_key import verify_key
from tests.core.data.factory import bare_pool
from tests.platform.site import Person, Site, make_zip
from tests.platform.web.crawling import walk

POOL = bare_pool((20, 40), (19, 40))
PROTOCOL = AnyWayAnyShot()
STEP = 1_000_003  # between the tasks and the smoke test of the first release
PHASE = "/api/v1/competitions/small/manage/phases/feedback"
DOCUMENT = Path(__file__).parents[3] / "docs" / "organizers" / "secrets.md"


def with_key(site: Site, **values: Any) -> None:
    """The phase as one that is made now: no small seeds."""
    site.set_version(**{"test_seeds": [], **values})


def version_of(site: Site) -> PhaseVersion:
    with site.services.database.reading() as session:
        return session.get_one(Phase, site.phase_id).versions[0]


def ways_and_shots(seed: Seed, protocol: Protocol = PROTOCOL) -> list[tuple[int, int, int]]:
    """What a run's code sees of five tasks."""
    return [(task.dataset, task.ways, task.shots) for task in protocol.tasks(POOL, seed, 5)]


def run_once(site: Site, alice: Person, salt: str = "", **wishes: Any) -> tuple[str, dict[str, Any]]:
    """Submit, and let a worker finish; the submission's id and the job."""
    worker = site.worker(f"worker{salt}")
    sent = alice.submit(make_zip(salt=salt or "one"), **wishes)
    assert sent.status_code == 201, sent.text
    job = worker.claim()
    assert job is not None
    provenance = {"protocol_digest": job["fingerprint"], "worker": "w"}
    assert worker.complete(job, 0.5, provenance=provenance).status_code == 204
    return sent.json()["id"], job


def everything_seen(alice: Person, submission: str) -> str:
    """All that a participant can open about a phase and a submission of theirs, as one text."""
    base = "/competitions/small"
    paths = [
        f"/api/v1{base}",
        f"/api/v1{base}/phases/feedback/leaderboard",
        f"/api/v1{base}/phases/feedback/quota",
        f"/api/v1/submissions/{submission}",
        base,
        f"{base}/phases/feedback",
        f"{base}/phases/feedback/submit",
        f"{base}/leaderboard?phase=feedback",
        f"/submissions/{submission}",
    ]
    answers = [alice.call("GET", path) for path in paths]
    assert [answer.status_code for answer in answers] == [200] * len(paths)
    files = alice.call("GET", f"/submissions/{submission}/everything.zip")
    texts = [answer.text for answer in answers]
    if files.status_code == 200:
        with zipfile.ZipFile(io.BytesIO(files.content)) as archive:
            texts += [archive.read(name).decode(errors="replace") for name in archive.namelist()]
    return "\n".join(texts)


def guesses(seen: str) -> Iterator[Seed]:
    """Every number and every digest that was seen, what is near to it, and what is derived from it."""
    numbers = {int(found) for found in re.findall(r"(?<![0-9a-f])\d{1,10}(?![0-9a-f])", seen)}
    for number in {*range(3000), *numbers}:
        yield from (near for near in (number, number + STEP, number - STEP) if near >= 0)
    for digits in sorted(set(re.findall(r"(?<![0-9a-f])[0-9a-f]{12,64}(?![0-9a-f])", seen))):
        raw = digits.encode()
        keys = [hashlib.sha256(raw).digest(), hmac.digest(b"anyshot", raw, "sha256")]
        if len(digits) == 64:
            keys.append(bytes.fromhex(digits))
        for key in keys:
            yield key
            yield from (derive(key, KeyPurpose.TASKS, run) for run in range(3))
            yield from (int.from_bytes(key[:4], "big"), int.from_bytes(key[:4], "big") >> 1)


def find_seed(seen: str, observed: list[tuple[int, int, int]]) -> Seed | None:
    """The attack of the review: try all that could be a seed against ways and shots."""
    first = observed[0]
    for guess in guesses(seen):
        task = PROTOCOL.task(POOL, guess, 0)
        if (task.dataset, task.ways, task.shots) == first and ways_and_shots(guess) == observed:
            return guess
    return None


def test_ways_and_shots_give_no_seed(site: Site) -> None:
    alice = site.member("alice")
    site.set_version(test_seeds=[2024])
    seen = everything_seen(alice, run_once(site, alice)[0])
    assert find_seed(seen, ways_and_shots(2024)) == 2024, "the attack works on a small seed"
    with_key(site)
    submission, job = run_once(site, alice, "two")
    seen = everything_seen(alice, submission)
    assert find_seed(seen, ways_and_shots(read_seed(job["test_seed"]))) is None


def test_which_seeds_are_secret_is_said_and_no_page_shows_one(site: Site) -> None:
    """The review: "secret" training seeds were shown. They are none; those of the tasks are, on every page."""
    train, test, key = 871236541, 912837465, "ab" * 32
    site.set_version(train_seeds=[train], test_seeds=[test], root=key)
    pia, worker = site.member("pia"), site.worker()
    failed = pia.submit(make_zip(salt="bad")).json()["id"]
    job = worker.claim()
    assert job is not None and worker.fail(job, "RUNTIME_ERROR").status_code == 204
    finished, _ = run_once(site, pia, "good")
    shown, base = dict[str, str](), "/competitions/small"
    for person in (pia, site.member("paul"), site.person("sam"), None):
        own = [f"/submissions/{failed}", f"/submissions/{finished}"] if person is pia else []
        headers = {"accept": "text/html", **(person.headers if person else {})}
        walk(
            lambda address, headers=headers: site.client.get(address, headers=headers),
            str(site.client.base_url),
            base,
            *own,
            goes_to=lambda path, own=own: path.startswith((base, *own)) and "/manage" not in path,
            look=lambda answer: shown.update({f"{len(shown)} {answer.url.path}": answer.text}),
        )
    shown["everything"] = everything_seen(pia, failed) + everything_seen(pia, finished)
    assert len(shown) > 20
    assert [path for path, page in shown.items() if str(test) in page or key in page] == []
    assert {path.split()[1] for path, page in shown.items() if f"--seed {train}" in page and " " in path} == {
        f"/submissions/{failed}",
        f"/submissions/{finished}",
    }
    assert "**Training seeds** are no secret" in DOCUMENT.read_text()


def test_a_smoke_test_tells_nothing_about_the_tasks(site: Site) -> None:
    alice = site.member("alice")
    site.offer_smoke_tests()
    with_key(site)
    _, smoke = run_once(site, alice, "smoke", smoke=True)
    _, real = run_once(site, alice, "real")
    names = ("test_seed", "query_key")
    assert not {smoke[name] for name in names} & {real[name] for name in names}
    crack = smoke["test_seed"], smoke["query_key"], json.dumps(smoke)
    assert find_seed("\n".join(crack), ways_and_shots(read_seed(real["test_seed"]))) is None


def test_a_smoke_test_beside_small_seeds_has_a_key_of_its_own(site: Site) -> None:
    alice = site.member("alice")
    site.offer_smoke_tests()
    _, smoke = run_once(site, alice, smoke=True)
    assert isinstance(read_seed(smoke["test_seed"]), bytes)


def test_the_order_of_the_query_is_secret_even_where_the_tasks_are_not(site: Site) -> None:
    alice = site.member("alice")
    site.set_version(protocol={"name": "legacy", "tasks_per_dataset": 5}, test_seeds=[93])
    submission, job = run_once(site, alice)
    assert job["test_seed"] == 93 and ways_and_shots(93, Legacy(tasks_per_dataset=5))
    order = query_order(bytes.fromhex(job["query_key"]), 0, 60).tolist()
    old = hashlib.sha256(b"anyshot query order 93").digest()
    tried = [
        old,
        *(guess for guess in guesses(everything_seen(alice, submission)) if isinstance(guess, bytes)),
    ]
    assert all(query_order(guess, 0, 60).tolist() != order for guess in tried)


def test_the_identity_is_no_secret_order(site: Site) -> None:
    with_key(site)
    _, job = run_once(site, site.member("alice"))
    order = query_order(bytes.fromhex(job["query_key"]), 0, 100).tolist()
    assert sorted(order) == list(range(100)) != order


def test_the_protocol_digest_gives_no_split(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    site.set_version(protocol={"name": "within_domain", "split_seed": 1234})
    digests = {}  # as the first release made them
    with site.services.database.reading() as session:
        tested = session.get_one(Phase, site.phase_id).versions[0].meta_test
        assert tested is not None
        pool = tested.digest
    for seed in range(1200, 1300):
        words = json.dumps([WithinDomain(split_seed=seed).to_dict(), pool], sort_keys=True)
        digests[hashlib.sha256(words.encode()).hexdigest()] = seed
    submission = alice.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    stored = next(digest for digest, seed in digests.items() if seed == 1234)
    worker.complete(job, 0.5, provenance={"protocol_digest": stored})
    seen = everything_seen(alice, submission)
    assert "rotocol digest" in seen
    assert not [seed for digest, seed in digests.items() if digest[:12] in seen]


def test_two_runs_on_the_same_tasks_have_the_same_fingerprint(site: Site) -> None:
    alice = site.member("alice")
    with_key(site)
    first, second = run_once(site, alice, "a")[1], run_once(site, alice, "b")[1]
    assert first["fingerprint"] == second["fingerprint"] != ""
    site.set_version(root="ab" * 32)
    assert run_once(site, alice, "c")[1]["fingerprint"] != first["fingerprint"]


def test_the_mark_of_exported_tasks_gives_no_seed(site: Site) -> None:
    """A worker marks exported tasks by what the job says: the same for the same tasks, by nothing that can be tried."""
    alice = site.member("alice")
    site.set_version(test_seeds=[93])
    first, second = run_once(site, alice, "a")[1], run_once(site, alice, "b")[1]
    assert first["test_seed"] == 93 and first["tasks_mark"] == second["tasks_mark"]
    tried = {draw_mark(seed) for seed in range(1000)}
    assert draw_mark(93) in tried and draw_mark(bytes.fromhex(first["tasks_mark"])) not in tried
    site.set_version(root="ab" * 32)
    assert run_once(site, alice, "c")[1]["tasks_mark"] != first["tasks_mark"], "no other phase tells it"


def test_digests_of_hidden_data_are_not_shown(site: Site) -> None:
    alice = site.member("alice")
    with_key(site)
    seen = everything_seen(alice, run_once(site, alice)[0])
    with site.services.database.reading() as session:
        pool = session.get_one(Phase, site.phase_id).versions[0].meta_test
        assert pool is not None
        hidden = [pool.digest, *(entry.pack.digest for entry in pool.entries)]
    assert not [digest for digest in hidden if digest[:12] in seen]


def test_no_job_carries_the_root_and_no_page_a_key(site: Site) -> None:
    alice = site.member("alice")
    site.offer_smoke_tests()
    with_key(site, protocol={"name": "within_domain"})
    smoke = run_once(site, alice, "smoke", smoke=True)
    real = run_once(site, alice, "real")
    version = version_of(site)
    secrets = secrets_of(version)
    assert version.root not in json.dumps([smoke[1], real[1]])
    assert smoke[1]["protocol"]["split_seed"] != real[1]["protocol"]["split_seed"]
    everything = [version.root]
    for part in (secrets, secrets.smoke()):
        keys = [part.tasks(0), part.query_order(0), part.class_split(), part.root]
        everything += [key.hex() for key in keys if isinstance(key, bytes)]
    for submission, _ in (smoke, real):
        seen = everything_seen(alice, submission)
        assert not [key for key in everything if key in seen]
    told = site.owner().call("GET", PHASE).text
    assert not [key for key in everything if key in told]


def test_a_receipt_gives_no_key_and_no_hidden_data(site: Site) -> None:
    """Of hidden data it has a fingerprint alone, which the key opens once it is published."""
    key = "ab" * 32
    with_key(site, root=key)

    def receipt_of(person: Person) -> dict[str, Any]:
        (signed,) = person.call("GET", f"/api/v1/submissions/{run_once(site, person)[0]}/receipts").json()
        return signed["receipt"]

    found, version = receipt_of(site.member("alice")), version_of(site)
    secrets = secrets_of(version)
    with site.services.database.reading() as session:
        pool = session.get_one(PhaseVersion, version.id).meta_test
        assert pool is not None
        digest, names = pool.digest, [entry.pack.name for entry in pool.entries]
        hidden = [digest, *names, *(entry.pack.digest for entry in pool.entries)]
    keys = (secrets.root, secrets.tasks(0), secrets.query_order(0), secrets.class_split())
    hidden += [one.hex() for one in keys if isinstance(one, bytes)]
    assert not [one for one in hidden if one in json.dumps(found)]
    assert found["test_data"]["digest"] is None
    assert PhaseSecrets(bytes.fromhex(key)).commitment() == found["commitment"]
    assert secrets.fingerprint(["data", digest]) == found["test_data"]["fingerprint"]
    with site.services.database.writing() as session:
        session.query(Pool).filter(Pool.slug == "small-pool").one().published_at = now()
    assert receipt_of(site.member("bob"))["test_data"]["digest"] == digest


def test_keys_of_runs_differ_unless_they_share_their_tasks(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    with_key(site, train_seeds=[1, 2])
    alice.submit(make_zip(salt="a"))
    first, second = worker.claim(), worker.claim()
    assert first and second and first["test_seed"] != second["test_seed"]
    assert [first["train_seed"], second["train_seed"]] == [1, 2]
    site.set_version(same_test_tasks=True)
    bob = site.member("bob")
    bob.submit(make_zip(salt="b"))
    first, second = worker.claim(), worker.claim()
    assert first and second
    assert (first["test_seed"], first["query_key"]) == (second["test_seed"], second["query_key"])


def test_the_commitment_is_published_at_opening_and_verified_later(site: Site) -> None:
    owner, alice = site.owner(), site.member("alice")
    with_key(site)

    def phase() -> dict[str, Any]:
        return alice.call("GET", "/api/v1/competitions/small").json()["phases"][0]

    site.set_phase(starts_at=now() + timedelta(days=1))
    assert phase()["commitment"] is None
    site.set_phase(starts_at=now() - timedelta(days=1))
    commitment = phase()["commitment"]
    page = alice.call("GET", "/competitions/small/phases/feedback").text
    assert commitment in page and phase()["key"] is None
    assert owner.call("POST", f"{PHASE}/acts/redraw-seeds").status_code == 409
    refused = owner.call("POST", f"{PHASE}/acts/publish-key")
    assert refused.status_code == 409 and "once the phase is closed" in refused.json()["message"]
    site.set_phase(ends_at=now() - timedelta(hours=1))
    assert owner.call("POST", f"{PHASE}/acts/publish-key").status_code == 409, "the data is hidden"
    with site.services.database.writing() as session:
        session.query(Pool).filter(Pool.slug == "small-pool").one().published_at = now()
    assert owner.call("POST", f"{PHASE}/acts/publish-key").json()["error"] == "confirm"
    named = {"confirm": "feedback"}
    assert owner.call("POST", f"{PHASE}/acts/publish-key", json=named).status_code == 200
    key = phase()["key"]
    assert PhaseSecrets(bytes.fromhex(key)).commitment() == commitment
    assert key in alice.call("GET", "/competitions/small/phases/feedback").text
    shown = CliRunner().invoke(verify_key, [key, commitment])
    assert shown.exit_code == 0 and secrets_of(version_of(site)).query_order(0).hex() in shown.output
    assert CliRunner().invoke(verify_key, [key, "0" * 64]).exit_code == 1
    reopened = owner.call("POST", f"{PHASE}/acts/extend", json={"end": None})
    assert (reopened.status_code, reopened.json()["error"]) == (409, "act_refused")


def test_a_key_that_everybody_was_promised_is_not_replaced_by_saving_settings(site: Site) -> None:
    """Drawing one was refused, and a file or a PUT gave the open phase another commitment; the log said nothing."""
    owner, alice = site.owner(), site.member("alice")
    with_key(site, protocol={"name": "within_domain"})

    def commitment() -> str | None:
        return alice.call("GET", "/api/v1/competitions/small").json()["phases"][0]["commitment"]

    before = commitment()
    split = {"name": "within_domain", "split_seed": 7}
    for tasks in (
        {"key": "ab" * 32},
        {"test_seeds": [7]},
        {"protocol": split},
        {"protocol": {"name": "fixed"}},
    ):
        answer = owner.call("PATCH", PHASE, json={"tasks": tasks})
        kept = tasks == {"protocol": {"name": "fixed"}}  # no secret of its own: the commitment stays
        assert answer.status_code == (200 if kept else 409), (tasks, answer.text)
        assert kept or answer.json()["message"] == (
            "This phase has begun, and its commitment is published. Draft a version with a new key."
        )
        assert commitment() == before
    site.set_phase(starts_at=now() + timedelta(days=1))
    assert owner.call("PATCH", PHASE, json={"tasks": {"key": "ab" * 32}}).status_code == 200
    logged = owner.call("GET", "/api/v1/competitions/small/manage/audit").json()["items"][0]
    assert logged["action"] == "phase.change"
    assert logged["after"] == {"tasks.key": "another one"}
    assert "abab" not in owner.call("GET", "/competitions/small/manage/audit").text
    site.set_phase(starts_at=now() - timedelta(days=1))
    assert commitment() not in (None, before)


def test_a_new_version_keeps_the_key_unless_a_new_one_is_wanted(site: Site) -> None:
    owner = site.owner()
    with_key(site)
    settings = owner.call("GET", PHASE).json()["settings"]
    for new in (False, True):
        body = {"settings": settings, "reason": "", "new_key": new}
        assert owner.call("POST", f"{PHASE}/versions", json=body).status_code == 201
    with site.services.database.reading() as session:
        first, same, other = (version.root for version in session.get_one(Phase, site.phase_id).versions)
    assert first == same != other


def test_small_seeds_and_the_tasks_of_2022_are_said_to_be_for_comparison(site: Site) -> None:
    owner = site.owner()
    with_key(site)
    editor, page = "/competitions/small/manage/phases/feedback", "/competitions/small/phases/feedback"
    assert "Not for prizes" not in owner.call("GET", editor).text
    for change in ({"test_seeds": [5]}, {"protocol": {"name": "legacy"}, "test_seeds": []}):
        site.set_version(**change)
        assert "Not for prizes" in owner.call("GET", editor).text
        assert "for comparison, not for prizes" in owner.call("GET", page).text


def test_the_documentation_lists_what_is_tried_here() -> None:
    listed = set(re.findall(r"`(test_\w+)`", DOCUMENT.read_text())) - {"test_seeds"}
    here = {name for name in globals() if name.startswith("test_") and "documentation" not in name}
    assert listed and listed <= here
    attacks = {name for name in here if re.search(r"give|tells|secret|shown|carries|commitment", name)}
    assert attacks <= listed
