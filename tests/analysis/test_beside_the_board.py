"""Flips and plan stand beside a board: they follow its order and its rule, turn no pair, and say how sure they are."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from anyshot_analysis.jobs import run
from anyshot_analysis.jobs.inputs import BadAnalysis
from anyshot_core.results import Identity, write_results
from anyshot_scoring.reliability import assessment
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined
from tests.scoring.drawn import draw_table

DATASETS, A_DATASET = 6, 20


def board(
    folder: Path, runs: dict[str, list[float]], noise: float = 0.03, *, shared: bool = False
) -> list[Path]:
    """Results of submissions by the mean of each of their runs, which noise around it leaves as it is.

    With `shared`, all runs were tested on the same tasks.
    """
    rng, files = np.random.default_rng(0), []
    for name, means in runs.items():
        for number, level in enumerate(means):
            table = draw_table(0 if shared else number, DATASETS * A_DATASET, datasets=DATASETS)
            spread = noise * rng.normal(size=len(table.task))
            score = level + spread - spread.mean()
            own = TaskTable.from_columns({**table.columns(), "normalized_accuracy": score})
            path = folder / f"{name}-{number}.parquet"
            write_results(path, own, Identity(who=name, run=str(number), same_test_tasks=shared))
            files.append(path)
    return files


@pytest.mark.seconds("judges several boards whole")
def test_agreement_of_runs_and_the_cost_of_feedback_are_told_with_their_intervals(tmp_path: Path) -> None:
    """b led the feedback phase, and is .02 behind a; of two submissions no agreement of others is claimed."""
    files = board(tmp_path, {"a": [0.52, 0.52], "b": [0.50, 0.50]}, noise=0.01)
    feedback = {"feedback": {"a": 0.4, "b": 0.6}}
    found = run("flips", {"results": files}, {"replicates": 1000, **feedback}, tmp_path / "out")
    told = {one["name"]: one for one in found["estimates"]}
    cost, runs = told["cost of trusting the feedback phase"], told["agreement of seeded runs"]
    assert cost["value"] == pytest.approx(0.02) and cost["population"] == "other datasets"
    assert 0.0 < cost["interval"][0] < 0.02 < cost["interval"][1] < 0.03
    assert runs["value"] == 1.0 and "at least 8" in runs["interval"]["undefined"]
    alone = run("flips", {"results": files}, {"replicates": 1000}, tmp_path / "alone")
    assert "cost of trusting the feedback phase" not in {one["name"] for one in alone["estimates"]}


@pytest.mark.seconds("judges several boards whole")
def test_a_board_by_the_worst_run_is_never_turned_by_the_mean(tmp_path: Path) -> None:
    """steady is first by the worst run (.50 above .48), wild by the mean (.54 above .51)."""
    files = board(tmp_path, {"steady": [0.50, 0.52], "wild": [0.48, 0.60]})
    found = run("flips", {"results": files}, {"replicates": 1000}, tmp_path / "out")["result"]
    assert found["keys"] == ["steady", "wild"]
    (flips,) = found["flips"]
    assert (flips["first"], flips["second"], flips["unit"]) == ("steady", "wild", "datasets")
    assert flips["flips"]["lead"] == pytest.approx(0.02, abs=1e-9)  # the board's lead, in its runs
    assert "two of these places are turned" in found["plan"]["undefined"]
    page = " ".join((tmp_path / "out" / "page.html").read_text().split())
    assert "two of these places are turned" in page and "steady" in page[page.index("Conclusion flips") :]
    turned = run("flips", {"results": files}, {"replicates": 1000, "rule": "mean_run"}, tmp_path / "mean")
    assert turned["result"]["keys"] == ["wild", "steady"]
    assert turned["result"]["flips"][0]["flips"]["lead"] == pytest.approx(0.03, abs=1e-9)


def test_a_plan_from_results_takes_the_boards_first_two_and_says_its_range(tmp_path: Path) -> None:
    files = board(tmp_path, {"steady": [0.50, 0.52], "wild": [0.48, 0.60], "last": [0.1, 0.1]})
    found = run("plan", {"results": files}, {"rule": "worst_run", "lead": 0.001}, tmp_path / "out")
    assert "the difference of steady and wild" in found["result"]["source"]
    assert "by the model of 3 submissions" in found["result"]["source"]
    (needed,) = [e for e in found["estimates"] if e["name"] == "datasets needed"]
    low, high = needed["interval"]
    assert low <= needed["value"] <= high
    # The lead is asked about: its variance is in doubt, by six datasets and up to two differences of three submissions.
    least, most = (free / stats.chi2.ppf(0.025, free) for free in (2 * (DATASETS - 1), DATASETS - 1))
    assert 0.95 * least < high / needed["value"] < 1.05 * most
    claims = {e["name"]: e for e in found["estimates"]}
    for name in ("tasks needed", "spread between datasets", "spread between tasks"):
        least, most = claims[name]["interval"]
        assert least <= claims[name]["value"] <= most, name
    assert f" (95 % interval {low:,.0f} to {high:,.0f})." in found["finding"]
    assert f"{low:.4g} to {high:.4g}" in (tmp_path / "out" / "page.html").read_text()


@pytest.mark.seconds("judges a board whole")
def test_a_plan_speaks_of_the_runs_that_count_where_all_met_the_same_tasks(tmp_path: Path) -> None:
    """It was refused here: by the mean of the runs, wild leads. One run counts, with a third of all tasks."""
    files = board(tmp_path, {"steady": [0.50, 0.52, 0.52], "wild": [0.48, 0.60, 0.60]}, shared=True)
    plan = run("flips", {"results": files}, {"replicates": 1000}, tmp_path / "out")["result"]["plan"]
    assert plan["leads"] == pytest.approx([0.02]) and plan["units"][0] == pytest.approx(A_DATASET)
    page = " ".join((tmp_path / "out" / "page.html").read_text().split())
    assert "By these runs steady leads wild by 0.0200." in page and "Tasks a dataset, same datasets" in page
    mean = run("flips", {"results": files}, {"replicates": 1000, "rule": "mean_run"}, tmp_path / "mean")
    (lead,) = mean["result"]["plan"]["leads"]
    assert mean["result"]["keys"][0] == "wild" and lead == pytest.approx(0.56 - 0.5133, abs=1e-4)
    run("plan", {"results": files}, {}, tmp_path / "plan")
    page = (tmp_path / "plan" / "page.html").read_text()
    assert "Of the runs that count, each task once." in page and "over all runs" not in page
    assert f"each with {A_DATASET} tasks" in page


def test_two_submissions_whose_difference_never_varies_plan_nothing(tmp_path: Path) -> None:
    """One dataset was said to be enough."""
    files = board(tmp_path, {"one": [0.5, 0.5], "same": [0.5, 0.5]}, noise=0.0)
    with pytest.raises(BadAnalysis, match="all tasks have the same difference"):
        run("plan", {"results": files}, {}, tmp_path / "out")


def test_a_lead_that_the_mean_of_the_datasets_turns_has_no_flips_over_classes() -> None:
    """Ten classes of one dataset at +0.10 and two of another at -0.30: the board's lead is -0.10, not +0.033."""
    differences, strata = np.repeat([0.10, -0.30], [10, 2]), np.repeat([0, 1], [10, 2])
    found = assessment._half_flips(differences, strata, 1000, 0)
    assert isinstance(found, Undefined) and "the other order than the board" in found.reason


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("need", [42, 300])
def test_the_range_of_a_plan_holds_the_true_need(need: int, known: bool) -> None:
    """Six datasets: the range holds the true need in 95 % of the draws, as the page's column says.

    Where a true lead is asked about, it is not in doubt, and the range is as wide as the variance alone makes it.
    """
    from anyshot_scoring.reliability import Components, plan_top

    rng, held, trials = np.random.default_rng(0), 0, 400
    lead, sd = 0.01, 0.01 * np.sqrt(need) / 1.6449
    for _ in range(trials):
        seen = rng.normal(lead, sd, 6)
        asked = lead if known else abs(seen.mean())
        plan = plan_top([Components(asked, seen.var(ddof=1), 0.0, 0.0, 6, 1.0, 1.0)], known_leads=known)
        assert isinstance(plan.datasets_interval, tuple)
        held += plan.datasets_interval[0] <= need <= plan.datasets_interval[1]
    assert 0.93 < held / trials < (0.98 if known else 1.01)


