import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from markupsafe import escape
from scipy import stats

from anyshot_core.chances import chance_words
from anyshot_core.report import reliability_html, reliability_section
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability import (
    KnownRanks,
    Population,
    SampleSizePlan,
    ScoreMatrix,
    align,
    align_classes,
    assess,
)
from anyshot_scoring.reliability.assessment import Assessment, PopulationReport
from anyshot_scoring.reliability.board_pairs import know_board
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from tests.core.report.test_run_report import Tags
from tests.scoring.simulated import draw_matrix, draw_run_by_class

NAMES = {"s0": "<b>Zero</b>", "s2": "Two"}


@pytest.fixture(scope="module")
def matrix() -> ScoreMatrix:
    return draw_matrix(0, [0.50, 0.53, 0.60, 0.601], runs=3, dataset_sd=0.03, run_sd=0.01)


@pytest.fixture(scope="module")
def assessment(matrix: ScoreMatrix) -> Assessment:
    return assess(matrix, replicates=1_000)


def test_the_board_is_in_order_and_every_population_is_there(matrix: ScoreMatrix):
    report = assess(matrix, replicates=1_000, feedback={"s0": 0.9, "s2": 0.4, "s3": 0.5})
    assert list(report.scores) == sorted(report.scores, reverse=True)
    worst = dict(zip(matrix.keys, matrix.run_means().min(axis=0), strict=True))
    assert dict(zip(report.keys, report.scores, strict=True)) == pytest.approx(worst)
    data = report.to_dict()
    assert set(data["populations"]) == {"tasks", "classes", "datasets", "seeds"}
    assert data["populations"]["classes"] == {
        "undefined": "the files do not say which classes the tasks have"
    }
    assert data["populations"]["tasks"]["redrawn"]["rank"] == [1, 2, 3, 4]
    assert not isinstance(report.feedback, Undefined) and report.feedback.submissions == 3
    assert report.feedback.cost == pytest.approx(max(worst["s2"], worst["s3"]) - worst["s0"])


@pytest.mark.seconds("judges several boards whole")
def test_what_trusting_feedback_costs_and_how_runs_agree_have_intervals():
    """Ten datasets tell of other datasets, three only of other tasks; of few submissions nothing is said on others."""
    levels = [0.5 + 0.01 * i for i in range(9)]
    led = {"s4": 0.9, "s8": 0.4, "s1": 0.5}
    for datasets in (10, 3):
        board = draw_matrix(0, levels, datasets=datasets, runs=3, dataset_sd=0.01)
        report = assess(board, replicates=1_000, feedback=led)
        found, runs = report.feedback, report.seeds_interval
        assert not isinstance(found, Undefined) and not isinstance(runs, Undefined)
        assert not isinstance(report.seeds_tau, Undefined) and runs.low < report.seeds_tau < runs.high
        cost = found.cost_interval
        assert not isinstance(found.cost, Undefined) and not isinstance(cost, Undefined)
        assert cost.low < 0.04 < cost.high and cost.low < found.cost < cost.high
        page = " ".join(reliability_html(report).split())
        over = "other datasets" if datasets == 10 else "other tasks of these datasets"
        assert f"{found.cost:.4f} (95 % interval over {over}: {cost.low:.4f} to {cost.high:.4f})" in page
        assert f"{report.seeds_tau:.3f} (95 % interval over other submissions: {runs.low:.2f} to" in page
    few = assess(draw_matrix(0, levels[:3], runs=3), replicates=1_000)
    assert isinstance(few.seeds_interval, Undefined) and "8" in few.seeds_interval.reason


def test_json_is_plain_and_the_same_each_time(matrix: ScoreMatrix, assessment: Assessment):
    again = assess(matrix, replicates=1_000)
    texts = [json.dumps(one.to_dict(), allow_nan=False) for one in (assessment, again)]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["version"] == 5


def test_the_page_says_it_in_words_and_escapes_names(assessment: Assessment):
    page = reliability_html(assessment, NAMES)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "<b>Zero" not in page
    assert "&lt;b&gt;Zero" in page
    for words in ("other tasks of these datasets", "other datasets", "other seeded runs", "Conclusion flips"):
        assert words in page
    assert "Nothing is said about other classes" in page
    assert "All tasks have the same number of ways: 5" in page
    assert "normalized accuracies: a point is 0.01." in " ".join(page.split())
    assert "style" not in reliability_section(assessment, NAMES)


