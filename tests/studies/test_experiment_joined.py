"""Experiments side by side, and what the paper says of all methods together: known answers."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from anyshot_core.baselines import find_baselines
from anyshot_core.data.domains import meta_album_set
from anyshot_core.protocols import AnyWayAnyShot, Range, Roles, WithinDomain, read_protocol
from anyshot_core.report.storage import read_report
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import ScoreMatrix
from anyshot_scoring.summary import Group
from anyshot_scoring.table import COLUMNS, STRINGS, TaskTable
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment import report, shape
from anyshot_studies.experiment.arms import Arm, make_arms
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.command import experiment
from anyshot_studies.experiment.comparisons import make_matrix
from anyshot_studies.experiment.conditions import conditions_of_experiments
from anyshot_studies.experiment.figures import together
from anyshot_studies.experiment.findings import find
from anyshot_studies.experiment.join_report import write_facts
from anyshot_studies.experiment.joins import harder_across, read_scores
from anyshot_studies.experiment.plan import Experiment
from anyshot_studies.experiment.report import facts_of, write_findings
from anyshot_studies.experiment.tables import make_rows, pooled, write_tables
from tests.baselines.trial import FOLDER
from tests.core.tinydata import write_pack

N = 400
RANDOM = np.random.default_rng(5)
WAYS, SHOTS = RANDOM.integers(2, 21, N), RANDOM.integers(1, 21, N)
DATASETS = np.array(["A", "B", "C", "D"])[np.arange(N) % 4]
NOISE = RANDOM.normal(0, 0.05, N)


def table(scores: np.ndarray) -> TaskTable:
    columns = {name: DATASETS if name in STRINGS else scores for name in COLUMNS}
    whole = {"task": np.arange(N), "ways": WAYS, "shots": SHOTS, "queries": np.full(N, 20)}
    return TaskTable.from_columns({**columns, **whole})


def runs(**methods: np.ndarray) -> list[Done]:
    return [Done(name, 1, table(scores + NOISE), 1.0) for name, scores in methods.items()]


def matrix(**methods: np.ndarray) -> ScoreMatrix:
    found = make_matrix(runs(**methods))
    assert found is not None
    return found


def own_noise() -> np.ndarray:
    return RANDOM.normal(0, 0.02, N)


def test_curves_that_cross_are_told_from_those_that_do_not() -> None:
    flat = 0.5 + own_noise()
    crossing = 0.5 + 0.02 * (WAYS - 11.0) + own_noise()
    names = ["one", "two"]
    said = shape.do_not_cross(matrix(one=flat, two=crossing), names, "ways")
    assert said is not None and (said.verdict, said.evidence) == ("does not hold", "these do: one and two")
    above = shape.do_not_cross(matrix(one=flat, two=flat + 0.1 + own_noise()), names, "ways")
    assert above is not None and above.verdict == "holds"
    same = shape.do_not_cross(matrix(one=flat, two=flat + own_noise()), names, "ways")
    assert same is not None and same.verdict == "undecided"


def test_curves_keep_apart_where_each_pair_does() -> None:
    """One pair that is not seen to differ leaves it undecided."""
    flat = 0.5 + own_noise()
    three = matrix(one=flat, two=flat + 0.1 + own_noise(), three=flat + own_noise())
    said = shape.do_not_cross(three, ["one", "two", "three"], "ways")
    assert said is not None and said.verdict == "undecided" and said.evidence.startswith("2 of 3 pairs")


def test_many_pairs_of_curves_share_the_level() -> None:
    """A pair that crosses at the level of one test alone (5 %) is not seen to cross among nine tests."""
    difference = RANDOM.normal(0, 1, N)
    for rows, side in ((WAYS <= 8, 1), (WAYS > 14, -1)):  # the first and the last third of 2 to 20
        own = difference[rows] - difference[rows].mean()
        difference[rows] = own + side * 2.3 * own.std(ddof=1) / np.sqrt(rows.sum())
    flat = np.full(N, 0.5)
    alone = matrix(one=flat + difference / 100, two=flat, three=flat + 1)
    names = ["one", "two", "three"]
    said = shape.do_not_cross(alone, names, "ways")
    assert said is not None and said.verdict == "undecided", said


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        (np.minimum(SHOTS, 5) / 10, "holds"),
        (np.maximum(SHOTS - 5, 0) / 30, "does not hold"),
        (np.zeros(N), "undecided"),
    ],
)
def test_where_the_gain_comes_from(curve: np.ndarray, verdict: str) -> None:
    said = shape.gains_early(matrix(one=curve + own_noise(), two=curve + own_noise()), ["one", "two"])
    assert said is not None and said.verdict == verdict, said


def test_the_interval_of_the_gain_holds_what_it_promises() -> None:
    """On curves that are flat but for noise it holds 0 in 95 of 100; all three parts of a curve are uncertain."""
    draws, held = np.random.default_rng(11), 0
    for _ in range(200):
        flat = draws.normal(0, 0.1, N) - NOISE
        said = shape.gains_early(matrix(one=flat, two=flat), ["one", "two"])
        assert said is not None and said.estimate is not None
        assert isinstance(said.estimate.interval, tuple)
        low, high = said.estimate.interval
        held += low <= 0 <= high
    assert held >= 182  # of 190 expected; a standard deviation is 3


def test_a_spread_on_nearly_all_datasets_is_seen() -> None:
    one, two = 0.5 + own_noise(), 0.6 + own_noise()
    names = ["one", "two", "three"]
    said = shape.are_spread(matrix(one=one, two=two, three=0.7 + own_noise()), names)
    assert said is not None and (said.verdict, said.evidence) == ("holds", "they differ on 4 of 4 datasets")
    only_a = np.where(DATASETS == "A", 0.2, 0.0)
    said = shape.are_spread(matrix(one=one, two=0.5 + own_noise(), three=0.5 + only_a + own_noise()), names)
    assert (
        said is not None and said.verdict == "undecided" and said.evidence.startswith("they differ on 1 of 4")
    )


def test_a_spread_on_three_of_four_datasets_is_not_one_on_nearly_all() -> None:
    but_d = np.where(DATASETS == "D", 0.0, 0.2)
    three = matrix(one=0.5 + own_noise(), two=0.5 + own_noise(), three=0.5 + but_d + own_noise())
    said = shape.are_spread(three, ["one", "two", "three"])
    assert said is not None and (said.verdict, said.evidence[:21]) == ("undecided", "they differ on 3 of 4")


def test_datasets_share_the_level_of_the_spread() -> None:
    """Of 100 tasks 60 order three methods one way and 40 the other: Friedman's p is exp(-4), above 5 % / 4 datasets."""
    side = np.where(np.arange(N) // 4 < 60, 0.1, -0.1)
    said = shape.are_spread(
        matrix(one=0.5 - side, two=0.5 + 0 * side, three=0.5 + side), ["one", "two", "three"]
    )
    assert said is not None and said.evidence == "they differ on 0 of 4 datasets"


@pytest.mark.parametrize(("best_other", "verdict"), [(0.5, "holds"), (0.7, "does not hold")])
def test_prototypical_networks_are_first_where_they_are_above_the_next_best(
    best_other: float, verdict: str
) -> None:
    others = ("train_from_scratch", "fine_tuning", "matching_networks", "fo_maml_2022")
    six = {name: 0.3 + own_noise() for name in others} | {"metadelta": best_other + own_noise()}
    found = {one.claim: one for one in find(runs(**six, prototypical_networks=0.6 + own_noise()))}
    (first,) = [one for claim, one in found.items() if "prototypical networks are first" in claim]
    assert first.verdict == verdict and "next best here: metadelta" in first.claim


def test_metadelta_is_asked_for_with_pretrained_weights() -> None:
    methods = [
        "train_from_scratch",
        "fine_tuning",
        "matching_networks",
        "prototypical_networks",
        "fo_maml_2022",
    ]
    names = {f"{name} (pretrained)": 0.5 + own_noise() for name in methods}
    best = runs(**names, **{"metadelta (pretrained)": 0.7 + own_noise()})
    claims = {one.claim: one.verdict for one in find(best)}
    (claim,) = [claim for claim in claims if "MetaDelta++ is first" in claim]
    assert claims[claim] == "holds"
    worst = {
        one.claim: one.verdict for one in find(runs(**names, **{"metadelta (pretrained)": 0.3 + own_noise()}))
    }
    assert worst[next(claim for claim in worst if "MetaDelta++ is first" in claim)] == "does not hold"


def write(folder: Path, **methods: np.ndarray) -> str:
    write_tables(make_rows(pooled(runs(**methods))), folder)
    return str(folder)


def test_the_difference_of_two_experiments_has_the_uncertainty_of_both(tmp_path: Path) -> None:
    """A lead of 0.02 within domains, measured well, over scores across domains that vary by 0.5: undecided."""
    wide = RANDOM.normal(0, 0.5, N)
    scores = {"within": np.full(N, 0.52), "cross": 0.5 + wide - wide.mean()}
    made = [read_scores(title, Path(write(tmp_path / title, maml=one))) for title, one in scores.items()]
    (found,) = harder_across(made)
    assert found.evidence.startswith("difference +0.020 [-0.0"), found
    assert found.verdict == "undecided"


@pytest.mark.seconds("trains and tests small networks")
def test_neighbouring_numbers_of_few_tasks_are_one_point_with_the_interval_of_its_tasks() -> None:
    """As if the tasks had been one group from the start; a group of enough tasks stays as it is."""
    random = np.random.default_rng(3)
    tasks = {
        ways: random.normal(ways / 10, 0.2, n) for ways, n in {2: 3, 3: 1, 4: 5, 7: 20, 9: 2, 10: 1}.items()
    }
    groups = [Group(ways, *t_interval(own), len(own)) for ways, own in tasks.items()]
    first, second = together(groups)
    for found, own in ((first, (2, 3, 4)), (second, (7, 9, 10))):
        mean, half = t_interval(np.concatenate([tasks[ways] for ways in own]))
        assert (found.mean, found.half_width) == (pytest.approx(mean), pytest.approx(half))
    assert [(one.key, one.tasks) for one in (first, second)] == [(3, 9), (7, 23)]
    assert together([groups[3], *groups[:3]]) == [first, groups[3]]
    assert together(groups[:2])[0].tasks == 4 and together([]) == []


@pytest.mark.seconds("draws three figures")
def test_experiments_are_joined_in_the_papers_three_figures(tmp_path: Path) -> None:
    one = write(tmp_path / "one", fine_tuning=0.7 + own_noise(), random=own_noise())
    two = write(tmp_path / "two", fine_tuning=0.5 + own_noise(), random=own_noise())
    command = f"anyshot experiment baselines fine_tuning --pool {tmp_path}/pool -o {one}"
    write_facts({"Tasks": "400 a seed", "Command": command}, {"A": "00ff"}, tmp_path / "one")
    words = ["join", f"within, random={one}", f"cross, random={two}", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(experiment, words)
    assert done.exit_code == 0, done.output
    figures = {path.stem for path in (tmp_path / "out").glob("*.svg")}
    assert {"figure-1", "figure-2-ways", "figure-2-shots", "figure-3-within-random"} <= figures
    stored = json.loads((tmp_path / "out" / "figures.json").read_text())["charts"]
    assert len(stored) == len(figures), "what the documentation draws them from"
    (shown,) = [one for one in stored if one["kind"] == "difficulty" and "within" in one["title"]]
    assert all(row["intrinsic_half"] > 0 for row in shown["rows"]), "figure 3 has intervals"
    drawn = (tmp_path / "out" / "figure-3-within-random.svg").read_text()
    assert f" ± {shown['rows'][0]['intrinsic_half']:.3f}" in drawn
    said = (tmp_path / "out" / "findings.md").read_text()
    assert "harder than within a domain: fine tuning | holds |" in said and "random | " not in said
    text = (tmp_path / "out" / "figure-1.svg").read_text()
    assert "fine_tuning, within, random" in text and "fine_tuning, cross, random" in text
    report, _ = read_report(tmp_path / "out")
    estimates = {each["name"]: each["interval"] for each in report["estimates"]}
    low, high = estimates["fine_tuning, within, random"]
    assert low < 0.7 < high and "fine_tuning: within minus across, random" in estimates
    manifest = report["manifest"]
    assert manifest["parameters"]["within, random"]["Command"].endswith("--pool pool -o one")
    assert manifest["inputs"]["packs"] == [{"name": "A", "digest": "00ff"}]
    assert str(tmp_path) not in json.dumps(report), "what is stored names no folder of a machine"
    assert {"anyshot_starting_kit.training.episodic", "baselines/fine_tuning"} <= set(manifest["code"])


PAPER = (
    "train_from_scratch",
    "fine_tuning",
    "matching_networks",
    "prototypical_networks",
    "fo_maml_2022",
    "metadelta",
)


def experiment_of(folder: Path, base: float, best: str, *, pretrained: bool) -> str:
    """The six of the paper as an experiment writes them: `best` leads, all gain early, fewer ways are easier."""
    curve = base + np.minimum(SHOTS, 5) / 50 - 0.005 * WAYS
    place = {name: 0.03 * number for number, name in enumerate(PAPER)}
    done = runs(**{name: curve + (0.3 if name == best else place[name]) + own_noise() for name in PAPER})
    write_tables(make_rows(pooled(done)), folder)
    if folder.parent.name == "cross":  # the paper's other findings are about tasks across domains
        write_findings(find(done, pretrained=pretrained), folder)
    return str(folder)


@pytest.mark.slow("joins four experiments twice, with all their charts")
def test_a_join_says_of_all_eight_findings_whether_they_hold_and_what_was_published(tmp_path: Path) -> None:
    """Worlds in which each finding of the competition paper is true; then one in which weights hurt."""
    words = ["join"]
    for side, base in (("within", 0.3), ("cross", 0.1)):
        for weights, more in (("random", 0.0), ("pretrained", 0.3)):
            best = "metadelta" if weights == "pretrained" else "prototypical_networks"
            folder = tmp_path / side / weights
            made = experiment_of(folder, base + more, best, pretrained=weights == "pretrained")
            words.append(f"{side}, {weights}={made}")
    done = CliRunner().invoke(experiment, [*words, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "out" / "findings.json").read_text())
    verdicts = {row["claim"]: row["verdict"] for row in rows}
    eight = [
        "Pretrained weights help, cross: metadelta",
        "cross, random: With random weights, prototypical networks are first of the paper's",
        "cross, pretrained: With pretrained weights, MetaDelta++ is first of the paper's",
        "Tasks across domains are harder than within a domain: metadelta",
        "cross, random: fine tuning: normalized accuracy falls with the ways",
        "cross, random: Curves of the methods over the shots do not cross",
        "cross, random: Most of the gain comes up to five shots",
        "cross, random: Methods are spread on nearly all datasets",
    ]
    for begins in eight:
        found = {claim: verdict for claim, verdict in verdicts.items() if claim.startswith(begins)}
        assert set(found.values()) == {"holds"}, (begins, found)
    page = " ".join((tmp_path / "out" / "index.html").read_text().split())
    assert "Published and found" in page and "<td>fine tuning: pretrained weights help, cross</td>" in page
    assert "<td>above 0</td>" in page and "<td>reproduced</td>" in page and "not reproduced" not in page
    swapped = [word.replace("pretrained=", "kept=").replace("random=", "pretrained=") for word in words]
    swapped = [word.replace("kept=", "random=") for word in swapped]
    assert CliRunner().invoke(experiment, [*swapped, "-o", str(tmp_path / "out")]).exit_code == 0
    assert "| not reproduced |" in (tmp_path / "out" / "findings.md").read_text()


@pytest.mark.seconds("trains and tests small networks")
def test_an_experiment_at_the_papers_settings_says_so_and_another_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what experiments write of themselves to what is read in it, for either kind."""
    one = write_pack(tmp_path, "ONE", classes=34, images=8)  # five of them to test on
    packs = [Path(shutil.copy(one, tmp_path / name)) for name in (*meta_album_set(0), *meta_album_set(1))]
    monkeypatch.setattr(report, "read_meta", lambda path: [SimpleNamespace(name=path.name)])
    data = PublicData(tuple(packs[:10]), tuple(packs[10:]), generated=False)
    some = tuple(find_baselines(("fine_tuning",), FOLDER))
    cross = Experiment(some, data, tmp_path, (93, 94, 95), 1000, "paper")
    five = {"ways": Range(5, 5), "shots": Range(5, 5), "query": 3}
    within = replace(
        cross, data=replace(data, train=()), within="70/15/15", settings="within", tasks=100, **five
    )
    assert unmet(cross, within) == []
    assert unmet(within) == []
    for found, one in (
        ("settings of the competition paper", replace(cross, settings="quick")),
        ("settings of the competition paper", replace(cross, arms=make_arms({"width": 8}, None, False))),
        ("the paper's tasks", replace(cross, ways=Range(2, 5))),
        ("the paper's tasks", replace(cross, roles=Roles(AnyWayAnyShot(), train=WithinDomain()))),
        ("the paper's tasks", replace(within, within="halves")),
        ("Set-0 to learn from across domains", replace(cross, data=replace(data, train=data.train[:9]))),
        ("the ten datasets of Set-1", replace(cross, data=replace(data, test=data.test[:9]))),
        ("three runs", replace(cross, seeds=(93, 94))),
        ("100 tasks a dataset and run", replace(cross, tasks=999)),
        ("100 tasks a dataset and run", replace(within, tasks=99)),
    ):
        assert unmet(cross, one) == [found]
    told = conditions_of_experiments([facts_of(one, [], "") for one in (cross, within)])
    assert told["the paper's tasks"]["found"] == "2 to 20 ways, 1 to 20 shots; 5 ways, 5 shots, 70/15/15"


def unmet(*experiments: Experiment) -> list[str]:
    """The settings of the competition paper that they do not have."""
    found = conditions_of_experiments([facts_of(one, [], "anyshot") for one in experiments])
    return [name for name, one in found.items() if not one["met"]]


def test_a_page_says_the_protocols_and_no_ways_of_others(tmp_path: Path) -> None:
    """It said 2 to 20 ways and 1 to 20 shots of tasks that had 2 and 3."""
    data = PublicData((), (write_pack(tmp_path, "A"),), generated=False)
    novel = read_protocol("class_side side=novel images=all ways=2 shots=1-3 query=4")
    roles = Roles(novel, train=read_protocol("class_side side=base"))
    own = Experiment((), data, tmp_path, (1,), 8, arms=(Arm(),), roles=roles)
    facts = facts_of(own, [], "")
    assert (facts["Ways"], facts["Shots"], facts["Query"]) == ("2", "1 to 3", "4 images a class")
    assert facts["Protocols"] == (
        "tested by class_side ways=2 shots=1-3 query=4 side=novel images=all, trained by class_side"
    )
    writers = facts_of(replace(own, roles=Roles(read_protocol("writers"))), [], "")
    assert "Ways" not in writers and "Shots" not in writers, "as many as a writer has"


def test_a_folder_without_an_experiment_is_named(tmp_path: Path) -> None:
    refused = CliRunner().invoke(experiment, ["join", f"a={tmp_path}", "-o", str(tmp_path / "out")])
    assert refused.exit_code == 2 and "holds no experiment" in refused.output
    folder = write(tmp_path / "one", fine_tuning=own_noise(), random=own_noise())
    twice = CliRunner().invoke(
        experiment, ["join", f"a={folder}", f"a={folder}", "-o", str(tmp_path / "out")]
    )
    assert twice.exit_code == 2 and "a title of its own" in twice.output
    assert json.loads((tmp_path / "one" / "scores.json").read_text())
