"""Reports on submissions: asked for on the pages, from what their runs exported and were tested on besides."""

import io
import itertools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyshot_analysis.jobs import run as run_job
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.evaluations.points import list_points
from anyshot_platform.judging.execution.kinds import FURTHER
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from tests.platform.admin.results import draw_table, finish_with_exports, work_off
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.site import SLUG, Site

API = f"/api/v1/competitions/{SLUG}/manage/reports"
PAIRS = [np.array(pair) for pair in itertools.combinations(range(6), 2)]


def answers(strong: set[int]) -> Predictions:
    """Every 2-way task of six classes: right where a class of `strong` is asked, wrong elsewhere."""
    labels = np.array([0, 0, 1, 1])
    hits = [np.repeat([c in strong for c in task], 2) for task in PAIRS]
    return Predictions.from_tasks(
        task=np.arange(len(PAIRS)),
        dataset=["alpha"] * len(PAIRS),
        domain=["alpha"] * len(PAIRS),
        ways=[2] * len(PAIRS),
        shots=[1] * len(PAIRS),
        predictions=[np.where(hit, labels, 1 - labels) for hit in hits],
        labels=[labels] * len(PAIRS),
        classes=PAIRS,
    )


def exports(turn: np.ndarray) -> dict[str, dict[str, Any]]:
    """Estimates that are always right; answers of which 0.9 are to be right and half are; three snapshots, of which the
    second is the best; layers with known distances.

    Images of a dataset are alike, those of two at right angles; `turn` rotates the features, which changes no distance.
    """
    told = np.linspace(0.3, 0.9, 40)
    curve = np.array([0.4, 0.8, 0.5])[:, None] + np.zeros((3, 10))
    return {
        "estimates.npz": {"accuracy": told, "k_fold": told, "hold_out": told},
        "probabilities.npz": {
            "task": np.arange(10),
            "dataset": np.zeros(10, int),
            "ways": np.full(10, 2),
            "queries": np.full(10, 2),
            "label": np.tile([0, 1], 10),
            "predicted": np.zeros(20, int),
            "probabilities": np.tile([0.9, 0.1], 20),
        },
        "snapshots.npz": {
            "train_loss": np.array([3.0, 2.0, 1.0]),
            "base": np.array([0.5, 0.6, 0.7])[:, None] + np.zeros((3, 10)),
            "validation": curve,
            "novel": curve,
        },
        "layers.npz": {
            "features": (np.repeat(np.eye(3), 8, axis=0) @ turn).astype(np.float32),
            "image_dataset": np.repeat([0, 1, 2], 8),
            "image_class": np.zeros(24, np.int64),
        },
    }


@dataclass(frozen=True)
class Pair:
    """A site with two scored submissions."""

    site: Site
    pia: str
    rob: str


@pytest.fixture
def pair(site: Site) -> Pair:
    return make_pair(site)


def make_pair(site: Site) -> Pair:
    """Pia's is right on four of six classes, rob's on the two others; the phase let them export everything."""
    site.set_version(tasks=len(PAIRS))
    worker, found = site.worker(), []
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for name, strong, turn in (("pia", {0, 1, 2, 3}, np.eye(3)), ("rob", {4, 5}, turned)):
        site.member(name).submit()
        found.append(finish_with_exports(worker, answers(strong), exports(turn)))
    return Pair(site, *found)


def ask(pair: Pair, analysis: str, *ids: str, **settings: str) -> str:
    """Ask on the page; the address that it leads to."""
    chosen = dict(zip(("submission", "other"), ids, strict=False))
    asked = post(pair.site.owner(), f"{BASE}/reports", analysis=analysis, **chosen, **settings)
    assert flash(asked) == "A worker computes it now.", flash(asked)
    return asked.headers["location"]


def words(pair: Pair, address: str) -> str:
    return " ".join(page(pair.site.owner(), address).text.split())


