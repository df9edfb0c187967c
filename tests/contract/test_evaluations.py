"""Further evaluations, carried out by a real worker: one training, many tests, and no ranking changes."""

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from sqlalchemy import select, update

from anyshot_core.wire.jobs import JobKind, MetaTest
from anyshot_platform.contest.phases.actions import drawing, leaks, readiness
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.images import opened
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from anyshot_platform.people.teams.models import Team
from tests.contract.stage import PROTOCOL, TASKS, Stage
from tests.contract.test_jobs import quota, submit, text_of
from tests.contract.test_kinds import ask, shown_score
from tests.platform.site import Person
from tests.services.material import TEST
from tests.worker.test_query_order import COUNTING

ACTS = "/phases/feedback/acts"
MANY_OF_BASE = {"name": "class_side", "side": "base", "ways": 2, "shots": 1, "query": 15}


def change(stage: Stage, **tasks: Any) -> None:
    """What the phase's form would save."""
    found = ask(stage, "GET", "/phases/feedback")
    settings = found["settings"]
    settings["tasks"] |= tasks
    ask(stage, "PUT", "/phases/feedback", settings)


def points(person: Person, entry: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = person.call("GET", f"/api/v1/submissions/{entry}/evaluations").json()
    return {(row["evaluation"], row["point"]): row for row in rows}


@pytest.mark.slow("nine evaluations by a real worker")
def test_one_training_many_tests(stage: Stage) -> None:
    """Trained once; every test is a meta-test of that learner, on tasks of its own, and shown on the submission's
    page, the board, in JSON and CSV. One that is added later costs no training either. Nothing changes score, rank,
    status or quota."""
    change(stage, evaluations="shots numbers=1,2 tasks=4\n  domains  tasks=4")
    alice, entry = submit(stage, "alice")
    worker = stage.worker()
    worker.work()
    with stage.site.services.database.writing() as session:
        session.execute(update(Team).values(name="=1+1"))
    before = stage.shown(alice, entry)
    assert before["status"] == "finished" and quota(alice) == 1 and len(before["runs"]) == 1
    kinds = [job.kind for job in worker.wire.jobs]
    assert kinds[0] == JobKind.EVALUATE and set(kinds[1:]) == {JobKind.META_TEST}
    assert len({job.test_seed for job in worker.wire.jobs}) == len(worker.wire.jobs) == 3, (
        "a job for each evaluation, with tasks of its own"
    )
    found = points(alice, entry)
    assert {key for key in found if key[0] == "shots"} == {("shots", "1"), ("shots", "2")}
    assert {row["label"] for (name, _), row in found.items() if name == "domains"} == {"Domain 1", "Domain 2"}
    assert all(row["tasks"] == 4 and row["mean"] is not None for row in found.values())
    page = text_of(stage.page(f"/submissions/{entry}", alice))
    assert "Number of shots" in page and shown_score(found["shots", "1"]["mean"]) in page.replace("-", "−")
    assert not any(name in page for name in TEST)
    answer = alice.call("GET", f"/api/v1/submissions/{entry}/everything")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        kept = json.loads(archive.read("evaluations.json"))
    assert [row["mean"] for row in kept] == [row["mean"] for row in found.values()]
    board = stage.page("/competitions/small/leaderboard")
    assert "Number of shots" in board and "evaluations.csv" in board
    shots, domains = (job for job in worker.wire.jobs if isinstance(job, MetaTest))
    assert [part.protocol.to_dict()["shots"] for part in shots.parts] == [[1, 1], [2, 2]] and shots.tasks == 8
    assert [len(part.packs) for part in domains.parts] == [1, 1] and domains.meta_train == []

    done = len(worker.wire.jobs)
    line = {"evaluation": "pool pool=train tasks=4"}
    leak = ask(stage, "POST", f"{ACTS}/add-evaluation", line, 409)
    assert "would be trained on" in str(leak)
    stage.make_pool("elsewhere", TEST[:1])
    line = {"evaluation": "pool pool=elsewhere tasks=4"}
    ask(stage, "POST", f"{ACTS}/add-evaluation", line)
    worker.work()
    assert [job.kind for job in worker.wire.jobs[done:]] == [JobKind.META_TEST]
    found = points(alice, entry)
    assert found["pool", "pool"]["title"] == "Another pool", "the name of a hidden pool is nobody's"
    rows = ask(stage, "GET", "/../phases/feedback/evaluations")
    assert [point["mean"] for point in rows[0]["points"]] == [row["mean"] for row in found.values()]
    sheet = stage.site.client.get("/api/v1/competitions/small/phases/feedback/evaluations.csv").text
    lines = list(csv.DictReader(io.StringIO(sheet)))
    assert len(lines) == len(found)
    assert {line["team"] for line in lines} == {"'=1+1"}, "no spreadsheet runs it"
    board = text_of(stage.page("/competitions/small/leaderboard"))
    assert "Another pool" in board and shown_score(found["pool", "pool"]["mean"]) in board.replace("-", "−")
    after = stage.shown(alice, entry)
    assert {key: after[key] for key in ("score", "status", "runs")} == {
        key: before[key] for key in ("score", "status", "runs")
    }
    assert quota(alice) == 1 and after["runs"][0]["tasks_done"] == TASKS

    assert ask(stage, "POST", f"{ACTS}/evaluate", {})
    ask(stage, "POST", f"{ACTS}/remove-evaluation", {"evaluation": "pool"})
    assert "pool" not in {name for name, _ in points(alice, entry)}
    ask(stage, "POST", f"{ACTS}/add-evaluation", line)
    assert points(alice, entry)["pool", "pool"] == found["pool", "pool"], "nothing is tested twice"
    worker.work()
    assert len(worker.wire.jobs) == done + 1


RANDOM = COUNTING.replace(
    "np.eye(self.ways)[np.arange(len(query)) % self.ways]", "np.random.rand(len(query), self.ways)"
)
NO_TWO = RANDOM.replace("fit(self, support):", "fit(self, support):\n        assert support[4] != 2\n       ")


@pytest.mark.slow("runs of a real worker")
def test_points_in_one_job_have_the_scores_of_jobs_of_their_own(stage: Stage) -> None:
    """One shot is tested alone for Alice, and two and three later in one job; for Bob's same zip all three in one. The
    code answers by random numbers that nobody seeds: each score is the same to the last digit."""
    change(stage, evaluations="shots numbers=1 tasks=4")
    alice, first = submit(stage, "alice", RANDOM)
    worker = stage.worker()
    worker.work()
    change(stage, evaluations="shots numbers=1,2,3 tasks=4")
    ask(stage, "POST", f"{ACTS}/evaluate", {})
    bob, second = submit(stage, "bob", RANDOM)
    worker.work()
    for entry in (alice, first), (bob, second):
        assert all(row["mean"] is not None for row in points(*entry).values()), points(*entry)
    tested = [[part.tasks for part in job.parts] for job in worker.wire.jobs if isinstance(job, MetaTest)]
    assert sorted(tested) == [[], [4, 4], [4, 4, 4]], "one alone, two in a job, three in a job"
    assert points(alice, first) == points(bob, second)
    assert len({row["mean"] for row in points(bob, second).values()}) == 3


@pytest.mark.slow("runs of a real worker")
def test_a_point_that_fails_costs_no_other(stage: Stage) -> None:
    """Code that cannot do two shots has its scores for one and three; testing further tries two again, alone."""
    change(stage, evaluations="shots numbers=1,2,3 tasks=4")
    stage.site.set_version(protocol={**PROTOCOL, "shots": [1, 1]})
    alice, entry = submit(stage, "alice", NO_TWO)
    worker = stage.worker()
    worker.work()
    assert stage.shown(alice, entry)["status"] == "finished"
    rows = {point: row for (_, point), row in points(alice, entry).items()}
    assert {point: (row["mean"] is None, row["message"]) for point, row in rows.items()} == {
        "1": (False, ""),
        "2": (True, "failed"),
        "3": (False, ""),
    }
    assert [row["failures"] for point, row in rows.items() if point != "2"] == [[], []]
    (why,) = rows["2"]["failures"]
    assert (why["verdict"], why["cause"], why["task_index"]) == ("RUNTIME_ERROR", "participant", 0)
    assert (why["task_shots"], why["message"]) == (2, "AssertionError in fit (model.py, line 8).")
    assert why["detail"] == "model.py, line 8", "no more than its phase shows of meta-testing"
    page = text_of(stage.page(f"/submissions/{entry}", alice))
    told = page[page.index("Number of shots: 2 shots") :]
    assert "Your code raised an error." in told and why["message"] in told
    assert "It cost no quota." in told
    done = len(worker.wire.jobs)
    ask(stage, "POST", f"{ACTS}/evaluate", {})
    worker.work()
    assert [(job.tasks, job.parts) for job in worker.wire.jobs[done:]] == [(4, [])]


@pytest.mark.slow("runs of a real worker")
def test_base_and_novel_classes_are_split_as_the_phase_splits_them(stage: Stage) -> None:
    """A phase on one pool whose classes are split: base classes with images held back, novel ones, a mixture. The split
    is the phase's secret, so that base classes are those that were trained on."""
    split = {"ways": 2, "shots": 1, "query": 2, "held_back": 0.3}
    stage.site.set_version(
        meta_train_pool_version_id=stage.pools["test"],
        protocol={"name": "class_side", "side": "novel", "images": "all", **split},
        train_protocol={"name": "class_side", "side": "base", **split},
    )
    change(stage, evaluations="base tasks=4\nnovel tasks=4\nmixtures steps=0.5 tasks=4")
    alice, entry = submit(stage, "alice")
    worker = stage.worker()
    worker.work()
    assert stage.shown(alice, entry)["status"] == "finished"
    splits = {job.protocol.to_dict()["split_seed"] for job in worker.wire.jobs}
    assert len(splits) == 1 and len(str(next(iter(splits)))) == 64
    assert {name: row["tasks"] for (name, _), row in points(alice, entry).items()} == {
        "base": 4,
        "novel": 4,
        "mixtures": 4,
    }


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({"evaluations": "nowhere"}, "there are base"),
        ({"evaluations": "base"}, "take class_side or base_novel"),
        ({"evaluations": "pool pool=secret"}, "no pool secret"),
        ({"evaluations": "pool pool=train"}, "would be trained on"),
        ({"evaluations": "shots\nshots numbers=2"}, "listed more than once"),
        ({"train_protocol": MANY_OF_BASE, "evaluations": "base"}, "expected at least"),
    ],
)
def test_what_cannot_be_made_is_refused_when_it_is_saved(
    stage: Stage, tasks: dict[str, str], words: str
) -> None:
    settings = ask(stage, "GET", "/phases/feedback")["settings"]
    settings["tasks"] |= tasks
    answer = stage.site.owner().call(
        "PUT", "/api/v1/competitions/small/manage/phases/feedback", json=settings
    )
    assert answer.status_code == 422 and words in answer.text
    assert " (/" not in answer.text  # where the files of packs lie is nobody's business


def test_a_phase_tells_of_evaluations_whose_pool_is_public_or_gone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each dataset is opened once for all evaluations; a public pool is worth a warning, a deleted one is a problem."""
    stage.make_pool("elsewhere", TEST[:1])
    change(stage, evaluations="pool pool=elsewhere tasks=4\nshots numbers=2 tasks=4\ndomains tasks=4")
    read = list[str]()

    def counted(storage: Any, digest: str) -> Any:
        read.append(digest)
        return opened(storage, digest)

    monkeypatch.setattr(drawing, "opened", counted)
    with stage.site.services.database.writing() as session:
        phase = session.scalars(select(Phase).where(Phase.slug == "feedback")).one()
        assert list(leaks.problems_of_evaluations(session, phase.live)) == []
        assert len(read) == len(set(read)) > 2
        assert "is public" not in " ".join(readiness.odd_in(session, phase))
        pool = session.scalars(select(Pool).where(Pool.slug == "elsewhere")).one()
        pool.published_at = now()
        assert "Evaluation pool: the pool elsewhere is public" in " ".join(readiness.odd_in(session, phase))
        pool.deleted_at = now()
        assert "Evaluation pool: There is no pool elsewhere" in " ".join(readiness.missing_in(session, phase))
