"""The study of unseen writers and unseen pairs: what it draws, what it trains on, and when it takes real files."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from anyshot_analysis.pages import Manifest, write_report
from anyshot_analysis.readers.records import write_meta_album
from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AttributePairs, Writers
from anyshot_scoring.undefined import Undefined
from anyshot_studies.reproduce import in_distribution as study
from anyshot_studies.reproduce import sources, trained_bundles
from anyshot_studies.reproduce.conditions import conditions_of
from anyshot_studies.reproduce.material import Material
from anyshot_studies.reproduce.stand_ins import GROUPS, WRITER, draw_things, draw_writers


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both stand-ins, smaller, as folders with the names that `anyshot read-dataset` gives the real ones."""
    folder = tmp_path_factory.mktemp("drawn")
    write_meta_album(draw_writers(25), "all", folder / "FEMNIST", "FEMNIST")
    write_meta_album(draw_things(300), "all", folder / "ZAPPOS", "ZAPPOS")
    return folder


def test_a_writer_has_a_hand_and_some_of_the_characters() -> None:
    records = draw_writers(6)
    wrote = Counter(records.columns[WRITER])
    assert len(wrote) == 6
    for writer in wrote:
        own = [c for c, name in zip(records.classes, records.columns[WRITER], strict=True) if name == writer]
        assert 4 <= len(set(own)) <= 9 and all(2 <= times <= 4 for times in Counter(own).values())
    again = draw_writers(6)
    assert np.array_equal(np.asarray(records.load(3)), np.asarray(again.load(3)))

    def inks(writer: str) -> list[float]:
        rows = [i for i, name in enumerate(records.columns[WRITER]) if name == writer]
        return [float((255 - np.asarray(records.load(i), float)).mean()) for i in rows]

    spread = [np.std(inks(writer)) for writer in wrote]
    between = np.std([np.mean(inks(writer)) for writer in wrote])
    assert between > np.mean(spread), "writers differ more than what one of them wrote"


def test_a_thing_has_one_value_of_each_group() -> None:
    records = draw_things(80)
    for group, values in GROUPS.items():
        cells = np.array([records.columns[f"{group}.{value}"] for value in values], dtype=int)
        assert (cells.sum(axis=0) == 1).all()
    reds = [i for i, cell in enumerate(records.columns["colour.red"]) if cell == "1"]
    greens = [i for i, cell in enumerate(records.columns["colour.green"]) if cell == "1"]

    def redness(rows: list[int]) -> float:
        return float(
            np.mean([np.subtract(*np.asarray(records.load(i), float).mean((0, 1))[:2]) for i in rows])
        )

    assert redness(reds) > redness(greens)


@pytest.mark.seconds("trains and tests small networks")
def test_pairs_of_one_group_are_no_tasks_and_few_training_tasks_leave_pairs_unseen(drawn: Path) -> None:
    source = study.ColumnSource((pack_dataset(drawn / "ZAPPOS", drawn / "packs").path,), real=False)
    pool = Pool.open(source.packs)
    protocol = AttributePairs(5, study.QUERY)
    for pair in study.pairs_of(protocol, pool, 0, 40):
        assert len({name.partition(".")[0] for name in pair}) == 2
    few, many = (study.count_unseen(column, source, 400) for column in (study.FEW, study.MANY))
    assert few[0] <= 50 < many[0] and few[1] > many[1]