@pytest.mark.slow("six reports by a real worker")
def test_reports_on_submissions_say_what_their_files_hold(pair: Pair, tmp_path: Path) -> None:
    """Each by a worker, from one page; answers are known from how the files were made."""
    shelf = words(pair, f"{BASE}/reports")
    for need in (
        "2 submissions with predictions; 2 found",
        "2 runs with exported features; 2 found",
        "a submission with exported snapshots; 2 found",
        "a submission tested on base and on novel classes; 0 found",
    ):
        assert f"Needs {need}." in shelf, need
    assert ">pia #1</option>" in words(pair, f"{BASE}/reports/new/snapshots")
    asked = {
        "trust": ask(pair, "predictor-trust", pair.pia, wanted="0.6", coverage="0.8"),
        "calibration": ask(pair, "calibration", pair.pia, bins="10"),
        "snapshots": ask(pair, "snapshots", pair.pia),
        "layers": ask(pair, "representations", pair.pia, pair.rob, permutations="20"),
        "diversity": ask(pair, "feature-diversity", pair.rob, permutations="100"),
        "flips": ask(pair, "n-way-flips", pair.pia, pair.rob, share="0.5", draws="1000"),
    }
    assert work_off(pair.site, tmp_path) == len(asked)
    said = {name: words(pair, address) for name, address in asked.items()}
    assert "0 cannot tell, 0 not estimable" in said["trust"] and "the band of k-fold holds" in said["trust"]
    assert "is overconfident: confidence minus accuracy is 40 points" in said["calibration"]
    assert "10 bins of equal width" in said["calibration"]
    assert ": pia #1" in said["trust"] and "pia-1-run-1.npz" in said["trust"]
    assert "Take snapshot 2 of 3, best on validation classes: not snapshot 3," in said["snapshots"]
    assert "pia #1, rob #1" in said["layers"]
    assert "of two of 3 datasets, beyond that within them, is 1 (" in said["diversity"]
    assert "pia #1 leads rob #1 by 66.67 points" in said["flips"]
    owner = pair.site.owner()
    found = {
        name: owner.call("GET", f"{API}/{address.rpartition('/')[2]}").json()
        for name, address in asked.items()
    }
    assert found["layers"]["result"]["result"]["features"]["cka"] == pytest.approx(1.0, abs=1e-5)
    assert found["flips"]["result"]["result"]["flip"] == pytest.approx(4 / 20, abs=0.05)
    assert found["flips"]["submissions"] == ["pia #1", "rob #1"]
    listed = words(pair, f"{BASE}/reports")
    assert ": pia #1, rob #1</td>" in listed
    again = post(owner, f"{BASE}/reports", analysis="snapshots", submission=pair.pia)
    assert flash(again) == "Nothing has changed since this report was created."


def test_in_and_out_of_distribution_is_from_further_evaluations(pair: Pair, tmp_path: Path) -> None:
    """0.9 on base and 0.5 on novel classes: 40 points are lost. Of one run nothing is joined."""
    split_classes(pair)
    refused = post(pair.site.owner(), f"{BASE}/reports", analysis="submission-shift", submission=pair.pia)
    assert "pia #1 has no scores on base and on novel classes" in flash(refused)
    own = evaluate(pair, {"base": (0.9,), "novel": (0.5,)})
    address = ask(pair, "submission-shift", pair.pia)
    assert work_off(pair.site, tmp_path) == 1
    said = words(pair, address)
    assert re.search(r"pia #1 loses 40(\.0+)? ± ", said) and "No curve along lambda" in said
    found = pair.site.owner().call("GET", f"{API}/{address.rpartition('/')[2]}").json()["result"]
    assert found["finding"] == f"pia #1 loses 40.0 ± {100 * 2**0.5 * own:.3g} points (95 %) on novel classes."
    assert found["population"].startswith("other tasks of these classes, by this learner; ")
    assert len(found["notes"]) == 2 and "lost_by_run" not in found["result"]["pia #1"]


@pytest.mark.parametrize(
    ("rule", "same", "half"), [("worst_run", False, 1.0), ("worst_dataset", True, 2**0.5)]
)
def test_what_is_lost_over_several_runs_is_what_their_own_learners_lose(
    rule: str, same: bool, half: float, pair: Pair, tmp_path: Path
) -> None:
    """Runs of 0.9 and 0.5, of 0.7 and 0.6: 40 and 10 points are lost, on average 25; worst minus worst was 20.

    On tasks of their own two runs halve the variance of each side, so that the interval of two sides is as wide as that
    of one side of one run; on the same tasks they make it no narrower. The zip of the submission says the same.
    """
    split_classes(pair)
    pair.site.set_version(ranking_rule=rule, train_seeds=[1, 2], same_test_tasks=same)
    own = evaluate(pair, {"base": (0.9, 0.7), "novel": (0.5, 0.6)})
    address = ask(pair, "submission-shift", pair.pia)
    assert work_off(pair.site, tmp_path) == 1
    owner = pair.site.owner()
    found = owner.call("GET", f"{API}/{address.rpartition('/')[2]}").json()["result"]
    numbers = found["result"]["pia #1"]
    assert (numbers["BaseGen"], numbers["NovelGen"]) == pytest.approx((0.8, 0.55))
    assert numbers["lost"] == pytest.approx(0.25) and numbers["lost_by_run"] == pytest.approx([0.4, 0.1])
    expected = (
        f"pia #1 loses 25.0 ± {100 * half * own:.3g} points (95 %) on novel classes, the mean of its 2 runs."
    )
    assert found["finding"] == expected
    assert "by the learners of these 2 runs" in found["population"]
    assert any("met the same tasks" in note for note in found["notes"]) == same
    said = " ".join(re.sub("<[^>]+>", " ", words(pair, address)).split())
    assert re.search(r"Lost by the learner of each run .*pia #1 1 40\S* pia #1 2 10\S* ", said), said
    answer = owner.call("GET", f"/api/v1/submissions/{pair.pia}/everything")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        file = archive.extract("evaluations.json", tmp_path)
    page = run_job("submission-shift", {"evaluations": [Path(file)]}, {}, tmp_path / "home")
    (again,) = page["result"].values()
    assert again["lost"] == pytest.approx(0.25) and again["lost_by_run"] == pytest.approx([0.4, 0.1])
    assert f"± {100 * half * own:.3g} points" in page["finding"], "the zip says the same"


