"""Pages of reports as somebody reads them aloud: numbers have one unit a page, and intervals where they are known."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.cli import analyse, expand
from anyshot_analysis.comparison.equivalence import compare_paired
from anyshot_analysis.diversity.pool_report import shared_rows, shared_words
from anyshot_analysis.features import Features
from anyshot_analysis.jobs.excluded_datasets import say_left_out
from anyshot_analysis.jobs.inputs import BadAnalysis
from anyshot_analysis.jobs.registry import run
from anyshot_analysis.pages import ReportPage
from anyshot_analysis.shift.evaluation import LambdaPoint
from anyshot_analysis.shift.heads_report import Parameters as ShiftParameters
from anyshot_analysis.shift.heads_report import describe as describe_shift
from anyshot_analysis.shift.snapshots_report import beside_last
from anyshot_analysis.trust.task_trust_report import order_of_heads
from anyshot_core.charts import Bar, draw_bars, draw_curves, draw_difficulty, draw_distributions
from anyshot_core.data.overlap import SharedImages
from anyshot_core.report.estimates import mean
from anyshot_core.report.storage import cell_words
from anyshot_core.results import Identity, write_results
from anyshot_scoring.difficulty import Difficulty
from anyshot_scoring.summary import Group
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined
from tests.core.tinydata import write_pack
from tests.scoring.drawn import draw_table


def result_files(folder: Path, test_seed: int | None = None, tasks: int = 24) -> list[Path]:
    """Two submissions of two runs each, the second run a copy of the first; `test_seed` of all, or none known."""
    for who, gap in (("ours", 0.0), ("theirs", 0.1)):
        noise = np.random.default_rng(5).normal(0, 0.05, tasks) if gap else 0.0
        columns = draw_table(1, tasks).columns()
        columns |= {"normalized_accuracy": columns["normalized_accuracy"] - gap + noise}
        for place in (1, 2):
            identity = Identity(who=who, train_seed=place, test_seed=test_seed)
            identity = identity if test_seed is not None else Identity(who=who, run=str(place))
            write_results(folder / f"{who}{place}.parquet", TaskTable.from_columns(columns), identity)
    return sorted(folder.glob("*.parquet"))


def figures(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "figures.json").read_text())


@pytest.mark.parametrize(
    ("cell", "words"),
    [(-1e-17, "above −1e-6"), (-0.0, "0"), (4.8e-7, "under 1e-6"), (14915.0, "14,915"), (0.12345, "0.1235")],
)
def test_a_number_has_four_digits_and_no_sign_of_nothing(cell: float, words: str) -> None:
    assert cell_words(cell, ()) == words


def test_nothing_below_zero_is_drawn_as_minus_nothing() -> None:
    assert "-0.000" not in draw_bars([Bar("a", -1e-9, 0.1)], "Bars").description
    assert "41.4 ± 7.0" in draw_bars([Bar("a", 41.3889, 7.023)], "Bars", "Accuracy (points)").description


def test_a_chart_of_exact_values_promises_no_intervals() -> None:
    curve = draw_curves({"a": [Group(1, 0.5, None, 1)]}, "Curve", "ways", intervals=False).description
    bars = draw_bars([Bar("a", 3)], "Bars", "Tasks", intervals=False).description
    assert "interval" not in curve + bars and bars == "Tasks. a: 3."


def test_a_chart_says_what_it_counts() -> None:
    assert "9 pairs" in draw_distributions({"a": np.linspace(0, 1, 9)}, unit="pairs").description
    shown = draw_difficulty([Difficulty("A", 30.0, 50.0)], axis="Difficulty (points)", who="baseline")
    assert "best baseline" in shown.description and "entry" not in shown.description + shown.svg


def test_a_plan_from_assumptions_has_no_range_and_speaks_of_points(tmp_path: Path) -> None:
    """It had "(95 % interval 4 to 14,915)" around deviations that somebody typed."""
    found = run("plan", {}, {}, tmp_path)
    assert found["finding"].startswith("A true lead of 1 point flips") and "interval" not in found["finding"]
    table = figures(tmp_path)["tables"][0]
    assert table["header"][0] == "lead (points)" and [row[0] for row in table["rows"]] == [0.5, 1, 2, 5]


def test_difficulty_has_one_unit(tmp_path: Path) -> None:
    found = run("difficulty", {"results": result_files(tmp_path)}, {}, tmp_path / "out")
    claims = {one["name"]: one["value"] for one in found["estimates"]}
    for name, intrinsic, modelling, best, worst in figures(tmp_path / "out")["tables"][0]["rows"]:
        assert intrinsic == pytest.approx(claims[f"intrinsic difficulty of {name}"], abs=0.006)
        assert modelling == pytest.approx(best - worst, abs=0.011) and best == pytest.approx(100 - intrinsic)


def test_a_comparison_has_an_interval_for_each_dataset(tmp_path: Path) -> None:
    run("compare", {"results": result_files(tmp_path)}, {}, tmp_path / "out")
    table = figures(tmp_path / "out")["tables"][0]
    assert table["header"][-1] == "95 % interval, other tasks"
    assert all(" to " in row[-1] for row in table["rows"]) and len(table["rows"]) == 4
    assert "A point is 0.01 of normalized accuracy" in (tmp_path / "out" / "page.html").read_text()


def test_runs_on_the_same_tasks_are_no_more_tasks(tmp_path: Path) -> None:
    """Two seeds of one test seed gave "over 48 tasks", with intervals of 48."""
    found = {}
    for name, seed in (("same", 93), ("others", None)):
        (tmp_path / name).mkdir()
        files = {"results": result_files(tmp_path / name, seed)}
        found[name] = run("compare", files, {"rule": "mean_run"}, tmp_path / name / "out")["result"]
    assert found["same"]["tasks"] == 24 and found["others"]["tasks"] == 48
    assert found["same"]["difference"] == pytest.approx(found["others"]["difference"])
    notes = json.loads((tmp_path / "same" / "out" / "result.json").read_text())["notes"]
    assert notes[-1].startswith("The runs were tested on the same tasks") and len(notes) == 5
    widths = {key: one["interval"]["high"] - one["interval"]["low"] for key, one in found.items()}
    assert widths["same"] > 1.2 * widths["others"]


def test_what_is_wrong_with_a_parameter_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(BadAnalysis) as refused:
        run("plan", {}, {"lead": -1}, tmp_path)
    words = "the lead is positive and the flip probability lies between 0 and 0.5"
    assert str(refused.value) == f"analysis plan: {words}"


def test_a_layer_alone_is_no_choice_of_one_and_its_bar_has_the_interval_of_its_line(tmp_path: Path) -> None:
    """The page said "Of 1 layers, features differs most", and drew "(interval undefined)" above an interval."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(40, 3))
    for name, values in (("one", one), ("two", one + 0.1 * rng.normal(size=(40, 3)))):
        np.savez(tmp_path / f"{name}.npz", features=values)
    files = {"arrays": [tmp_path / "one.npz", tmp_path / "two.npz"]}
    found = run("representations", files, {"permutations": 20}, tmp_path / "out")
    assert found["finding"].startswith("features: its orthogonal Procrustes distance is ")
    assert "(95 % interval " in found["finding"]
    chart = figures(tmp_path / "out")["charts"][2]
    (bar,) = chart["rows"]
    low, high = chart["chance"]["features"]
    assert f"95 % of random pairings of the images give {low:.4g} to {high:.4g}." in found["finding"]
    (claim,) = [one for one in found["estimates"] if one["name"] == "Procrustes of features"]
    assert bar["half_width"] == pytest.approx((claim["interval"][1] - claim["interval"][0]) / 2)