def test_each_number_that_would_settle_the_top_has_its_range():
    assessment = assess(draw_matrix(0, [0.5, 0.6], dataset_sd=0.03), replicates=1000)
    plan, page = assessment.plan, " ".join(reliability_html(assessment).split())
    assert isinstance(plan, SampleSizePlan)
    for found, interval in ((plan.tasks, plan.tasks_interval), (plan.datasets, plan.datasets_interval)):
        assert not isinstance(interval, Undefined) and not isinstance(found, Undefined)
        assert f"<dd>{found:,} (95 % interval {interval[0]:,} to {interval[1]:,})</dd>" in page
    assert "Of the mean score" not in page  # of one run that is what ranks


def test_a_plan_says_which_lead_it_speaks_of_where_the_board_ranks_by_another_one():
    matrix = draw_matrix(0, [0.4, 0.5, 0.6, 0.7], runs=3, dataset_sd=0.03, run_sd=0.01)
    assessment = assess(matrix, replicates=1_000, top=2)
    page = " ".join(reliability_html(assessment).split())
    means = dict(zip(matrix.keys, matrix.run_means().mean(axis=0), strict=True))
    first, second, third = assessment.keys[:3]
    leads = f"{first} leads {second} by {means[first] - means[second]:.4f}"
    leads += f", {second} leads {third} by {means[second] - means[third]:.4f}."
    assert "Of the mean score over the 3 runs, whatever the board ranks by: " in page and leads in page
    own = len(matrix.scores) // len(matrix.datasets)
    assert f"Tasks a dataset, all runs together, same datasets (now {own})" in page
    assert (
        f"New datasets (now {len(matrix.datasets)})" in page
        and "Classes a dataset, same datasets</dt>" in page
    )


def test_a_need_that_may_have_no_end_says_so():
    """A lead that may be none: a number stood there without a word on its interval."""
    assessment = assess(draw_matrix(0, [0.5, 0.51], tasks=20), replicates=1000)
    assert isinstance(assessment.plan, SampleSizePlan)
    endless = Undefined("from 3 on, and no number may be enough")
    plan = replace(assessment.plan, tasks=11, tasks_interval=endless)
    page = " ".join(reliability_html(replace(assessment, plan=plan)).split())
    assert f"<dd>11 (no 95 % interval: {endless.reason})</dd>" in page


def test_ranks_and_groups_are_those_of_the_board_and_redraws_are_named_as_such(
    matrix: ScoreMatrix, assessment: Assessment
):
    """What a bracket joins, a group of the report joins: one model says both."""
    report = assessment.populations[Population.TASKS]
    assert isinstance(report, PopulationReport) and isinstance(report.ranks, KnownRanks)
    known = know_board(matrix, find_rule("worst_run"))
    groups = {frozenset(assessment.keys[i] for i in group) for group in report.ranks.groups}
    for pair, shown in zip(pairwise(known.keys), report.neighbours, strict=True):
        found = known.judge(*pair)
        assert (found.verdict, found.interval, found.better) == (shown.verdict, shown.interval, shown.ordered)
        assert any(set(pair) <= group for group in groups) == (found.verdict != "different")
    page = " ".join(reliability_html(assessment).split())
    for group in report.ranks.groups:
        assert f"<li>{', '.join(assessment.keys[i] for i in group)}</li>" in page
    assert page.count("Ranks by redraws of the same data</summary>") == 3
    section = page.partition("Over other seeded runs of these submissions")[2].partition("</section>")[0]
    assert (
        "No ranks, groups and probabilities: 3 units do not tell" in section
        and "3 units make them rough" in section
    )


def test_draws_of_a_few_runs_are_no_interval_over_other_runs(assessment: Assessment):
    seeds, tasks = (assessment.populations[Population(name)] for name in ("seeds", "tasks"))
    assert not isinstance(seeds, Undefined) and not isinstance(tasks, Undefined)
    for pair in seeds.neighbours:  # of three runs, a draw never leaves their range: 75 % at most
        assert isinstance(pair.interval, Undefined) and "3 units" in pair.interval.reason
    assert not any(isinstance(pair.interval, Undefined) for pair in tasks.neighbours)
    unknown = 2 * len(seeds.neighbours) + 2 * len(assessment.keys)  # of each pair, and of each submission
    assert reliability_html(assessment, NAMES).count(">not known</td>") == unknown


def test_the_order_by_ways_is_drawn_and_crossings_are_named():
    matrix = draw_matrix(0, [0.5, 0.7], ways=[2, 20])
    matrix.scores[matrix.ways == 20, 0] += 0.3
    assessment = assess(matrix, replicates=1_000)
    page = reliability_html(assessment, {"s0": "Zero", "s1": "One"})
    assert "Zero is ahead of One at 20 ways; certain at 20." in page
    assert assessment.to_dict()["ways"]["crossings"][0]["certain"] == [20]