def split_classes(pair: Pair) -> None:
    """The phase trains on base classes and tests on novel ones."""
    split = {"ways": 2, "shots": 1, "query": 2, "held_back": 0.3}
    pair.site.set_version(
        protocol={"name": "class_side", "side": "novel", "images": "all", **split},
        train_protocol={"name": "class_side", "side": "base", **split},
    )


def evaluate(pair: Pair, scores: dict[str, tuple[float, ...]]) -> float:
    """Pia's submission has been tested in these further evaluations, with so much by each run; half width of each."""
    half = 0.0
    with pair.site.services.database.writing() as session:
        phase = session.get_one(Phase, pair.site.phase_id)
        phase.evaluations = "\n".join(scores)  # pyright: ignore[reportAttributeAccessIssue]
        session.flush()
        submission = session.get_one(Submission, pair.pia)
        source = session.query(Run).filter(Run.submission_id == pair.pia).one()
        for point in list_points(session, source.phase_version):
            for seed, score in enumerate(scores[point.evaluation.short_name]):
                (test,) = FURTHER.plan_tests(session, submission, source, [point])
                table = draw_table(score, 30, 0)
                table.normalized_accuracy[:] += score - table.normalized_accuracy.mean()
                test.summary = found = summarize(table, table.task.tolist())
                test.run.state, test.scored_at, test.seed_index = RunState.FINISHED, now(), seed
                half = found.half_width or 0.0
                session.add(test)
    return half


def test_other_submissions_than_a_report_is_of_are_refused(pair: Pair) -> None:
    for analysis, wanted, said in (
        ("n-way-flips", [pair.pia], "is about 2 submissions; 1 were chosen"),
        ("predictor-trust", [pair.pia, pair.rob], "is about 1 submission; 2 were chosen"),
        ("snapshots", ["0" * 32], "is no scored submission of the phase"),
    ):
        wish = {"analysis": analysis, "phase": "feedback", "submissions": wanted}
        refused = pair.site.owner().call("POST", API, json=wish)
        assert refused.status_code == 422 and said in refused.json()["message"]
        assert refused.json()["field"] == "submissions"


def test_a_pool_lists_reports_on_its_data_and_none_on_submissions(pair: Pair, tmp_path: Path) -> None:
    """The flips of two teams are no property of the images that they were tested on."""
    address = ask(pair, "n-way-flips", pair.pia, pair.rob)
    assert work_off(pair.site, tmp_path) == 1
    assert pair.site.owner().call("GET", f"{API}/{address.rpartition('/')[2]}").json()["state"] == "finished"
    assert address.rpartition("/")[2] not in page(pair.site.owner(), f"/organize/pools/{SLUG}-pool").text


def test_a_smoke_test_and_a_deleted_submission_have_no_report(pair: Pair) -> None:
    owner, acts = pair.site.owner(), "/api/v1/competitions/small/manage/submissions/acts"
    pair.site.offer_smoke_tests("open-a")
    smoke = pair.site.member("uma").submit(smoke=True).json()["id"]
    job = (worker := pair.site.worker("another")).claim()
    assert job is not None and worker.complete(job, 0.4).status_code == 204
    wish = {"analysis": "n-way-flips", "phase": "feedback"}
    form = f"{BASE}/reports/new/n-way-flips"
    listed = page(owner, form).text
    assert pair.pia in listed and smoke not in listed
    refused = owner.call("POST", API, json={**wish, "submissions": [pair.pia, smoke]})
    assert refused.status_code == 422 and "is no scored submission" in refused.json()["message"]
    assert owner.call("POST", acts, json={"act": "delete", "ids": [pair.rob]}).status_code == 200
    refused = owner.call("POST", API, json={**wish, "submissions": [pair.pia, pair.rob]})
    assert refused.status_code == 422 and "is no scored submission" in refused.json()["message"]
    assert pair.rob not in page(owner, form).text


def test_what_was_not_exported_is_said_with_what_to_change(site: Site) -> None:
    site.set_version(tasks=len(PAIRS))
    participant = site.member("pia")
    participant.submit()
    own = finish_with_exports(site.worker(), answers({0}), {})
    for analysis, said in (
        ("snapshots", "No run of pia #1 exported snapshots"),
        ("predictor-trust", "exported estimates from support sets"),
        ("feature-diversity", "exported features"),
        ("calibration", "exported probabilities"),
    ):
        wish = {"analysis": analysis, "phase": "feedback", "submissions": [own]}
        refused = site.owner().call("POST", API, json=wish)
        assert refused.status_code == 409 and said in refused.json()["message"]
        assert "let the phase export them" in refused.json()["message"]
    assert participant.call("POST", API, json=wish).status_code == 403