def test_layers_are_drawn_beside_chance(tmp_path: Path) -> None:
    """Chance levels stood in tables alone: a CKA of 0.05 that chance gives looked like some likeness."""
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        np.savez(tmp_path / f"{name}.npz", head=rng.normal(size=(60, 4)), body=rng.normal(size=(60, 2, 3, 3)))
    files = {"arrays": [tmp_path / "one.npz", tmp_path / "two.npz"]}
    found = run("representations", files, {"permutations": 20}, tmp_path / "out")["result"]
    cka, procrustes = figures(tmp_path / "out")["charts"][1:]
    assert cka["axis"] == "Linear CKA" and set(cka["chance"]) == {"head", "body"}
    assert cka["chance"]["head"] == [pytest.approx(found["head"]["cka_chance"])] * 2
    assert all(low < high for low, high in procrustes["chance"].values())
    page = (tmp_path / "out" / "page.html").read_text()
    assert page.count(", at chance 0.") == 4 and page.count(">chance<") == 2
    assert "weights from" in page and "<td>first file</td>" in page


def test_bars_beside_chance_leave_room_for_it() -> None:
    """A level of chance beyond every bar is on the picture, not cut off."""
    chart = draw_bars([Bar("near", 0.1)], "Bars", "Linear CKA", chance={"near": [0.8, 0.9]})
    assert "near: 0.100 (interval undefined), at chance 0.800 to 0.900." in chart.description
    assert ">0.8<" in chart.svg and ">0.8<" not in draw_bars([Bar("near", 0.1)], "Bars", "Linear CKA").svg