def test_predictions_by_class_open_the_population_of_classes():
    rng = np.random.default_rng(0)
    runs = {
        key: [
            draw_run_by_class(10 * i + r, r, np.clip(level + 0.1 * rng.random((3, 10)), 0, 1))
            for r in range(2)
        ]
        for i, (key, level) in enumerate((("a", 0.5), ("b", 0.7), ("c", 0.72)))
    }
    matrix = align({key: [run.score() for run in own] for key, own in runs.items()})
    classes = align_classes({key: [run.class_table() for run in own] for key, own in runs.items()}, matrix)
    assessment = assess(matrix, classes=classes, replicates=1_000)
    data = assessment.to_dict()
    assert data["classes"] == 30
    assert data["populations"]["classes"]["units"] == 30
    assert {row["unit"] for row in data["flips"]} == {"classes", "datasets"}
    assert "Over other classes of these datasets" in reliability_html(assessment)


def test_a_board_of_one_submission_on_one_dataset_with_one_run():
    assessment = assess(draw_matrix(0, [0.5], datasets=1), replicates=1_000)
    page = reliability_html(assessment)
    assert "A single submission has nothing to flip" in page
    assert "Nothing is said about other datasets" in page
    assert json.dumps(assessment.to_dict(), allow_nan=False)


def test_equal_submissions_are_said_to_be_a_group():
    matrix = draw_matrix(5, [0.5] * 3)
    page = reliability_html(assess(matrix, replicates=1_000))
    assert "Rows that cannot be told apart" in page


def test_too_few_replicates_are_refused(matrix: ScoreMatrix):
    with pytest.raises(ScoringError, match="at least 1000"):
        assess(matrix, replicates=999)


@pytest.mark.seconds("judges several boards whole")
def test_the_agreement_with_the_feedback_phase_has_an_interval_from_eight_submissions_on():
    for entries, shown in ((8, True), (7, False)):
        board = draw_matrix(0, np.linspace(0.4, 0.7, entries))
        feedback = {f"s{place}": place + 3.0 * (place == 2) for place in range(entries)}
        page = " ".join(reliability_html(assess(board, replicates=1000, feedback=feedback)).split())
        assert ("95 % interval over other submissions: 0." in page) == shown


def test_no_common_submission_with_the_feedback_phase_is_said(matrix: ScoreMatrix):
    data = assess(matrix, replicates=1_000, feedback={"other": 0.5}).to_dict()
    assert data["feedback"] == {"undefined": "no submission stands on both boards"}


def test_what_a_leader_owes_to_many_submissions_is_said():
    """A board where one team asked a hundred times: known maximum, known noise, and the words of the page."""
    matrix = draw_matrix(0, [0.50, 0.53, 0.60, 0.601], runs=3)
    counts = {"s0": 1, "s1": 2, "s2": 1, "s3": 100}
    assessment = assess(matrix, replicates=1_000, rule="mean_run", submissions=counts)
    assert not isinstance(assessment.repetition, Undefined)
    assert not isinstance(assessment.repetition.luck, Undefined)
    luck = {row.team: row.owed for row in assessment.repetition.luck}
    own = matrix.scores - matrix.scores.mean(axis=1, keepdims=True)
    n, s = own.shape
    noise = np.sqrt(((own - own.mean(axis=0)) ** 2).sum() / ((n - 1) * (s - 1)) / n)
    assert luck["s0"] == 0 and luck["s3"] == pytest.approx(2.5075936 * noise, rel=0.03)
    assert luck["s1"] / luck["s3"] == pytest.approx(1 / np.sqrt(np.pi) / 2.5075936)
    page = " ".join(reliability_html(assessment, NAMES).split())
    assert (
        f"<td>s3</td> <td>{assessment.scores[list(assessment.keys).index('s3')]:.4f}</td> <td>100</td>"
        in page
    )
    assert f"<td>{luck['s3']:.4f}</td>" in page
    assert "nobody said how many submissions" in reliability_html(assess(matrix, replicates=1_000))


def test_under_average_ranks_the_page_sets_no_rank_beside_scores(matrix: ScoreMatrix):
    counts, scores = dict.fromkeys(matrix.keys, 3), dict(zip(matrix.keys, [0.5, 0.6, 0.7, 0.8], strict=True))
    ranked = assess(matrix, replicates=1_000, rule="dataset_ranks_mean", submissions=counts, feedback=scores)
    page = " ".join(reliability_html(ranked).split())
    section = page.partition("A board that is asked many times")[2].partition("</section>")[0]
    assert "undefined here: the rule ranks by average ranks, which are no scores." in section
    assert "raised them: the rule ranks by average ranks, and feedback scores are scores." in section
    assert "raised the feedback scores" not in section and "<table>" not in section