@pytest.mark.seconds("reads a dataset")
def test_real_files_are_taken_where_they_are_as_read_dataset_writes_them(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then pairs are of the first half of the attributes, as in the paper; without files it draws."""
    material = Material(drawn, tmp_path)
    shoes, characters = (study.ColumnSource.find(name, material) for name in (study.ZAPPOS, study.FEMNIST))
    assert shoes.real and Pack.open(shoes.packs[0]).name == "ZAPPOS"
    assert characters.real and Pack.open(characters.packs[0]).name == "FEMNIST"
    roles = shoes.roles(study.FEW)
    assert isinstance(roles.test, AttributePairs) and roles.test.among == "first"
    assert isinstance(roles.train, AttributePairs) and roles.train.distinct_tasks == 50
    monkeypatch.setattr(study, "DRAWN_THINGS", 40)
    for data in (None, tmp_path):  # a folder of other data is no Zappos
        other = study.ColumnSource.find(study.ZAPPOS, Material(data, tmp_path))
        assert not other.real and Pack.open(other.packs[0]).name == "STAND_IN_ZAPPOS"
        made = other.roles(study.FEW).test
        assert isinstance(made, AttributePairs) and made.among == "all"


def test_each_column_has_the_tasks_of_the_paper() -> None:
    source = study.ColumnSource((Path("one"),), real=False)
    mini, characters = source.roles(study.COLUMNS[-1]), source.roles(study.COLUMNS[0])
    assert (mini.test.to_dict()["side"], mini.train.to_dict()["side"]) == ("novel", "base")  # type: ignore[union-attr]
    parts = (characters.train, characters.validation, characters.test)
    assert [one.part for one in parts if isinstance(one, Writers)] == [
        "meta_train",
        "meta_valid",
        "meta_test",
    ]
    shown = [(column.shots, column.training) for column in study.COLUMNS if column.data == study.ZAPPOS]
    assert shown == [(10, 1000), (5, 1000), (5, 250), (5, 50)]
    both = study.ColumnSource((Path("train"), Path("test")), real=True)
    assert both.roles(study.COLUMNS[-1]).train is None  # as the settings of the paper say
    assert (both.data.train, both.data.test) == ((Path("train"),), (Path("test"),))


def test_at_the_papers_size_fewer_tasks_are_trained_on_for_as_many_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def note(names: list[str], *rest: object, **more: object) -> dict[str, object]:
        asked.append((rest, more))
        return {name: type("Table", (), {"accuracy": np.zeros(2)}) for name in names}

    monkeypatch.setattr(study, "train_and_test", note)
    source = study.ColumnSource((Path("one"),), real=False)
    for column in (study.MANY, study.FEW):
        study.measure(column, source, ("PN",), study.FULL, Path("here"))
    (_, _, tasks, settings, many, _), (_, _, _, _, few, _) = (rest for rest, _ in asked)
    assert (tasks, settings) == (25_000, "zappos")
    assert many == {"iterations": 60_000, "epoch_steps": 250}
    assert few == {"iterations": 3_000, "epoch_steps": 12}


def scores() -> dict[str, dict[str, np.ndarray]]:
    """PN leads SVM by 10 points with few tasks, by 2 with many, and is 4 behind on new classes."""
    noise = np.random.default_rng(0).normal(0, 0.05, (len(study.COLUMNS), 200))
    lead = {study.FEW.title: 0.10, study.COLUMNS[-1].title: -0.04}
    return {
        column.title: {
            "PN": 0.7 + lead.get(column.title, 0.02) + noise[i],
            "Ridge": 0.65 + noise[i],
            "SVM": 0.7 + noise[i],
            **({} if column.data == study.FEMNIST else {"FO-MAML": 0.5 + noise[i]}),
        }
        for i, column in enumerate(study.COLUMNS)
    }


def test_the_page_says_orders_leads_and_what_stands_in(tmp_path: Path) -> None:
    real = {study.FEMNIST: False, study.ZAPPOS: True, study.MINI: False}
    page = study.report(scores(), {1000: (300, 1), 250: (200, 90), 50: (40, 260)}, real, study.SMALL)
    found = {one.name: one for one in page.estimates}
    assert found["PN minus SVM, 50 minus 1000 training tasks"].value == pytest.approx(8)
    apart = found["PN minus SVM, unseen pairs minus unseen classes"]
    assert apart.value == pytest.approx(6)
    assert apart.interval == Undefined("all values are equal: they show no spread")
    assert page.result["orders"][study.MANY.title] == ["PN", "SVM", "Ridge", "FO-MAML"]
    assert page.result["orders"][study.COLUMNS[-1].title][0] == "SVM"
    words = " ".join(page.notes)
    assert "stand in for FEMNIST, miniImageNet:" in words and "Zappos" not in words.partition(":")[0]
    rows = {row[0]: row for row in page.listings[0].rows}
    assert rows["FO-MAML"][1] == "n/a" and str(rows["PN"][3]).startswith("(1) ")
    assert [row[-1] for row in page.listings[1].rows] == [16, 153, 269]
    met = conditions_of("in-distribution", page.result)
    assert met["UT-Zappos50K"]["met"] and not met["FEMNIST"]["met"] and not met["the paper's network"]["met"]
    write_report(page, tmp_path, Manifest({}, {}, {}))
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["result"]["pairs"]["50"] == [40, 260]


def test_the_bundles_that_it_trains_are_those_that_its_stored_result_names() -> None:
    """A changed method makes the stored result older than its code."""
    assert sources.TRAINED["in-distribution"]["baselines"] == tuple(study.METHODS.values())
    assert {study.SMALL.settings[name] for name in study.SMALL.settings} == {"quick"}
    named = sources.code_of("in-distribution")
    assert {f"baselines/{name}" for name in study.METHODS.values()} <= set(named)
    assert "anyshot_starting_kit.training.loop" in named
    assert f"{sources.HERE}.stand_ins" in named and f"{sources.HERE}.trained_bundles" not in named
    assert not [name for name in named if name.startswith("anyshot_core.taskserver")]


@pytest.mark.seconds("trains two methods in processes of their own")
def test_methods_are_trained_on_the_pairs_and_a_failure_says_which(drawn: Path, tmp_path: Path) -> None:
    source = study.ColumnSource((pack_dataset(drawn / "ZAPPOS", drawn / "packs").path,), real=False)
    column, size = study.PaperColumn("x", study.ZAPPOS, 5, 3), study.SMALL

    def run(iterations: int, **changes: object) -> dict[str, np.ndarray]:
        own = study.QUICK | {"iterations": iterations, "width": 8, "stem_pool": 8} | changes
        one = study.TrialSize(size.settings, {study.ZAPPOS: 6}, own, one_core=True)
        return study.measure(column, source, ("PN", "Ridge"), one, tmp_path / "runs")

    found = run(4)
    assert set(found) == {"PN", "Ridge"} and all(len(own) == 6 for own in found.values())
    kept = sorted((tmp_path / "runs" / "runs").iterdir())
    assert len(kept) == 2
    again = run(4)
    assert np.array_equal(found["PN"], again["PN"]) and kept == sorted((tmp_path / "runs" / "runs").iterdir())
    with pytest.raises(trained_bundles.FailedStudy, match="prototypical_networks"):
        run(4, backbone="nothing")
