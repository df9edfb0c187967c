"""Warm boxes: there before they are asked for, never used twice, of the right kind."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox.cgroups import poll
from anyshot_worker.sandbox.interface import BoxSpec, SandboxError
from anyshot_worker.sandbox.pool import WarmPool
from tests.worker.sandbox.fake import FakeBackend

SPEC = BoxSpec("cpu")
OTHER = BoxSpec("cpu", Limits(memory_bytes=1 << 30))


@contextmanager
def pool_of(backend: FakeBackend, size: int, spec: BoxSpec | None = SPEC) -> Iterator[WarmPool]:
    pool = WarmPool(backend, size, spec)
    try:
        yield pool
    finally:
        pool.close()


def test_a_warm_box_is_handed_out_at_once() -> None:
    with pool_of(FakeBackend(), 2) as pool:
        assert pool.wait_until_warm(5)
        box, seconds = pool.take(SPEC)
        assert seconds == 0
        assert box.alive()


def test_no_box_is_handed_out_twice() -> None:
    backend = FakeBackend()
    with pool_of(backend, 2) as pool:
        taken = [pool.take(SPEC, eager=True)[0].id for _ in range(20)]
    assert len(set(taken)) == 20


def test_pool_waits_while_somebody_is_at_work() -> None:
    backend = FakeBackend()
    with pool_of(backend, 1) as pool:
        assert pool.wait_until_warm(5)
        pool.take(SPEC)
        assert not poll(lambda: pool.waiting() == 1, 0.3)
        pool.done()
        assert pool.wait_until_warm(5)


def test_isolated_tasks_warm_the_next_box_meanwhile() -> None:
    with pool_of(FakeBackend(), 1) as pool:
        assert pool.wait_until_warm(5)
        pool.take(SPEC, eager=True)
        assert pool.wait_until_warm(5)


def test_boxes_of_another_kind_are_thrown_away() -> None:
    backend = FakeBackend()
    with pool_of(backend, 1) as pool:
        assert pool.wait_until_warm(5)
        box, _ = pool.take(OTHER)
        assert box.spec.limits == OTHER.limits
        assert backend.started[0].closed


def test_a_box_that_died_in_the_pool_is_not_handed_out() -> None:
    backend = FakeBackend()
    with pool_of(backend, 1) as pool:
        assert pool.wait_until_warm(5)
        backend.started[0].dead = True
        box, _ = pool.take(SPEC)
        assert box.alive()
        assert poll(lambda: backend.started[0].closed, 5)


def test_a_backend_that_fails_is_told_to_who_asks() -> None:
    backend = FakeBackend(broken=True)
    with pool_of(backend, 1) as pool:
        with pytest.raises(SandboxError, match="on purpose"):
            pool.take(SPEC)
        backend.broken = False
        assert pool.take(SPEC)[0].alive()


def test_close_leaves_no_box() -> None:
    backend = FakeBackend()
    with pool_of(backend, 3) as pool:
        assert pool.wait_until_warm(5)
    assert all(box.closed for box in backend.started)