@pytest.mark.seconds("simulates many boards")
def test_the_fall_from_feedback_to_final_shows_repetition():
    """Equal teams whose feedback scores rose with the number of their submissions, and only there."""
    matrix = draw_matrix(3, [0.5] * 6)
    counts = {key: 4**i for i, key in enumerate(matrix.keys)}
    final = assess(matrix, replicates=1_000, submissions=counts)
    points = dict(zip(final.keys, final.points, strict=True))
    feedback = {key: points[key] + 0.02 * i for i, key in enumerate(matrix.keys)}
    assessment = assess(matrix, replicates=1_000, submissions=counts, feedback=feedback)
    assert not isinstance(assessment.repetition, Undefined)
    gap = assessment.repetition.gap
    assert not isinstance(gap, Undefined) and gap.low > 0
    page = " ".join(reliability_html(assessment).split())
    assert "expected maximum: repeated submissions raised the feedback scores." in page
    assert "chosen by their scores in the feedback phase" in page
    honest = assess(matrix, replicates=1_000, submissions=counts, feedback=points)
    assert "does not show that repeated submissions raised the feedback scores" in " ".join(
        reliability_html(honest).split()
    )


def test_the_page_says_where_submissions_differ() -> None:
    """One row a source of variation: a figure with its interval, or why it is not known."""
    assessment = assess(draw_matrix(0, [0.5, 0.6, 0.7], dataset_sd=0.03, runs=2), replicates=1_000)
    assert not isinstance(assessment.spreads, Undefined)
    page = " ".join(reliability_html(assessment).split())
    section = page.partition("Where submissions differ")[2].partition("</section>")[0]
    for row in assessment.spreads:
        assert str(escape(row.words)) in section
        if not isinstance(row.deviation, Undefined) and not isinstance(row.interval, Undefined):
            interval = f"{row.interval.low:.4f} to {row.interval.high:.4f}"
            assert f'{row.deviation:.4f}</td><td class="number">{interval}' in section
    assert "not known: the files do not say which classes the tasks have" in section


def test_no_probability_of_the_model_is_called_certain() -> None:
    """Far apart, on many tasks: what rounds to 1 or to 0 is written as a bound."""
    page = " ".join(reliability_html(assess(draw_matrix(0, [0.2, 0.9]), replicates=1_000)).split())
    assert (
        "truly the best with probability over 0.99" in page and "over 0.999" in page and "under 0.01" in page
    )
    assert "with probability 1.00" not in page and "over 99 % of the" in page and " 100 % of the" not in page
    assert "the 95 % interval of the true rank of s1 is 1: first place is settled. It is truly" in page
    assert "the first lead flips in under 1 % of draws of other datasets" in page
    assert [chance_words(p) for p in (0.0, 0.004, 0.5, 0.996, 1.0)] == [
        "under 0.01",
        "under 0.01",
        "0.50",
        "over 0.99",
        "over 0.99",
    ]


def test_the_page_says_how_often_halves_tie_and_what_the_planning_formula_says() -> None:
    """By hand: of the six halves of four datasets that differ by 2, 1, -1 and -1 points one turns and two tie."""
    base = draw_matrix(0, [0.5, 0.5], datasets=4, tasks=2, task_sd=0.0)
    scores = base.scores.copy()
    differences = np.array([0.02, 0.01, -0.01, -0.01])
    scores[:, 0] += differences[base.dataset]
    assessment = assess(replace(base, scores=scores), replicates=1_000)
    halves = [differences[[i, j]].mean() for i in range(4) for j in range(i)]
    flip, tie = np.mean(np.array(halves) < -1e-9), np.mean(np.abs(halves) < 1e-9)
    assert (flip, tie) == (pytest.approx(1 / 6), pytest.approx(2 / 6))
    sd = differences.std(ddof=1) * np.sqrt((1 - 2 / 4) / 2)
    planned = stats.norm.cdf(-differences.mean() / sd)
    page = " ".join(reliability_html(assessment).split())
    line = page[page.index('<th scope="row">s0 and s1</th><td>datasets</td>') :].partition("</tr>")[0]
    cells = [cell.partition("<")[0] for cell in line.split('<td class="number">')[1:]]
    assert cells[:3] == ["0.0025", f"{flip:.3f} (of 6, all)", f"{tie:.3f}"]
    assert cells[4] == f"{planned:.3f}" and "Exact tie" in page and "Flip by the planning formula" in page
