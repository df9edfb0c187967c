"""The findings of an experiment, and the arithmetic behind them."""

import numpy as np
import pytest
from scipy import stats

from anyshot_core.evaluations import read_evaluation
from anyshot_core.protocols import Roles, read_protocol
from anyshot_scoring.table import COLUMNS, STRINGS, TaskTable
from anyshot_studies.experiment.carry_out import Done, FurtherTable
from anyshot_studies.experiment.comparisons import compare_all, compare_two, make_matrix
from anyshot_studies.experiment.findings import _slope, find
from anyshot_studies.experiment.further_evaluations import UNTRAINED, further_scores, gaps, welch
from anyshot_studies.experiment.page import _gaps
from anyshot_studies.experiment.tables import make_rows, pooled


def table(scores: np.ndarray) -> TaskTable:
    """A run on two datasets, with ways 2 to 6 in turn and that score each task."""
    n = len(scores)
    columns = {
        name: np.array(["A", "B"])[np.arange(n) % 2] if name in STRINGS else scores for name in COLUMNS
    }
    whole = {"task": np.arange(n), "ways": 2 + np.arange(n) % 5, "shots": 1 + np.arange(n) % 3}
    return TaskTable.from_columns({**columns, **whole, "queries": np.full(n, 20)})


def test_findings_say_what_the_numbers_say() -> None:
    """A lead of 0.1 on every task holds, its reverse does not, noise is undecided, and the rest is not tested."""
    random = np.random.default_rng(0)
    done = []
    for seed in (1, 2, 3):
        floor = 0.5 - 0.05 * (np.arange(40) % 5) + random.normal(0, 0.02, 40)
        done.append(Done("train_from_scratch", seed, table(floor), 1.0))
        done.append(Done("prototypical_networks", seed, table(floor + 0.1 + random.normal(0, 0.02, 40)), 1.0))
        done.append(Done("matching_networks", seed, table(floor - 0.1 + random.normal(0, 0.02, 40)), 1.0))
        done.append(Done("fine_tuning", seed, table(floor + random.normal(0, 0.05, 40)), 1.0))
    verdicts = {part.claim: part.verdict for part in find(done)}
    assert verdicts["prototypical networks is above train from scratch"] == "holds"
    assert verdicts["matching networks is above train from scratch"] == "does not hold"
    assert verdicts["fine tuning is above train from scratch"] == "undecided"
    absent = "Claims about nearest prototype, fo maml 2022, metadelta, pretrained weights"
    assert verdicts[absent] == "not tested" and "fine tuning is above nearest prototype" not in verdicts
    order = "With random weights, prototypical networks are first of the paper's"
    assert verdicts[order] == "not tested"
    assert "absent: fo maml 2022, metadelta" in [part.evidence for part in find(done) if part.claim == order]
    assert verdicts["train from scratch: normalized accuracy falls with the ways"] == "holds"


def test_a_failed_run_is_left_out() -> None:
    """A baseline that failed on a seed is compared with nobody."""
    done = [Done("random", 1, table(np.zeros(6)), 1.0), Done("fine_tuning", 1, None, 1.0, "TIME_LIMIT")]
    assert [part.verdict for part in find(done)] == ["not tested"]


def test_an_interval_of_single_tasks_is_undefined() -> None:
    """One task of a dataset in a run says nothing about others, however large the lead."""
    names = ("prototypical_networks", "train_from_scratch")
    done = [
        Done(name, s, table(np.full(2, 0.9 - 0.3 * i)), 1.0) for s in (1, 2) for i, name in enumerate(names)
    ]
    claim = find(done)[0]
    assert (
        claim.verdict == "undecided" and "undefined" in claim.evidence and "a single task" in claim.evidence
    )
    matrix = make_matrix(done)
    assert matrix is not None and compare_two(matrix, *names).tasks is None


def test_slopes_need_twenty_tasks() -> None:
    """With fewer, and for guesses, no claim about ways and shots is made; the interval is a t-interval."""
    scores = 0.5 - 0.05 * (np.arange(40) % 5)
    few = find([Done("mine", 1, table(scores[:19]), 1.0), Done("random", 1, table(scores[:19]), 1.0)])
    assert {part.evidence for part in few if part.claim.startswith("mine")} == {
        "19 tasks; at least 20 are needed"
    }
    assert not any(part.claim.startswith("random") for part in few)
    x = np.arange(20.0) - 9.5
    low, slope, high = _slope(x, np.where(np.arange(20) % 2, 1.0, -1.0))
    assert high - slope == pytest.approx(slope - low) and high > slope + 1.96 * (high - slope) / 2.101


