"""Who holds a run, and who may claim: the rules of `judging.execution`, one by one."""

import itertools
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.execution.leases import back_off_seconds
from anyshot_platform.judging.execution.scheduling import ELSEWHERE
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.runs.transitions import StaleEpoch, write_state
from anyshot_platform.judging.workers.images import Needs, can_carry, carried_by
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.server.sweeper import take_back_lost
from tests.contract.recording import worker_info
from tests.platform.site import PaperWorker, Site


@pytest.fixture
def worker(site: Site) -> PaperWorker:
    site.member("alice").submit()
    return site.worker()


def change_runs(site: Site, **values: object) -> None:
    with site.services.database.writing() as session:
        session.execute(update(Run).values(**values))


def test_messages_of_an_epoch_that_is_still_to_come_are_refused(site: Site, worker: PaperWorker) -> None:
    """A worker that counts on by itself would keep a run that is claimed again by another."""
    job = worker.claim()
    assert job is not None
    ahead = {**job, "epoch": job["epoch"] + 1}
    for answer in (
        worker.beat(ahead),
        worker.tell(ahead),
        worker.put(ahead, "log.txt", b"x"),
        worker.release(ahead),
        worker.fail(ahead, "RUNTIME_ERROR"),
        worker.complete(ahead, 0.9),
    ):
        assert (answer.status_code, answer.json()["error"]) == (409, "stale_epoch")
    assert worker.complete(job, 0.5).status_code == 204


def test_a_heartbeat_that_crosses_the_next_claim_is_refused(site: Site, worker: PaperWorker) -> None:
    """The run is claimed again, by the same worker: only the epoch tells the attempts apart."""
    old = worker.claim()
    change_runs(site, lease_expires_at=now() - timedelta(seconds=1))
    assert take_back_lost(site.services) == 1
    new = worker.claim()
    assert old is not None and new is not None
    assert (worker.beat(old).status_code, worker.beat(new).status_code) == (409, 200)
    assert worker.complete(old, 0.9).status_code == 409


def test_the_writer_of_states_notices_another_attempt_in_the_same_state(
    site: Site, worker: PaperWorker
) -> None:
    job = worker.claim()
    assert job is not None
    database = site.services.database
    with pytest.raises(StaleEpoch), database.writing() as session:
        known = session.get_one(Run, job["run_id"])
        session.expunge(known)  # from now on its epoch is what somebody remembers
        session.execute(update(Run).values(epoch=known.epoch + 2))
        write_state(session, known, RunState.PREPARING)


def test_a_cancelled_run_whose_worker_stops_is_not_queued_again(site: Site, worker: PaperWorker) -> None:
    job = worker.claim()
    assert job is not None
    alice = site.submission(job["submission_id"])
    change_runs(site, cancel_requested_at=now())
    assert worker.release(job).status_code == 204
    assert worker.claim() is None
    assert site.submission(alice.id).status == "cancelled"


def test_a_paused_worker_gets_nothing(site: Site, worker: PaperWorker) -> None:
    other = site.worker("another", hardware_class="none")
    assert other.claim() is None
    other.hardware_class = "cpu"
    with site.services.database.writing() as session:
        session.execute(update(Worker).values(paused_at=now()))
    assert other.claim() is None
    assert worker.claim() is not None


@pytest.mark.parametrize("verdict", ["DOCKER_ERROR", "KILLED"])
@pytest.mark.parametrize("later", [{"paused_at": now()}, {"last_seen_at": now() - timedelta(hours=1)}, None])
def test_a_machine_that_breaks_every_run_breaks_none_for_good(
    site: Site, worker: PaperWorker, verdict: str, later: dict[str, object] | None
) -> None:
    job, other = worker.claim(), site.worker("another")
    assert job is not None and other.claim() is None
    assert worker.fail(job, verdict).status_code == 204
    assert worker.claim() is None, "another one takes work"
    if later is None:
        again = other.claim()
    else:
        with site.services.database.writing() as session:
            session.execute(update(Worker).where(Worker.name == "another").values(**later))
        again = worker.claim()
    assert again is not None and again["run_id"] == job["run_id"]


def test_a_run_that_went_wrong_on_each_machine_waits_for_none(site: Site, worker: PaperWorker) -> None:
    def lose() -> None:
        change_runs(site, lease_expires_at=now() - timedelta(hours=1))
        assert take_back_lost(site.services) == 1

    other = site.worker("another")
    assert other.claim() is not None and worker.claim() is None
    lose()
    assert other.claim() is None, "one on which it did not go wrong takes work"
    assert worker.claim() is not None
    lose()
    assert other.claim() is not None


