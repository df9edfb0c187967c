"""Each report on data whose truth is known: it says the truth, and refuses where there is none."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse
from anyshot_analysis.features import Features
from anyshot_analysis.jobs import BadAnalysis, run
from anyshot_analysis.shift.disjointness import expected_classes
from anyshot_analysis.shift.evaluation import mixture_episodes, split_sides_of_pool
from anyshot_core.data.overlap import find_shared_images
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import ClassSide, protocol_from_dict
from anyshot_core.results import Identity, write_results
from tests.core.tinydata import write_pack
from tests.scoring.drawn import draw_table

SMALL = {"probe": "conv4-4", "tasks": 6, "floor_tasks": 2}
FIXED = {"name": "fixed", "ways": 2, "shots": 2, "query": 2}


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four datasets of eight classes with eight images each."""
    folder = tmp_path_factory.mktemp("packs")
    return [write_pack(folder, f"SET_{i}", seed=i, classes=8, images=8) for i in range(4)]


@pytest.mark.seconds("a whole report")
def test_forty_tasks_over_four_datasets_are_ten_a_dataset(packs: list[Path], tmp_path: Path) -> None:
    found = run("audit", {"meta_test": packs}, {"tasks": 40, "protocol": FIXED}, tmp_path)
    assert "40 tasks over 4 datasets are 10 a dataset" in found["finding"]
    uneven = run("audit", {"meta_test": packs}, {"tasks": 41, "protocol": FIXED}, tmp_path / "uneven")
    assert "41 tasks over 4 datasets are at least 10 a dataset" in uneven["finding"]
    seen = found["result"]
    assert set(seen["tasks"].values()) == {10}
    assert seen["expected_seen"]["SET_0"] == pytest.approx(8 * (1 - (1 - 2 / 8) ** 10), rel=1e-12)
    assert seen["miss_bound"]["SET_0"] == pytest.approx(8 * (1 - 2 / 8) ** 10, rel=1e-12)
    page = (tmp_path / "page.html").read_text()
    assert "disjoint sets of classes are rarer than 0.01" in page and "miss rarer" not in page


def test_an_audit_takes_the_ways_of_the_phases_protocol(packs: list[Path], tmp_path: Path) -> None:
    protocol = {"name": "any_way_any_shot", "ways": [2, 20], "shots": [1, 2], "query": 2}
    found = run("audit", {"meta_test": packs}, {"tasks": 8, "protocol": protocol}, tmp_path)["result"]
    assert found["ways"]["SET_0"] == 5  # 2 to 8 of 8 classes
    pool = Pool.open(packs, verify=False)
    drawn = list(protocol_from_dict(protocol).tasks(pool, 3, 4000))
    assert np.mean([task.ways for task in drawn]) == pytest.approx(5, abs=0.1)


@pytest.mark.seconds("trains and tests small networks")
def test_classes_that_a_protocol_never_draws_are_not_expected(packs: list[Path], tmp_path: Path) -> None:
    protocol = {"name": "class_side", "side": "base", "ways": 2, "shots": 1, "query": 1}
    found = run("audit", {"meta_test": packs}, {"tasks": 4000, "protocol": protocol}, tmp_path)["result"]
    assert found["classes"]["SET_0"] == 4 and found["expected_seen"]["SET_0"] == pytest.approx(4)


def test_pools_without_a_common_dataset_are_out_of_distribution(packs: list[Path], tmp_path: Path) -> None:
    inputs = {"meta_test": packs[:2], "meta_train": packs[2:]}
    run("audit", inputs, {"protocol": FIXED}, tmp_path)
    assert "Out of distribution by construction" in (tmp_path / "page.html").read_text()


def test_expected_classes_keep_their_digits_for_rare_classes() -> None:
    assert expected_classes([1e-15], 10) == pytest.approx(1e-14, rel=1e-12)
    assert expected_classes([0.5, 1.0], 3) == pytest.approx(1.875, rel=1e-15)