def test_what_failed_on_a_seed_is_marked() -> None:
    """It comes after the complete ones, with how many seeds it has, and the finding says where it failed."""
    done = [Done("train_from_scratch", s, table(np.full(40, 0.2)), 1.0) for s in (1, 2)]
    done += [Done("nearest_prototype", s, table(np.full(40, 0.1)), 1.0) for s in (1, 2)]
    done += [
        Done("fine_tuning", 1, table(np.full(40, 0.9)), 1.0),
        Done("fine_tuning", 2, None, 1.0, "TIME_LIMIT"),
    ]
    labels = [entry.label for entry in pooled(done)]
    assert labels == ["train_from_scratch", "nearest_prototype", "fine_tuning (1 of 2 seeds)"]
    assert [row.seeds for row in make_rows(pooled(done)) if row.by == "all"] == [2, 2, 1]
    found = {part.claim: part for part in find(done)}["fine tuning is above train from scratch"]
    assert (found.verdict, found.evidence) == ("not tested", "fine tuning failed on seed 2")


def test_every_row_is_compared_with_the_best() -> None:
    """And each arm with its plain one, so that a newcomer's own method has an interval too."""
    random = np.random.default_rng(0)
    means = {"fo_maml": 0.3, "fo_maml (FIX-ML)": 0.4, "mine": 0.2, "best": 0.5}
    done = [Done(name, 1, table(mean + random.normal(0, 0.01, 40)), 1.0) for name, mean in means.items()]
    matrix = make_matrix(done)
    assert matrix is not None
    found = {(part.first, part.second): part for part in compare_all(matrix)}
    assert set(found) == {
        ("fo_maml (FIX-ML)", "best"),
        ("fo_maml", "best"),
        ("mine", "best"),
        ("fo_maml (FIX-ML)", "fo_maml"),
    }
    assert found["mine", "best"].verdict == "does not hold"
    assert found["fo_maml (FIX-ML)", "fo_maml"].verdict == "holds"


def test_the_gap_from_base_to_novel_classes_is_between_two_independent_samples() -> None:
    """A method that loses on novel classes, one that loses nothing, and one that failed there: no gap is said."""
    random, roles = np.random.default_rng(3), Roles(read_protocol("class_side side=novel images=all"))
    kinds = {name: read_evaluation(name) for name in ("base", "novel")}

    def run(name: str, base: float, novel: float | None) -> Done:
        parts = {}
        for key, mean in (("base", base), ("novel", novel)):
            (point,) = kinds[key].points(roles, ())
            tasks = None if mean is None else table(random.normal(mean, 0.1, 60))
            parts[key] = FurtherTable(kinds[key], point, tasks, "" if tasks is not None else "OUT_OF_TIME")
        return Done(name, 1, table(random.normal(0.5, 0.1, 60)), 1.0, further=parts)

    done = [run("trained", 0.7, 0.5), run("untrained", 0.4, 0.4), run("failed", 0.5, None)]
    found = {gap.name: gap for gap in gaps(done)}
    assert {name: gap.verdict for name, gap in found.items()} == {
        "trained": "holds",
        "untrained": "undecided",
    }
    assert further_scores(done)["failed"][1].message == "OUT_OF_TIME"
    assert all(gap.beyond is None for gap in found.values()), "nothing untrained is there to compare with"
    first, second = random.normal(0, 1, 12), random.normal(1, 3, 30)
    difference, interval = welch(first, second)
    known = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert difference == pytest.approx(first.mean() - second.mean())
    assert (interval.low, interval.high) == pytest.approx((known.low, known.high), rel=1e-12)


def test_a_gap_that_easier_classes_make_is_told_from_that_of_training() -> None:
    """On tasks of a split whose base classes are easier for everybody, one method loses more and one does not."""
    random, roles = np.random.default_rng(4), Roles(read_protocol("class_side side=novel images=all"))
    luck = {"base": random.normal(0.1, 0.1, 200), "novel": random.normal(-0.1, 0.1, 200)}

    def run(name: str, trained: float, tasks: int = 200) -> Done:
        parts = {}
        for key, more in (("base", trained), ("novel", 0.0)):
            kind = read_evaluation(key)
            values = 0.5 + more + luck[key] + random.normal(0, 0.02, 200)
            parts[key] = FurtherTable(kind, kind.points(roles, ())[0], table(values[:tasks]))
        return Done(name, 1, table(random.normal(0.5, 0.1, 60)), 1.0, further=parts)

    done = [run("trained", 0.05), run("random", 0.0), run("shorter", 0.05, 100), run(UNTRAINED, 0.0)]
    found = {gap.name: gap for gap in gaps(done)}
    assert {gap.verdict for gap in found.values()} == {"holds"}, "the classes are easier for all"
    assert found["trained"].beyond is not None and found["random"].beyond is not None
    assert found["trained"].beyond[0] == pytest.approx(0.05, abs=0.01)
    assert found["trained"].beyond[1].low > 0 > found["random"].beyond[1].low
    assert found["random"].beyond[1].high > 0
    assert found["shorter"].beyond is None and found[UNTRAINED].beyond is None, (
        "not the same tasks, or itself"
    )
    (title, head, rows) = _gaps(list(found.values()))
    assert title == "From base to novel classes" and len(head) == 7 and {len(row) for row in rows} == {7}
    assert [row[6] for row in rows] == ["holds", "undecided", "", ""]