def test_a_snapshot_below_the_last_one_is_not_said_to_be_above_it() -> None:
    """A difference of -2 points was "-2.0 points above the last one"."""
    tasks = np.random.default_rng(0).normal(0.5, 0.1, 50)
    worse = compare_paired(tasks - 0.02 + 0.001 * np.arange(50) / 50, tasks)
    assert re.search(
        r"it is 1\.95 ± \d\.\d+ points \(95 %\) below the last one: different\.", beside_last(worse)
    )


def test_the_number_of_pairs_and_pools_is_said_in_words() -> None:
    one = SharedImages("A", "B", 3, 8)
    assert shared_words([one])[0].startswith("1 pair of datasets shares images.")
    assert shared_words([one, one])[0].startswith("2 pairs of datasets share images.")
    assert shared_words(Undefined("one pool was given")) == ["Images in both pools: one pool was given."]
    assert shared_rows([]) == [], "a table of nothing had a row of dashes"


def test_diversity_names_its_distance_and_keeps_intervals_where_distances_are(tmp_path: Path) -> None:
    """Two draws of one task were "0.33 ± 0.58 apart", which no distance is, and whose distance it was stood nowhere."""
    pack = write_pack(tmp_path, "SET", seed=1, classes=6, images=8)
    own = {
        "tasks": 6,
        "floor_tasks": 2,
        "probe": "conv4-4",
        "protocol": {"name": "fixed", "ways": 2, "shots": 2, "query": 2},
    }
    for distance, words in (
        ("task2vec", "The Task2Vec distance of two tasks"),
        ("cosine", "The cosine distance of Fisher"),
    ):
        found = run("diversity", {"meta_test": [pack]}, own | {"distance": distance}, tmp_path / distance)
        assert found["finding"].startswith(words) and "±" not in found["finding"]
        assert found["finding"].count("(95 % interval ") == 3
        assert "6 tasks were drawn, 2 of them twice." in found["notes"][0]
        assert all(one["interval"][0] >= 0 for one in found["estimates"])
        assert not figures(tmp_path / distance)["tables"], "one pool shares images with none"


def test_flips_say_the_lead_on_tasks_that_did_not_choose_the_leader(tmp_path: Path) -> None:
    """ "On all classes euclidean leads by 0.2 points" was said of noise, without an interval."""
    pack = write_pack(tmp_path, "SET", seed=1, classes=6, images=10)
    small = {"backbone": "pixels", "sizes": [3], "ways": 2, "shots": 2, "query": 2, "tasks": 4}
    found = run("class-flips", {"meta_test": [pack]}, small, tmp_path / "r")
    assert "on the tasks that say who leads, on others by " in found["finding"]
    claims = {one["name"]: one for one in found["estimates"]}
    low, high = claims["lead on all novel classes, on the tasks of the draws"]["interval"]
    assert low < high
    chart = figures(tmp_path / "r")["charts"][0]
    assert all(group["half_width"] for groups in chart["series"].values() for group in groups)
    assert "cosine: the class mean of least angle, of the same features centred" in found["notes"][0]