def test_diversity_is_the_test_pools_alone(packs: list[Path], tmp_path: Path) -> None:
    settings = {**SMALL, "protocol": FIXED}
    alone = run("diversity", {"meta_test": packs[:2]}, settings, tmp_path / "a")["result"]
    for train in (packs[2:3], packs[3:]):
        both = run("diversity", {"meta_test": packs[:2], "meta_train": train}, settings, tmp_path / "b")
        assert both["result"]["coefficient"] == alone["coefficient"]
        assert both["result"]["floor"] == alone["floor"]


@pytest.mark.seconds("a whole report")
def test_the_heat_map_of_one_dataset_is_of_its_tasks(packs: list[Path], tmp_path: Path) -> None:
    """By dataset it would be one cell."""
    settings = {**SMALL, "protocol": FIXED}
    for pool, title, across in (
        (packs[:1], "Distance between tasks of SET_0", [str(task) for task in range(1, 7)]),
        (packs[:2], "Distance between tasks, by dataset", ["SET_0", "SET_1"]),
    ):
        run("diversity", {"meta_test": pool}, settings, tmp_path / title)
        chart, *_ = json.loads((tmp_path / title / "figures.json").read_text())["charts"]
        assert chart["title"] == title
        page = (tmp_path / title / "page.html").read_text()
        picture = page[page.index(title) :].partition("</svg>")[0]
        assert all(f">{name}<" in picture for name in across)


@pytest.mark.seconds("a whole report")
def test_a_copied_dataset_is_found_and_an_uncopied_one_is_not(packs: list[Path], tmp_path: Path) -> None:
    copy = write_pack(tmp_path / "again", "COPY", seed=0, classes=8, images=8)  # SET_0 under another name
    settings = {**SMALL, "protocol": FIXED}
    for seed in range(3):
        inputs = {"meta_test": packs[:2], "meta_train": [copy, packs[3]]}
        found = run("diversity", inputs, {**settings, "seed": seed}, tmp_path / str(seed))["result"]
        assert found["shared_images"] == [{"first": "SET_0", "second": "COPY", "shared": 64, "images": 64}]
    clean = run("diversity", {"meta_test": packs[:2], "meta_train": packs[2:]}, settings, tmp_path / "c")
    assert clean["result"]["shared_images"] == []
    page = (tmp_path / "c" / "page.html").read_text()
    assert "No image is in both pools" in page and "the same data?" not in page
    one = [Pack.open(path) for path in packs[:1]]
    assert find_shared_images(one, one)[0].shared == 64


