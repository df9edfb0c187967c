"""Secrets of a phase: each purpose has a key of its own, and a commitment can be verified by anyone."""

import hashlib
import hmac
import json

import numpy as np
import pytest

from anyshot_core.protocols import (
    AnyWayAnyShot,
    Legacy,
    ProtocolError,
    WithinDomain,
    protocol_from_dict,
)
from anyshot_core.protocols.keys import (
    KeyPurpose,
    PhaseSecrets,
    derive,
    draw_mark,
    draw_root,
    exports_seed,
    legacy_number,
    read_seed,
    write_seed,
)
from tests.core.data.factory import bare_pool

POOL = bare_pool((20, 40), (19, 40))
ROOT = bytes(range(32))
SECRETS = PhaseSecrets(ROOT)


def test_a_key_is_hmac_sha256_of_the_root_as_the_documentation_writes_it() -> None:
    wanted = hmac.new(ROOT, b'anyshot phase key 1["tasks",2]', hashlib.sha256).digest()
    assert derive(ROOT, KeyPurpose.TASKS, 2) == SECRETS.tasks(2) == wanted


def test_the_commitment_is_sha256_of_what_is_published_later() -> None:
    chosen = json.dumps({"split_seed": 7, "test_seeds": [1, 2]}, separators=(",", ":")).encode()
    wanted = hashlib.sha256(b"anyshot phase commitment 1" + ROOT + chosen).hexdigest()
    assert PhaseSecrets(ROOT, test_seeds=(1, 2), split_seed=7).commitment() == wanted
    assert SECRETS.commitment() not in (wanted, PhaseSecrets(draw_root()).commitment())


def test_no_two_purposes_or_runs_share_a_key() -> None:
    smoke, gate = SECRETS.smoke(), SECRETS.gate("m")
    keys = [
        draw(run)
        for secrets in (SECRETS, smoke, gate)
        for draw in (secrets.tasks, secrets.query_order)
        for run in range(3)
    ]
    keys += [secrets.class_split() for secrets in (SECRETS, smoke, gate)]
    assert len(set(keys)) == 21
    assert all(isinstance(key, bytes) and len(key) == 32 for key in keys)
    assert SECRETS.gate("m").tasks(0) != SECRETS.gate("n").tasks(0)


def test_the_tasks_of_exports_follow_from_those_of_the_run_and_do_not_tell_them() -> None:
    tasks = SECRETS.tasks(0)
    assert isinstance(tasks, bytes)
    assert exports_seed(tasks) == hmac.digest(tasks, b'anyshot phase key 1["exports"]', "sha256")
    number = hashlib.sha256(b"anyshot number 1 93").digest()
    assert exports_seed(93) == hmac.digest(number, b'anyshot phase key 1["exports"]', "sha256")


def test_a_mark_is_of_the_tasks_and_of_the_phase_and_no_seed_can_be_tried_on_it() -> None:
    """Equal for equal tasks of a phase; who knows all but the root knows only marks that it is not."""
    chosen = PhaseSecrets(ROOT, test_seeds=(93, 94, 93))
    marks = [chosen.mark(chosen.tasks(run)) for run in range(3)]
    assert marks[0] == marks[2] != marks[1] and len(bytes.fromhex(marks[0])) == 32
    other = PhaseSecrets(draw_root(), test_seeds=(93,))
    assert other.mark(93) != marks[0] and draw_mark(93) != draw_mark(bytes.fromhex(marks[0]))


def test_runs_that_share_their_tasks_share_the_order_of_the_query() -> None:
    same = PhaseSecrets(ROOT, same_tasks=True)
    assert same.tasks(2) == same.tasks(0) and same.query_order(2) == same.query_order(0)


def test_small_seeds_replace_the_tasks_but_never_the_order_of_the_query() -> None:
    chosen = PhaseSecrets(ROOT, test_seeds=(93, 94))
    assert chosen.tasks(1) == 94
    assert chosen.query_order(1) == SECRETS.query_order(1)


def test_a_fingerprint_cannot_be_tried_without_the_root() -> None:
    assert SECRETS.fingerprint([1]) == SECRETS.fingerprint([1]) != SECRETS.fingerprint([2])
    assert SECRETS.fingerprint([1]) != PhaseSecrets(draw_root()).fingerprint([1])


@pytest.mark.parametrize("protocol", [AnyWayAnyShot(query=2), WithinDomain(query=2), Legacy(query=2)])
def test_tasks_are_drawn_from_a_key_and_differ_between_keys(protocol: AnyWayAnyShot) -> None:
    one, other = SECRETS.tasks(0), SECRETS.tasks(1)
    first = [protocol.task(POOL, one, index) for index in range(6)]
    again = [protocol.task(POOL, one, index) for index in range(6)]
    others = [protocol.task(POOL, other, index) for index in range(6)]
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    assert not all(a.equals(b) for a, b in zip(first, others, strict=True))


def test_a_split_by_key_goes_through_plain_data() -> None:
    protocol = WithinDomain(split_seed=SECRETS.class_split())
    plain = json.loads(json.dumps(protocol.to_dict()))
    assert protocol_from_dict(plain) == protocol
    other = WithinDomain(split_seed=derive(ROOT, KeyPurpose.CLASS_SPLIT, "another"))
    assert not np.array_equal(other.classes(POOL, 0), protocol.classes(POOL, 0))


@pytest.mark.parametrize("bad", [-1, True, 1.5, "ab" * 31, "AB" * 32, "deadbeef" * 8 + "0", None])
def test_a_bad_seed_is_refused_without_being_repeated(bad: object) -> None:
    with pytest.raises(ProtocolError, match="split_seed: a seed is a whole number") as refused:
        protocol_from_dict({"name": "within_domain", "split_seed": bad})
    assert "dead" not in str(refused.value) and "abab" not in str(refused.value).lower()


def test_seeds_are_written_and_read() -> None:
    assert all(read_seed(json.loads(json.dumps(write_seed(seed)))) == seed for seed in (0, 2**31, ROOT))
    assert legacy_number(93) == 93
    assert 0 <= legacy_number(ROOT) < 2**32 and legacy_number(ROOT) != int.from_bytes(ROOT[:4], "big")


def test_a_root_is_32_bytes_and_is_not_printed() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        derive(b"short", KeyPurpose.TASKS)
    assert len({draw_root() for _ in range(10)}) == 10
    assert ROOT.hex() not in repr(SECRETS) and str(ROOT) not in repr(SECRETS)