def test_a_penalty_and_an_evaluator_that_were_picked_say_so(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, "SET", seed=1, classes=5, images=8)
    small = {"backbone": "pixels", "ways": 3, "shots": 3, "query": 2, "tasks": 8}
    found = run("baseline-cv", {"meta_test": [pack]}, small, tmp_path / "p")
    assert "points (95 % interval" in found["finding"].partition("known only afterwards, is C ")[2]
    assert "has 3 folds" in found["notes"][0] and len(found["notes"]) == 1
    one = {**small, "heads": ["protonet"]}
    trust = run("task-trust", {"meta_test": [pack]}, one, tmp_path / "t")
    assert (
        "which choosing the least makes look smaller. With protonet alone there is nothing to choose."
        in trust["finding"]
    )
    assert figures(tmp_path / "t")["tables"][1]["title"].startswith(
        "Is the accuracy at least 60 %? Answers by k-fold"
    )


def test_heads_in_and_out_of_distribution_lose_with_an_interval_and_in_words_for_one_head() -> None:
    tasks = np.random.default_rng(0).normal(0.6, 0.1, (2, 40))
    curve = [
        LambdaPoint(share, {"a": own - 0.1 * share}) for share, own in zip((0.0, 1.0), tasks, strict=True)
    ]
    finding = describe_shift(curve, ShiftParameters()).finding
    assert finding.startswith("On novel classes a loses ") and finding.endswith(").")
    tied = [
        LambdaPoint(0.0, {"a": tasks[0], "b": tasks[0]}),
        LambdaPoint(1.0, {"a": tasks[0] - 0.1, "b": tasks[0]}),
    ]
    words = describe_shift(tied, ShiftParameters()).finding
    assert "No pair of heads changed places between base classes (a, b) and novel ones (b, a)." in words
    assert describe_shift(tied, ShiftParameters()).population.startswith("other 5-way 3-shot tasks")


