"""What a phase exports of a run, made by a real worker, in the files that `anyshot analyse` reads; who has them."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import update

from anyshot_core.command import main
from anyshot_core.protocols.keys import draw_mark
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from tests.analysis.test_exports import TRAINED
from tests.contract.stage import Stage
from tests.contract.test_evaluations import MANY_OF_BASE, change
from tests.contract.test_experiments import SEED
from tests.contract.test_jobs import submit
from tests.contract.test_kinds import ask
from tests.platform.site import Person

FILES = {"snapshots.npz", "layers.npz", "estimates.npz", "probabilities.npz"}


def export_from(stage: Stage, **asked: Any) -> None:
    """A phase on one pool whose classes are split, and what it exports."""
    split = {"ways": 2, "shots": 2, "query": 2, "held_back": 0.4}
    stage.site.set_version(
        meta_train_pool_version_id=stage.pools["test"],
        protocol={"name": "class_side", "side": "novel", "images": "all", **split},
        train_protocol={"name": "class_side", "side": "base", **split},
    )
    change(stage, **asked)


def exported(stage: Stage, person: Person, entry: str) -> set[str]:
    """The exported files that somebody sees, by API; the page links the same ones, and no other can be fetched."""
    (run,) = stage.shown(person, entry)["runs"]
    page = stage.page(f"/submissions/{entry}", person)
    for name in FILES:
        path = f"/api/v1/submissions/{entry}/runs/{run['id']}/artifacts/{name}"
        listed = name in run["artifacts"]
        assert listed == (path in page) == (person.call("GET", path).status_code == 200), name
    return FILES & set(run["artifacts"])


@pytest.mark.slow("seven sandboxes, each of which imports torch")
def test_exports_of_a_phase(stage: Stage, tmp_path: Path) -> None:
    """Made once the run is scored, organizers' at first; a team has them where the phase says so, features and
    probabilities, into which code can write images, where these are public. `anyshot analyse` reads them from the
    folder of everything.zip. The score is as without them.
    """
    export_from(stage, snapshots=2, features=True, estimates=True, probabilities=True)
    alice, entry = submit(stage, "alice", TRAINED.replace("MATRIX", "TURN"))
    worker = stage.worker()
    worker.work()
    shown, owner = stage.shown(alice, entry), stage.site.owner()
    assert (shown["status"], len(worker.wire.jobs)) == ("finished", 1)
    assert exported(stage, alice, entry) == set() and exported(stage, owner, entry) == FILES
    stage.site.set_phase(exports_visible=True)
    assert exported(stage, alice, entry) == {"snapshots.npz", "estimates.npz"}
    stage.site.set_phase(tasks_visible=False)
    assert exported(stage, alice, entry) == set(), "they tell single tasks"
    stage.site.set_phase(tasks_visible=True)
    with stage.site.services.database.writing() as session:
        session.execute(update(Pool).where(Pool.slug == "test").values(published_at=now()))
    assert exported(stage, alice, entry) == FILES

    answer = alice.call("GET", f"/api/v1/submissions/{entry}/everything")
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path / "all")
    advice = CliRunner().invoke(
        main, ["analyse", "snapshots", str(tmp_path / "all"), "--out", str(tmp_path / "advice")]
    )
    assert advice.exit_code == 0, advice.output
    found = json.loads((tmp_path / "advice" / "result.json").read_text())["result"]
    # Which of the two is better is the luck of the site's own tasks: half of them choose.
    (file,) = (tmp_path / "all").rglob("snapshots.npz")
    best = int(np.load(file)["validation"][:, ::2].mean(axis=1).argmax()) + 1
    assert f"Take snapshot {best} of 2" in advice.output, advice.output
    (stated,) = (tmp_path / "all").rglob("probabilities.npz")
    with np.load(stated) as kept:
        assert len(kept["task"]) == kept["tasks_of_run"] and kept["not_believed"] == 0
    assert found["rules"]["lowest training loss"] == 2, "of three that were taken the last two are kept"


@pytest.mark.slow("six sandboxes, each of which imports torch")
def test_a_small_test_seed_is_not_found_by_trying_it_on_exported_files(stage: Stage) -> None:
    """Who has two files knows that their tasks are the same, and not which of all small numbers draws them."""
    export_from(stage, estimates=True)
    stage.site.set_version(test_seeds=[SEED], train_seeds=[SEED])
    stage.site.set_phase(exports_visible=True)
    marks, entries = set[int](), []
    for name in ("alice", "bob"):
        person, entry = submit(stage, name, TRAINED.replace("MATRIX", "TURN"))
        entries.append((person, entry))
    stage.worker().work()
    for person, entry in entries:
        (run,) = stage.shown(person, entry)["runs"]
        path = f"/api/v1/submissions/{entry}/runs/{run['id']}/artifacts/estimates.npz"
        with np.load(io.BytesIO(person.call("GET", path).content)) as stored:
            marks |= set(stored["draw"].tolist())
    assert len(marks) == 1
    tried = {draw_mark(seed) for seed in range(10 * SEED)}
    assert draw_mark(SEED) in tried and not marks & tried


@pytest.mark.seconds("a site and a worker")
def test_an_export_that_fails_changes_no_score(stage: Stage) -> None:
    export_from(stage, features=True)
    broken = TRAINED.replace("MATRIX", "TURN").replace("def features(self, images):", "def features(self):")
    alice, entry = submit(stage, "alice", broken)
    stage.worker().work()
    assert stage.shown(alice, entry)["status"] == "finished"
    assert exported(stage, stage.site.owner(), entry) == set()
    log = stage.page(f"/submissions/{entry}/log.txt", stage.site.owner())
    assert "layers.npz is not made" in log and ".." not in log


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({"snapshots": 3}, "compared on base, validation and novel classes"),
        ({"snapshots": 1}, "two or more"),
        ({"snapshots": 3, "train_protocol": MANY_OF_BASE}, "Snapshots, base: "),
        ({"features": True, "shards": 2}, "one worker carries out whole"),
    ],
)
def test_what_cannot_be_exported_is_refused_when_it_is_saved(
    stage: Stage, tasks: dict[str, Any], words: str
) -> None:
    settings = ask(stage, "GET", "/phases/feedback")["settings"]
    settings["tasks"] |= tasks
    answer = stage.site.owner().call(
        "PUT", "/api/v1/competitions/small/manage/phases/feedback", json=settings
    )
    assert answer.status_code == 422 and words in answer.text
