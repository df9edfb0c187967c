"""Reports on predictors, classes, penalties, choices and mixtures, where the answer is known beforehand."""

import json
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from anyshot_analysis.cli import analyse
from anyshot_analysis.jobs import BadAnalysis, run
from anyshot_analysis.shift.disjointness import classes_variance, novel_in_task
from anyshot_analysis.shift.submissions_report import lost, read_tested
from anyshot_analysis.trust.bands import Band
from anyshot_analysis.trust.task_trust_report import answer
from anyshot_analysis.undefined import Quantity
from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_core.evaluations import PointScore
from anyshot_core.evaluations.seeded import SeededScore, mean_of_runs
from anyshot_core.protocols.base_novel import mixture_classes
from anyshot_core.protocols.draws import Draws
from anyshot_scoring.intervals import t_interval
from tests.analysis.test_jobs import write_snapshots, write_stated
from tests.core.tinydata import write_pack


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("packs")
    return [write_pack(folder, f"SET_{i}", seed=i, classes=8, images=8) for i in range(2)]


def test_a_band_holds_in_as_many_tasks_as_it_promises(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(0), 2000
    accuracy = rng.uniform(0.2, 1.0, n)
    told = accuracy + 0.05 + 0.1 * rng.normal(size=n)
    np.savez(tmp_path / "estimates.npz", accuracy=accuracy, k_fold=told, hold_out=told + rng.normal(size=n))
    found = run(
        "predictor-trust", {"estimates": [tmp_path / "estimates.npz"]}, {"coverage": 0.8}, tmp_path / "r"
    )
    estimates = {e["name"]: e for e in found["estimates"]}
    assert estimates["bias of k-fold"]["value"] == pytest.approx(5, abs=0.7)
    low, high = estimates["the band of k-fold holds"]["interval"]
    assert low <= 0.82 and high >= 0.78
    band = found["result"]["band"]["k-fold"]  # 80 % of a normal of 10 points around -5
    assert band == pytest.approx([-5 - 12.8, -5 + 12.8], abs=1.5)
    trust = found["result"]["trust"]
    sure = {name: counts["safe"] + counts["unsafe"] for name, counts in trust.items()}
    assert sum(trust["k-fold"].values()) == n // 2 and sure["k-fold"] > 2 * sure["hold-out"]
    page = " ".join((tmp_path / "r" / "page.html").read_text().split())
    assert "band, low (points)" in page and "share that the band holds" in page


def test_the_tasks_that_a_band_is_judged_by_do_not_calibrate_it() -> None:
    """The first 50 tell their accuracy exactly, so the band is a point; the others are told .3 too high."""
    truth = np.full(100, 0.5)
    told: list[Quantity] = [*[0.5] * 50, *[0.8] * 50]
    found = answer(told, truth, 0.7, 0.9)
    assert isinstance(found.band, Band) and (found.band.low, found.band.high) == (0.0, 0.0)
    assert (found.held, found.of) == (0, 50)


@pytest.mark.parametrize("drawn", [7, 8, None])
def test_a_task_that_two_runs_answered_is_one_task(drawn: int | None, tmp_path: Path) -> None:
    """A run that is given twice is no surer; a file that does not say what its tasks are is taken for the same."""
    rng = np.random.default_rng(0)
    accuracy = rng.uniform(0.2, 1.0, 60)
    told = {"accuracy": accuracy, "k_fold": accuracy + 0.1 * rng.normal(size=60), "task": np.arange(60)}
    told["hold_out"] = told["k_fold"]
    for name, mark in (("one", 7), ("two", drawn)):
        marked = {} if mark is None else {"draw": np.full(60, mark)}
        np.savez(tmp_path / f"{name}.npz", **told, **marked)  # pyright: ignore[reportArgumentType]
    if drawn is None:
        np.savez(tmp_path / "one.npz", **told)  # pyright: ignore[reportArgumentType]
    one, two = (
        run(
            "predictor-trust", {"estimates": [tmp_path / f"{n}.npz" for n in names]}, {}, tmp_path / names[-1]
        )
        for names in (("one",), ("one", "two"))
    )
    widths = [[e["interval"][1] - e["interval"][0] for e in found["estimates"]] for found in (one, two)]
    if drawn == 8:  # other tasks
        assert two["result"]["tasks"] == 120 and "Of 60 tasks" in two["finding"]
        assert widths[1][0] < 0.8 * widths[0][0]
        return
    assert two["result"]["tasks"] == 60 and "Of 60 answers on 30 tasks" in two["finding"]
    assert one["result"]["band"]["k-fold"] == pytest.approx(two["result"]["band"]["k-fold"], abs=3)
    assert widths[1] == pytest.approx(widths[0], abs=0.03)


def test_one_shot_tasks_are_not_estimable(tmp_path: Path) -> None:
    nothing = np.full(20, np.nan)
    np.savez(tmp_path / "e.npz", accuracy=np.linspace(0.3, 0.9, 20), k_fold=nothing, hold_out=nothing)
    found = run("predictor-trust", {"estimates": [tmp_path / "e.npz"]}, {}, tmp_path / "r")
    assert all("undefined" in e["value"] for e in found["estimates"])
    np.savez(tmp_path / "few.npz", accuracy=np.ones(3), k_fold=np.ones(3), hold_out=np.ones(3))
    for name, words in (("few.npz", "at least 8"), ("e.txt.npz", "lacks")):
        if "lacks" in words:
            np.savez(tmp_path / name, accuracy=np.ones(3))
        with pytest.raises(BadAnalysis, match=words):
            run("predictor-trust", {"estimates": [tmp_path / name]}, {}, tmp_path / "r")


def judge_stated(tmp_path: Path, *names: str, **settings: Any) -> dict[str, Any]:
    files = {"probabilities": [tmp_path / f"{name}.npz" for name in names]}
    return run("calibration", files, settings, tmp_path / "r")


def test_a_task_whose_probabilities_two_runs_state_is_one_task(tmp_path: Path) -> None:
    """A run that is given twice is no surer; the same numbers of other draws are other tasks."""
    for name, mark in (("one", 7), ("two", 7), ("other", 8)):
        write_stated(tmp_path / f"{name}.npz", tasks=40, draw=np.full(40, mark))
    once, twice = judge_stated(tmp_path, "one"), judge_stated(tmp_path, "one", "two")
    assert once["estimates"] == [
        {**one, "value": pytest.approx(one["value"]), "interval": pytest.approx(one["interval"])}
        for one in twice["estimates"]
    ]
    assert once["result"]["tasks"] == twice["result"]["tasks"] == 40
    assert judge_stated(tmp_path, "one", "other")["result"]["tasks"] == 80


def test_the_page_says_what_nothing_is_said_of_and_how_often_nll_is_cut_off(tmp_path: Path) -> None:
    rows = np.tile(np.array([0.0, 1.0], np.float32), 80)
    own = {"label": np.tile([0, 1], 40), "predicted": np.ones(80, int), "probabilities": rows}
    shape = {"ways": np.full(8, 2), "queries": np.full(8, 10)}
    write_stated(tmp_path / "s.npz", 8, **own, **shape, tasks_of_run=np.array(12), not_believed=np.array(3))
    found = judge_stated(tmp_path, "s")
    notes = " ".join(found["notes"])
    assert (
        "4 tasks of the runs have no probabilities, 3 of them because what came was no distribution" in notes
    )
    assert "87.3 nats: 40 of 80 answers" in notes and "15 bins of equal width" in notes
    assert found["result"]["nll"] == pytest.approx(126 * np.log(2) / 2)
    assert found["result"]["ece"] == 0.5 and "is overconfident" in found["finding"]


def test_bins_are_a_setting_and_too_few_tasks_or_broken_files_are_refused(tmp_path: Path) -> None:
    write_stated(tmp_path / "s.npz")
    few, many = (judge_stated(tmp_path, "s", bins=bins) for bins in (2, 30))
    assert few["result"]["ece"] < many["result"]["ece"] and "30 bins" in many["notes"][0]
    write_stated(tmp_path / "small.npz", tasks=7)
    write_stated(tmp_path / "nan.npz", probabilities=np.full(1000, np.nan, np.float32))
    write_stated(tmp_path / "sum.npz", probabilities=np.full(1000, 0.3, np.float32))
    write_stated(tmp_path / "short.npz", label=np.zeros(199, int))
    np.savez(tmp_path / "none.npz", probabilities=np.ones(3))
    for name, words in (
        ("small", "7 tasks with probabilities are too few: at least 8"),
        ("nan", "rows that are no probabilities"),
        ("sum", "rows that are no probabilities"),
        ("short", "lengths that do not fit"),
        ("none", "lacks task, dataset"),
    ):
        with pytest.raises(BadAnalysis, match=words):
            judge_stated(tmp_path, name)
    with pytest.raises(BadAnalysis, match="bins is a number from 2 to 100"):
        judge_stated(tmp_path, "s", bins=1)


def test_probabilities_that_err_both_ways_are_no_good_ones(tmp_path: Path) -> None:
    """0.9 where 0.7 are right, and 0.7 where 0.9 are: on average nothing is wrong."""
    stated = np.tile([0.9, 0.7], 2000)
    hits = np.where(np.arange(4000) % 2 == 0, np.arange(4000) // 2 % 10 < 7, np.arange(4000) // 2 % 10 < 9)
    rows = np.column_stack([stated, 1 - stated]).astype(np.float32)
    shape = {"ways": np.full(200, 2), "queries": np.full(200, 20)}
    own = {"label": np.where(hits, 0, 1), "predicted": np.zeros(4000, int), "probabilities": rows.ravel()}
    write_stated(tmp_path / "s.npz", 200, **shape, **own)
    found = judge_stated(tmp_path, "s")
    assert found["result"]["ece"] == pytest.approx(0.2, abs=1e-6)
    assert found["finding"].startswith("Stated probabilities are too high for some answers and too low for")


def test_a_class_that_is_never_believed_stands_first_and_exact_probabilities_by_class_are_chance(
    tmp_path: Path,
) -> None:
    """Exact probabilities over five of ten classes; then class 7 gets a fiftieth of its own wherever it is."""
    rng = np.random.default_rng(1)
    classes = np.array([rng.permutation(10)[:5] for _ in range(60)])
    write_stated(tmp_path / "exact.npz", 60, classes=classes.ravel())
    with np.load(tmp_path / "exact.npz") as stored:
        rows, label = stored["probabilities"].reshape(60, 10, 5), stored["label"].reshape(60, 10)
    exact = {
        one["klass"]: one
        for one in judge_stated(tmp_path, "exact")["result"]["classes"]
        if not one["dataset"]
    }
    own = [(t, classes[t].tolist().index(7)) for t in range(0, 60, 2) if 7 in classes[t]]
    losses = [-np.log(rows[t, label[t] == j, j]).mean() for t, j in own if (label[t] == j).any()]
    assert exact[7]["tasks"] == len(own) and exact[7]["nll"] == pytest.approx(np.mean(losses))
    assert exact[7]["half_width"] == pytest.approx(t_interval(losses)[1])
    assert all(one["ece"] < 2 * one["chance"] for one in exact.values())
    doubted = np.where((classes == 7)[:, None], rows / 50, rows)
    doubted /= doubted.sum(axis=2, keepdims=True)
    write_stated(
        tmp_path / "d.npz", 60, classes=classes.ravel(), probabilities=doubted.ravel().astype(np.float32)
    )
    found = judge_stated(tmp_path, "d")
    first = found["result"]["classes"][0]
    assert first["klass"] == 7 and first["ece"] > 2 * first["chance"]
    page = (tmp_path / "r" / "page.html").read_text()
    assert f"class 7 of dataset {first['dataset'] + 1}" in page and "By class, highest NLL first" in page
    write_stated(tmp_path / "old.npz", 60)
    assert "Nothing is said by class" in " ".join(judge_stated(tmp_path, "d", "old")["notes"])


def test_a_folder_with_estimates_is_read_by_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    accuracy = rng.uniform(size=40)
    np.savez(
        tmp_path / "estimates.npz", task=np.arange(40), accuracy=accuracy, k_fold=accuracy, hold_out=accuracy
    )
    done = CliRunner().invoke(analyse, ["predictor-trust", str(tmp_path), "--out", str(tmp_path / "r")])
    assert done.exit_code == 0 and "0 cannot tell, 0 not estimable" in done.output, (
        done.output
    )  # exact: always sure


@pytest.mark.seconds("a whole report")
def test_the_penalty_that_leave_one_out_hangs_on_is_said_and_can_be_set(tmp_path: Path) -> None:
    data = make_demo_data(tmp_path / "demo", classes=5, images=12, datasets=("SHP_FIL",))
    packs = [pack_dataset(data / "SHP_FIL", tmp_path).path]
    asked = {"backbone": "pixels", "ways": 3, "shots": 3, "query": 4, "tasks": 20, "heads": ["baseline"]}
    errors = []
    for strength in (0.1, 100.0):
        folder = tmp_path / f"{strength:g}"
        found = run("task-trust", {"meta_test": packs}, asked | {"strength": strength}, folder)
        errors.append(found["result"]["errors"]["leave-one-out"]["baseline"]["mean_absolute"])
        assert f"C = {strength:g} (strength)" in (folder / "page.html").read_text()
    assert errors[0] > 1.3 * errors[1]
    with pytest.raises(BadAnalysis, match="positive"):
        run("task-trust", {"meta_test": packs}, asked | {"strength": 0}, tmp_path / "no")


def test_novel_classes_of_a_coin_are_binomial_and_of_equal_weights_hypergeometric() -> None:
    assert novel_in_task(9, 7, 5, 0.3, "coin") == pytest.approx(
        stats.binom.pmf(np.arange(6), 5, 0.3), rel=1e-12
    )
    uniform = novel_in_task(9, 7, 5, 7 / 16)
    assert uniform == pytest.approx(stats.hypergeom.pmf(np.arange(6), 16, 7, 5), rel=1e-12)
    assert novel_in_task(9, 7, 5, 0.0)[0] == 1 and novel_in_task(9, 7, 5, 1.0)[5] == 1


def test_novel_classes_are_those_that_the_kit_draws(tmp_path: Path) -> None:
    sides = np.arange(4), 4 + np.arange(4)
    drawn = [
        int((mixture_classes(Draws("test", 0, i), *sides, 2, 0.5, "weighted") >= 4).sum())
        for i in range(3000)
    ]
    expected = novel_in_task(4, 4, 2, 0.5)
    assert np.bincount(drawn, minlength=3) / 3000 == pytest.approx(expected, abs=0.03)
    parameters = {"base_classes": 4, "novel_classes": 4, "ways": 2}
    found = run("mixtures", {}, parameters, tmp_path)["result"]
    assert found["probability"][5] == pytest.approx(expected.tolist(), rel=1e-12)
    assert found["uniform_lambda"] == 0.5
    with pytest.raises(BadAnalysis, match="at most the classes of either side"):
        run("mixtures", {}, {**parameters, "ways": 5}, tmp_path)


def test_the_variance_of_classes_seen_is_that_of_all_samples() -> None:
    sets = [set(c) for c in combinations(range(4), 2)]
    seen = [len(set.union(*sample)) for sample in product(sets, repeat=3)]
    assert classes_variance(4, [2], 3) == pytest.approx(np.var(seen), rel=1e-12)
    mixed = [(set(c), 1 / (2 * comb(4, n))) for n in (2, 3) for c in combinations(range(4), n)]
    pairs = [(len(a | b), p * q) for (a, p), (b, q) in product(mixed, repeat=2)]
    first = sum(z * w for z, w in pairs)
    assert classes_variance(4, [2, 3], 2) == pytest.approx(
        sum(z * z * w for z, w in pairs) - first**2, rel=1e-12
    )


@pytest.mark.seconds("a whole report")
def test_an_audit_says_the_spread_of_classes_and_the_bounds_for_many(
    packs: list[Path], tmp_path: Path
) -> None:
    run(
        "audit",
        {"meta_test": packs},
        {"tasks": 4, "protocol": {"name": "fixed", "ways": 2, "shots": 1, "query": 1}},
        tmp_path,
    )
    page = " ".join((tmp_path / "page.html").read_text().split())
    assert f"<td>{classes_variance(8, [2], 2) ** 0.5:.4g}</td>" in page
    assert "theorem 4" in page and "<td>2</td>" in page  # gamma n N / (1 + gamma) = 2 * 2 / 2


@pytest.mark.slow("trains a head for each draw of classes")
def test_all_base_classes_in_every_draw_flip_nothing(packs: list[Path], tmp_path: Path) -> None:
    small = {"backbone": "conv4-8", "ways": 2, "shots": 2, "query": 2, "tasks": 4}
    inputs = {"meta_test": packs[:1], "meta_train": packs[1:]}
    found = run("class-flips", inputs, {**small, "classes": "base", "sizes": [2, 8]}, tmp_path / "b")
    whole = found["result"]["draws"][1]
    assert (whole["size"], whole["flip"], whole["exaggeration"]) == (8, 0.0, 0.0)
    novel = run("class-flips", inputs, {**small, "sizes": [3]}, tmp_path / "n")
    assert 0 <= novel["result"]["task_noise"]["flip"] < 1
    names = [e["name"] for e in novel["estimates"]]
    assert "flips by task noise alone" in names and "flips, 3 novel classes" in names
    for parameters, words in (
        ({"sizes": [9]}, "there are 8"),
        ({"classes": "other"}, "novel, base"),
        ({"draws": 10}, "1,000 draws"),
        ({"sizes": [1]}, "at least the 2 ways"),
    ):
        with pytest.raises(BadAnalysis, match=words):
            run("class-flips", {"meta_test": packs[:1]}, {**small, **parameters}, tmp_path)
    with pytest.raises(BadAnalysis, match="--train"):
        run("class-flips", {"meta_test": packs[:1]}, {**small, "classes": "base", "sizes": [3]}, tmp_path)


def test_a_penalty_that_is_always_chosen_gains_nothing(packs: list[Path], tmp_path: Path) -> None:
    small = {"backbone": "pixels", "ways": 2, "shots": 4, "query": 2, "tasks": 12}
    same = run("baseline-cv", {"meta_test": packs}, {**small, "strengths": [1.0, 1.0]}, tmp_path / "same")
    assert same["result"]["gain"] == 0.0 and same["result"]["chosen"] == {"C 1": 12}
    assert same["finding"].startswith(
        "Choosing the penalty on each support set (BaselineCV) changes the accuracy by 0 points (no interval: all "
        "values are equal: they show no spread) against always taking C 1. The best"
    )
    one_shot = run("baseline-cv", {"meta_test": packs}, {**small, "shots": 1}, tmp_path / "one")
    assert one_shot["result"]["not_estimable"] == 12 and one_shot["result"]["gain"] == 0.0
    with pytest.raises(BadAnalysis, match="positive"):
        run("baseline-cv", {"meta_test": packs}, {**small, "fixed": 0.0}, tmp_path)


def test_rules_lose_what_their_choice_is_below_the_best(tmp_path: Path) -> None:
    noise = 0.001 * np.random.default_rng(0).normal(size=100)
    levels = {"base": [0.9, 0.8, 0.7], "validation": [0.5, 0.7, 0.6], "novel": [0.4, 0.55, 0.6]}
    arrays: dict[str, Any] = {n: np.array(v)[:, None] + noise for n, v in levels.items()}
    np.savez(tmp_path / "s.npz", **arrays)
    found = run("selection", {"arrays": [tmp_path / "s.npz"]}, {"replicates": 200}, tmp_path / "r")["result"]
    assert found["taken"] == {"base": 1, "validation": 2}
    assert found["novel_lost"] == pytest.approx({"base": 0.2, "validation": 0.05})
    assert found["oracle_calls"] == pytest.approx([0.6 - 1.55 / 3, 0.6 - (0.55 + 0.6 + 0.6) / 3, 0.0])
    assert found["equal_calls"] == 2 and found["tau_b"]["base"] == pytest.approx(-1.0)
    np.savez(tmp_path / "bad.npz", novel=np.ones((3, 5)), base=np.ones((2, 5)))
    with pytest.raises(BadAnalysis, match="the same two or more configurations"):
        run("selection", {"arrays": [tmp_path / "bad.npz"]}, {"replicates": 200}, tmp_path)


def test_snapshots_of_a_run_are_configurations_to_choose_from(tmp_path: Path) -> None:
    """The command refused `snapshots.npz`: it asked for scores of configurations, and found none."""
    write_snapshots(
        tmp_path / "snapshots.npz"
    )  # best novel accuracy at the second, base classes at the fourth
    done = CliRunner().invoke(
        analyse,
        ["selection", str(tmp_path / "snapshots.npz"), "--replicates", "200", "--out", str(tmp_path / "r")],
    )
    words = " ".join(done.output.split())
    assert (
        "against the best of 4 snapshots: best BaseGen takes snapshot 4 and loses 18 points (95 % interval"
        in words
    )
    assert "best ValGen takes snapshot 2 and loses 0 points" in words, words
    assert "Only asking for the NovelGen of all 4 loses no more" in words
    page = (tmp_path / "r" / "page.html").read_text()
    assert "Choosing a snapshot without novel classes" in page and "configuration" not in page
    write_snapshots(tmp_path / "none.npz")
    with np.load(tmp_path / "none.npz") as stored:
        kept = {name: stored[name] for name in stored.files if name != "novel"}
    np.savez(tmp_path / "none.npz", **kept)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadAnalysis, match="needs novel"):
        run("selection", {"snapshots": [tmp_path / "none.npz"]}, {}, tmp_path / "no")


def evaluation(name: str, at: float | None, mean: float, half: float) -> dict[str, Any]:
    axis = "share of novel classes" if name == "mixtures" else ""
    return PointScore(name, name, axis, f"{name}-{at}", name, at, mean, half, 40).to_dict()


@pytest.mark.parametrize("same", [False, True])
def test_several_runs_lose_what_each_of_their_learners_loses(same: bool, tmp_path: Path) -> None:
    """Where the rule's scores are 0.7 and 0.5, of two runs, the learners lose 0.4 and 0.1 between their own.

    Half widths of 0.03 and 0.04 make one of 0.05. On tasks of their own, two runs have it with √2 as much each.
    """
    halves = {"base": 0.03, "novel": 0.04}
    rows = [evaluation("base", None, 0.7, 0.03), evaluation("novel", None, 0.5, 0.04)]
    for row, means in zip(rows, ((0.9, 0.7), (0.5, 0.6)), strict=True):
        own = halves[str(row["evaluation"])] * (1 if same else 2**0.5)
        row["runs"] = [
            {"seed_index": place, "mean": mean, "half_width": own, "tasks": 40, "of a later release": 1}
            for place, mean in enumerate(means)
        ]
        row["same_test_tasks"] = same
    (tmp_path / "evaluations.json").write_text(json.dumps(rows))
    found = read_tested(tmp_path / "evaluations.json")
    assert found.lost_by_run == pytest.approx((0.4, 0.1)) and lost(found)[0] == pytest.approx(0.25)
    assert lost(found)[1] == pytest.approx(0.05)
    assert found.sides["base"].tasks == (40 if same else 80), "the same tasks are no more tasks"
    rows[1]["runs"] = []
    (tmp_path / "evaluations.json").write_text(json.dumps(rows))
    with pytest.raises(BadAnalysis, match="other runs were tested on base than on novel classes"):
        read_tested(tmp_path / "evaluations.json")


def test_runs_on_the_same_tasks_have_an_interval_that_is_never_too_narrow() -> None:
    """Of runs that are right on the same tasks it is that of one run; of unrelated ones it is wider than it need be."""
    rng, score = np.random.default_rng(0), PointScore.from_dict(evaluation("base", None, 0.0, 0.0))
    common, own = rng.normal(size=30), rng.normal(size=(3, 30))
    for share in (0.0, 0.5, 1.0):
        found = share * common + (1 - share) * own
        runs = [SeededScore(place, *t_interval(values), 30) for place, values in enumerate(found)]
        made, (mean, half) = mean_of_runs(score, runs, same_tasks=True), t_interval(found.mean(axis=0))
        assert made.mean == pytest.approx(mean) and made.tasks == 30
        assert made.half_width is not None and half is not None and made.half_width >= half - 1e-12
        assert (made.half_width == pytest.approx(half)) == (share == 1.0)


def test_a_submission_loses_what_lies_between_its_scores_on_base_and_novel_classes(tmp_path: Path) -> None:
    for name, novel in (("ours", 0.5), ("theirs", 0.68)):
        (tmp_path / name).mkdir()
        rows = [evaluation("base", None, 0.7, 0.03), evaluation("novel", None, novel, 0.04)]
        rows += [evaluation("mixtures", at, 0.7 - at * (0.7 - novel), 0.03) for at in (0.0, 0.5, 1.0)]
        (tmp_path / name / "evaluations.json").write_text(json.dumps(rows))
    folders = [str(tmp_path / name) for name in ("ours", "theirs")]
    done = CliRunner().invoke(analyse, ["submission-shift", *folders, "--out", str(tmp_path / "r")])
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "ours loses 20.0 ± 5.0 points (95 %) on novel classes; theirs loses 2.0 ± 5.0 points" in words
    assert words.count("not settled") == 1
    stored = json.loads((tmp_path / "r" / "result.json").read_text())
    (gap,) = [e for e in stored["estimates"] if e["name"] == "BaseGen minus NovelGen of ours"]
    assert gap["interval"] == pytest.approx([15, 25]) and gap["unit"] == "points"
    assert stored["result"]["ours"]["curve"] == pytest.approx({"0": 0.7, "0.5": 0.6, "1": 0.5})
    (tmp_path / "evaluations.json").write_text(json.dumps([evaluation("base", None, 0.7, 0.03)]))
    bad = CliRunner().invoke(analyse, ["submission-shift", str(tmp_path / "evaluations.json")])
    assert bad.exit_code == 1 and "--evaluate base --evaluate novel" in " ".join(bad.output.split())