def test_an_untrained_backbone_has_no_gap_and_is_refused(packs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(BadAnalysis, match="nothing was trained"):
        run("shift", {"meta_test": packs}, {"backbone": "conv4-4"}, tmp_path)


def test_novel_classes_are_those_of_the_kits_own_split(packs: list[Path]) -> None:
    pool = Pool.open(packs, verify=False)
    rows = np.arange(sum(map(len, pool)), dtype=float)[:, None]
    labels = np.concatenate([pack.labels + 8 * place for place, pack in enumerate(pool)])
    names = tuple(name for name in pool.names for _ in range(8))
    sides = split_sides_of_pool(pool, Features(rows, labels, names), split_seed=5)
    for side, images, found in (
        ("base", "trained", sides.trained),
        ("base", "held_back", sides.held_back),
        ("novel", "all", sides.novel),
    ):
        protocol, start, expected = ClassSide(side=side, images=images, split_seed=5), 0, []
        for place, pack in enumerate(pool):
            expected += [start + r for c in protocol.classes(pool, place) for r in protocol.rows(pack, c)]
            start += len(pack)
        assert sorted(found.values.ravel().astype(int)) == sorted(expected)


def test_tasks_of_a_mixture_are_of_one_dataset() -> None:
    features = Features(np.zeros((48, 1)), np.repeat(np.arange(24), 2), ("A",) * 8 + ("B",) * 8 + ("C",) * 8)
    base = np.array([0, 1, 2, 3, 8, 9, 10, 11, 16])
    drawn = mixture_episodes(
        features, base, np.setdiff1d(np.arange(24), base), 0.5, 3, 1, 1, 50, seed=0, within=True
    )
    datasets = [{features.datasets[c] for c in classes} for classes in drawn.classes]
    assert all(len(names) == 1 for names in datasets) and set.union(*datasets) == {"A", "B"}


@pytest.mark.rotating
def test_equal_snapshots_are_different_in_five_per_cent(tmp_path: Path) -> None:
    rng, different, told = np.random.default_rng(0), 0, 0
    for trial in range(100):
        base, tasks = rng.normal(0.5, 0.1, (2, 20, 200))
        path = tmp_path / f"{trial}.npz"
        np.savez(path, train_loss=np.arange(20.0)[::-1], base=base, validation=tasks)
        run("snapshots", {"snapshots": [path]}, {"margin": 0.0001}, tmp_path / "out")
        page = (tmp_path / "out" / "page.html").read_text()
        told += sum(page.count(f", {verdict}<") for verdict in ("different", "equivalent", "undecided"))
        different += page.count(", different<")
    assert told > 150
    assert different / told < 0.05 + 3 * np.sqrt(0.05 * 0.95 / told)


def test_a_comparison_counts_all_runs_and_speaks_of_other_datasets(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        for run_number in (1, 2):
            seed = 10 * run_number + (name == "ours")
            table = draw_table(seed, 40)
            if name == "theirs":
                table = type(table).from_columns(
                    {
                        **draw_table(10 * run_number + 1, 40).columns(),
                        "normalized_accuracy": table.normalized_accuracy,
                    }
                )
            write_results(
                tmp_path / f"{name}{run_number}.parquet", table, Identity(who=name, run=str(run_number))
            )
    files = sorted(tmp_path.glob("*.parquet"))
    found = run("compare", {"results": files}, {}, tmp_path / "out")
    assert found["result"]["tasks"] == 80
    assert "by 80 tasks" in found["finding"] and "other datasets" in found["finding"]


def test_a_comparison_of_submissions_with_other_tasks_is_refused_in_words(tmp_path: Path) -> None:
    for name, tasks in (("ours", 40), ("theirs", 41)):
        write_results(tmp_path / f"{name}.parquet", draw_table(1, tasks), Identity(who=name))
    with pytest.raises(BadAnalysis, match="not tested on the same tasks"):
        run("compare", {"results": sorted(tmp_path.glob("*.parquet"))}, {}, tmp_path / "out")


def test_a_report_says_how_it_was_made_and_is_made_again(packs: list[Path], tmp_path: Path) -> None:
    words = [str(path) for path in packs]
    made = CliRunner().invoke(analyse, ["audit", *words, "--tasks", "12", "--out", str(tmp_path / "a")])
    assert made.exit_code == 0, made.output
    page = (tmp_path / "a" / "page.html").read_text()
    assert "How this report was made" in page and "anyshot-analysis" in page and "rho" in page
    manifest = json.loads((tmp_path / "a" / "result.json").read_text())["manifest"]
    assert manifest["parameters"]["tasks"] == 12
    assert [row["digest"] for row in manifest["inputs"]["meta_test"]] == [
        Pack.open(path, verify=False).content_digest for path in packs
    ]
    again = CliRunner().invoke(analyse, ["again", str(tmp_path / "a"), *words, "--out", str(tmp_path / "b")])
    assert again.exit_code == 0 and "The same numbers, byte for byte" in again.output, again.output
    other = CliRunner().invoke(
        analyse, ["again", str(tmp_path / "a"), *words[:2], "--out", str(tmp_path / "c")]
    )
    assert other.exit_code == 1 and "the files given are not those of the report" in other.output
    stored = json.loads((tmp_path / "a" / "result.json").read_text())
    stored["manifest"]["versions"]["numpy"] = "0.0"
    (tmp_path / "a" / "result.json").write_text(json.dumps(stored))
    older = CliRunner().invoke(analyse, ["again", str(tmp_path / "a"), *words, "--out", str(tmp_path / "d")])
    assert older.exit_code == 1 and "other versions" in older.output, older.output