def test_a_run_that_nobody_else_takes_comes_back_to_the_machine_that_it_failed_on(
    site: Site, worker: PaperWorker
) -> None:
    change_runs(site, memory_bytes=2 << 30)
    job, other = worker.claim(), site.worker("another", memory_bytes=1 << 30)
    assert job is not None and other.claim() is None
    assert worker.fail(job, "DOCKER_ERROR").status_code == 204
    assert worker.claim() is None
    with site.services.database.writing() as session:
        session.execute(update(Attempt).values(ended_at=now() - ELSEWHERE))
    assert worker.claim() is not None


def test_back_off_doubles(site: Site) -> None:
    settings = site.services.settings.model_copy(update={"retry_seconds": 5.0})
    assert [back_off_seconds(settings, failures) for failures in range(5)] == [5, 5, 10, 20, 40]


def test_a_run_waits_for_a_worker_that_fits_it(site: Site, worker: PaperWorker) -> None:
    fitting: dict[str, object] = {"gpus": 0, "image": None, "available_at": now()}
    for demand in ({"gpus": 1}, {"image": "special"}, {"available_at": now() + timedelta(days=1)}):
        change_runs(site, **{**fitting, **demand})
        assert worker.claim() is None, demand
    change_runs(site, **fitting)
    assert worker.claim() is not None


CPU, GPU = "sha256:" + "0" * 64, "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("image", "digest", "usual", "claimed"),
    [
        (None, None, "cpu", False),
        ("cpu", None, "gpu", False),
        (None, CPU, "gpu", False),
        (None, None, "gpu", True),
        ("gpu", None, "cpu", True),
        (None, GPU, "cpu", True),
    ],
)
def test_a_run_with_gpus_waits_for_an_image_that_can_use_them(
    image: str | None, digest: str | None, usual: str, claimed: bool
) -> None:
    """Of a worker with a device and images of both kinds: given away for the wrong one, the run would fail there."""
    info = worker_info(
        gpus=["H100"],
        images=["cpu", "gpu"],
        image_digests={"cpu": CPU, "gpu": GPU, "": CPU if usual == "cpu" else GPU},
        cpu_images=["cpu", ""] if usual == "cpu" else ["cpu"],
    )
    assert can_carry(Worker(name="w", info=info), Needs(image, digest, 1, 0)) == claimed
    assert can_carry(Worker(name="w", info=info), Needs(image, digest, 0, 0))


def machines() -> Iterator[WorkerInfo]:
    """Every combination of the usual image and two named ones, each for CPUs alone or not; devices; memory."""
    known = {"": CPU, "a": CPU, "b": GPU}
    states = itertools.product(("cpu", "gpu"), ("none", "cpu", "gpu"), ("none", "cpu", "gpu"))
    for images, tells, gpus, memory in itertools.product(states, (True, False), (0, 1, 2), (0, 8)):
        kinds = {name: kind for name, kind in zip(known, images, strict=True) if kind != "none"}
        yield worker_info(
            images=[name for name in kinds if name],
            image_digests={name: known[name] for name in kinds} if tells else {},
            cpu_images=[name for name, kind in kinds.items() if kind == "cpu"],
            gpus=["H100"] * gpus,
            memory_bytes=memory,
        )


def test_the_queue_and_the_checks_of_a_phase_have_one_rule_of_who_can_carry_a_run(
    site: Site, worker: PaperWorker
) -> None:
    """`carried_by` (SQL, for a claim) and `can_carry` (for places and checks) agree on every worker and every run."""
    images, digests = (None, "a", "b", "c"), (None, CPU, GPU, "sha256:" + "2" * 64)
    wanted = [Needs(*needs) for needs in itertools.product(images, digests, (0, 1, 2), (4, 16))]
    carried = []
    with site.services.database.writing() as session:
        first = session.scalars(select(Run)).one()
        own = {
            "kind",
            "competition_id",
            "phase_id",
            "phase_version_id",
            "submission_id",
            "team_id",
            "own_seeds",
        }
        same = {name: getattr(first, name) for name in (*own, "stage_times")}
        runs = [
            Run(**same, image=n.image, image_digest=n.digest, gpus=n.gpus, memory_bytes=n.memory_bytes)
            for n in wanted
        ]
        session.add_all(runs)
        session.flush()
        for info in machines():
            found = set(session.scalars(select(Run.id).where(carried_by(info), Run.id != first.id)))
            told = [can_carry(Worker(name="w", info=info), needs) for needs in wanted]
            assert [run.id in found for run in runs] == told, info
            carried.append(sum(told))
    assert min(carried) == 1 and max(carried) > 40  # the least: the usual image without a GPU


def test_a_run_waits_for_a_worker_with_its_memory(site: Site, worker: PaperWorker) -> None:
    change_runs(site, memory_bytes=2 << 30)
    worker.memory_bytes = 1 << 30
    assert worker.claim() is None
    worker.memory_bytes = 4 << 30
    assert worker.claim() is not None