def test_the_plan_of_assumptions_has_no_interval_and_says_why(tmp_path: Path) -> None:
    found = run("plan", {}, {}, tmp_path)
    assert all(e["interval"] == {"undefined": "assumed, not estimated"} for e in found["estimates"])
    assert "assumed, not estimated" in (tmp_path / "page.html").read_text()


def test_a_comparison_goes_by_the_rule_of_the_phase_and_says_so(tmp_path: Path) -> None:
    """steady is better by the worst run (.50 above .45), wild by the mean: two rules, two orders."""
    files = board(tmp_path, {"steady": [0.50, 0.51], "wild": [0.45, 0.70]}, noise=0.005)
    by_worst = run("compare", {"results": files}, {}, tmp_path / "worst")
    by_mean = run("compare", {"results": files}, {"rule": "mean_run"}, tmp_path / "mean")
    assert by_worst["result"]["difference"] > 0 > by_mean["result"]["difference"]
    assert "the lowest of the 2 runs counts" in by_worst["notes"][1]
    assert "the mean of the 2 runs counts" in by_mean["notes"][1]
    by_ranks = run("compare", {"results": files}, {"rule": "dataset_ranks_mean"}, tmp_path / "ranks")
    assert "average rank" in by_ranks["finding"] and "point" not in by_ranks["finding"]


def test_a_comparison_says_of_two_what_a_board_of_the_two_says(tmp_path: Path) -> None:
    """The report on a board and the report on a pair state the same probabilities, over tasks and over datasets."""
    files = board(tmp_path, {"a": [0.51], "b": [0.50]}, noise=0.05)
    pair = run("compare", {"results": files}, {}, tmp_path / "pair")["result"]
    whole = run("flips", {"results": files}, {"replicates": 1000}, tmp_path / "board")["result"]
    for population, own in (("tasks", pair["better"]), ("datasets", pair["elsewhere"])):
        (neighbours,) = whole["populations"][population]["neighbours"]
        assert own == pytest.approx(neighbours["ordered"], abs=1e-3) and 0.5 < own < 0.99