def test_advice_among_snapshots_says_what_other_tasks_decide(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    base, validation = rng.random((2, 3, 40))
    np.savez(tmp_path / "s.npz", train_loss=np.array([3.0, 2.0, 1.0]), base=base, validation=validation)
    words = run("snapshots", {"snapshots": [tmp_path / "s.npz"]}, {}, tmp_path / "out")["finding"]
    assert words.endswith((": undecided.", ": different.", ": equivalent.", "It is the last one."))


def test_advice_from_a_task_or_two_claims_nothing(tmp_path: Path) -> None:
    """Of three tasks two choose snapshot 2 of 3, and the third cannot judge it."""
    scores = {"base": np.eye(3), "validation": np.array([[0.1] * 3, [0.9] * 3, [0.2] * 3])}
    np.savez(tmp_path / "three.npz", train_loss=np.array([1.0, 0.5, 0.2]), **scores)
    found = run("snapshots", {"snapshots": [tmp_path / "three.npz"]}, {}, tmp_path / "r")["finding"]
    assert "Take snapshot 2 of 3" in found and "It is the last one" not in found
    assert "Whether it is better than the last one cannot be said" in found
    one = {name: values[:, :1] for name, values in scores.items()}
    np.savez(tmp_path / "one.npz", train_loss=np.array([1.0, 0.5, 0.2]), **one)
    with pytest.raises(BadAnalysis, match="a single task"):
        run("snapshots", {"snapshots": [tmp_path / "one.npz"]}, {}, tmp_path / "r")


def test_the_folder_of_a_run_that_was_tested_further_is_one_run(tmp_path: Path) -> None:
    """`compare` and `flips` took "ours (base)" and "ours (novel)" of the same folders for other submissions."""
    for name in ("results.parquet", "results-base.parquet", "predictions-novel.parquet", "ours-1.parquet"):
        (tmp_path / name).touch()
    assert [path.name for path in expand([tmp_path])] == [
        "ours-1.parquet",
        "predictions-novel.parquet",  # alone, so it is what the folder is about
        "results.parquet",
    ]


@pytest.mark.parametrize(
    ("analysis", "words"),
    [
        ("audit", "`anyshot data pack FOLDER` makes them of a dataset's folder): found none"),
        ("flips", "the folder of a dry run"),
        ("representations", "layers.npz of a run, or scores of configurations): 2 of them, found 0"),
        ("submission-shift", "--evaluate base --evaluate novel"),
    ],
)
def test_what_lacks_is_named_as_who_gives_it_knows_it(analysis: str, words: str, tmp_path: Path) -> None:
    """A folder of a dataset was answered with "needs 1 meta_train file(s), 0 were given"."""
    with pytest.raises(BadAnalysis) as refused:
        run(analysis, {}, {}, tmp_path)
    assert words in str(refused.value)


def test_no_interval_reaches_beyond_what_the_quantity_can_be(tmp_path: Path) -> None:
    """A correlation stood there with "-3.202 to 2.535", a similarity and a distance with ends below 0."""
    over = "other tasks"
    rows = [[0.1, 0.5, 0.9], [0.2, 0.1, 0.3], [0.1, 0.9, 0.2]]
    order = order_of_heads("k-fold", np.array(rows), np.array(rows[::-1]), over)
    wide = mean(order.name, [-1.0, 1.0], "correlation", over)
    assert isinstance(wide.interval, tuple) and wide.interval[0] < -10, "what it would be of two tasks"
    assert isinstance(order.interval, tuple) and -1 <= order.interval[0] <= order.interval[1] <= 1
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        np.savez(tmp_path / f"{name}.npz", features=rng.normal(size=(24, 4)), body=rng.normal(size=(24, 4)))
    files = {"arrays": [tmp_path / "one.npz", tmp_path / "two.npz"]}
    found = run("representations", files, {"permutations": 20}, tmp_path / "out")
    ends = [end for one in found["estimates"] for end in one["interval"]]
    assert min(ends) == 0.0 and max(ends) <= 1.0
    assert "which the choice of the farthest makes larger" in found["finding"]


@pytest.mark.parametrize(
    ("easier", "says"),
    [(0.02, "; the intervals of D1 overlap with it."), (0.4, "; no other interval reaches it.")],
)
def test_the_hardest_dataset_is_named_with_those_that_may_be_as_hard(
    tmp_path: Path, easier: float, says: str
) -> None:
    """ "D0 is the hardest" was said of the lowest of two scores that nothing told apart."""
    noise = np.random.default_rng(0).normal(0, 0.1, 12)
    score = np.tile(0.3 + noise - noise.mean(), 2)
    table = draw_table(1, 24, datasets=2)
    score += easier * (table.dataset == "D1")
    for who, gap in (("ours", 0.0), ("theirs", 0.1)):
        columns = table.columns() | {"normalized_accuracy": score - gap}
        write_results(tmp_path / f"{who}.parquet", TaskTable.from_columns(columns), Identity(who=who))
    found = run("difficulty", {"results": sorted(tmp_path.glob("*.parquet"))}, {}, tmp_path / "r")
    assert found["finding"].startswith(
        "D0 comes out as the hardest of 2 datasets: its intrinsic difficulty is "
    )
    assert found["finding"].endswith(says)


def test_a_plan_says_of_how_much_it_speaks_and_which_parameters_it_did_not_use(tmp_path: Path) -> None:
    """Its page named assumed spreads, 10 datasets and 600 tasks as parameters, and used those of the results."""
    files = result_files(tmp_path, tasks=24)
    measured, assumed = (run("plan", own, {"lead": 0.02}, tmp_path / "r") for own in ({"results": files}, {}))
    notes = " ".join(measured["notes"])
    assert (
        "Now: 4 datasets, each with 12 tasks over all runs." in notes
        and "nothing here comes from them" in notes
    )
    assert measured["estimates"][0]["name"] == "flips of a lead of 2 points now"
    notes = " ".join(assumed["notes"])
    assert "Now: 10 datasets, each with 20 classes and 600 tasks." in notes and "comes from them" not in notes


def test_the_same_order_of_heads_is_no_finding_where_none_are_told_apart() -> None:
    """ "The order of heads is the same" was all that was said of heads that are equal on base classes."""
    equal, noisy = np.full(8, 0.5), np.tile([0.4, 0.7], 4)
    curve = [LambdaPoint(share, {"a": equal, "b": noisy - 0.05}) for share in (0.0, 1.0)]
    assert describe_shift(curve, ShiftParameters()).finding.endswith(
        "The pair cannot be told apart on both sides."
    )
    sure = [LambdaPoint(share, {"a": equal, "b": equal - 0.2 + 0.01 * noisy}) for share in (0.0, 1.0)]
    assert describe_shift(sure, ShiftParameters()).finding.endswith(
        "The pair can be told apart on both sides."
    )


def test_datasets_without_enough_novel_classes_are_named() -> None:
    rows, labels = np.zeros((4, 1)), np.arange(4)
    base, novel = (
        Features(rows, labels, ("A", "A", "B", "B")),
        Features(rows[:3], labels[:3], ("A", "A", "B")),
    )
    page = ReportPage("shift", "", "Found.", "", [mean("a", [0, 1], "points", "tasks")])
    assert say_left_out(page, 2, base, novel).finding.endswith("too few: B (1 class on one side).")
    assert say_left_out(page, 2, base) is page


@pytest.mark.seconds("a whole report")
@pytest.mark.parametrize("name", ["task-trust", "baseline-cv"])
def test_datasets_with_too_few_classes_are_named(name: str, tmp_path: Path) -> None:
    """With 3 ways, a dataset of two classes had no task, and "these datasets" did not say so."""
    packs = [write_pack(tmp_path, f"SET_{n}", seed=n, classes=n, images=8) for n in (5, 2, 1)]
    small = {"backbone": "pixels", "ways": 3, "shots": 3, "query": 2, "tasks": 8}
    done = CliRunner().invoke(
        analyse,
        [name, *map(str, packs), "--out", str(tmp_path / "r")]
        + [part for key, value in small.items() for part in (f"--{key}", str(value))],
    )
    words = "these have too few: SET_2 (2 classes), SET_1 (1 class)."
    assert words in done.output, done.output
    assert words in (tmp_path / "r" / "page.html").read_text()
    assert run(name, {"meta_test": packs[:1]}, small, tmp_path / "all")["result"].get("left_out") is None
    with pytest.raises(ValueError, match="no dataset has 3 classes"):
        run(name, {"meta_test": packs[1:]}, small, tmp_path / "none")


def test_more_submissions_make_datasets_look_easier_and_more_telling_by_selection_alone(
    tmp_path: Path,
) -> None:
    """What the note says: submissions that are equal but for noise, two of them and eight."""
    found = {}
    for count in (2, 8):
        folder = tmp_path / str(count)
        folder.mkdir()
        for place in range(count):
            columns = draw_table(1, 40).columns()
            noise = np.random.default_rng(place).normal(0, 0.05, 40)
            columns |= {"normalized_accuracy": columns["normalized_accuracy"] + noise}
            write_results(
                folder / f"s{place}.parquet", TaskTable.from_columns(columns), Identity(who=f"s{place}")
            )
        report = run("difficulty", {"results": sorted(folder.glob("*.parquet"))}, {}, folder / "out")
        rows = report["result"]["difficulty"]
        found[count] = [np.mean([row[name] for row in rows]) for name in ("intrinsic", "modelling")]
        assert "the smaller intrinsic difficulty and the larger modelling" in report["notes"][0]
        assert "by selection alone" in (folder / "out" / "page.html").read_text()
    assert found[8][0] < found[2][0] and found[8][1] > found[2][1]


def test_the_notes_of_diversity_say_what_its_numbers_are(tmp_path: Path) -> None:
    packs = [write_pack(tmp_path, f"SET_{n}", seed=n, classes=6, images=8) for n in (1, 2)]
    torch.save(make_backbone("conv4-4", 32, seed=7).network.state_dict(), tmp_path / "weights.pt")
    protocol = {"name": "fixed", "ways": 2, "shots": 2, "query": 2}
    own = {"tasks": 6, "floor_tasks": 2, "probe": "conv4-4", "protocol": protocol}
    pools = {"meta_test": packs[:1], "meta_train": packs[1:]}
    found = run("diversity", pools, own, tmp_path / "random")
    published = found["result"]["pairs_as_independent"]
    probe, floor, papers, shared = found["notes"]
    assert (
        probe.startswith("Probe conv4-4 with random weights at 32 pixels;")
        and "error that is not in" in probe
    )
    assert "a distance below it is no sign of shared data" in floor
    assert papers.endswith(f"which they are not: {published['mean']:.4f} ± {published['half_width']:.4f}.")
    assert published["half_width"] < found["result"]["coefficient"]["half_width"], (
        "as if there were more data"
    )
    assert shared.startswith("No image is in both pools. Copies that were cropped, scaled or stored anew")
    file = run("diversity", pools, own | {"weights": str(tmp_path / "weights.pt")}, tmp_path / "file")[
        "notes"
    ][0]
    assert file.startswith("Probe conv4-4 with weights from a file at") and "error that is not in" not in file
