import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from anyshot_core.results import read_results, write_predictions, write_results
from anyshot_scoring.summary import summarize
from anyshot_starting_kit.cli.score import score
from tests.scoring.drawn import draw_run


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    write_predictions(tmp_path / "run.parquet", draw_run(0, 30), {"tasks": 30, "phase": "feedback"})
    return tmp_path / "run.parquet"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score, [str(argument) for argument in arguments])


def test_it_prints_the_score_of_a_run(run_file: Path):
    result = run(run_file)
    summary = summarize(draw_run(0, 30).score(), 30)
    assert result.exit_code == 0
    assert f"{summary.mean:.3f} ± {summary.half_width:.3f}  over 30 tasks" in result.output


def test_json_holds_the_summary_exactly(run_file: Path):
    data = json.loads(run(run_file, "--json").output)
    summary = summarize(draw_run(0, 30).score(), 30)
    assert data["score"] == summary.mean
    assert data["runs"][0]["summary"] == json.loads(json.dumps(summary.to_dict()))
    assert data["runs"][0]["meta"]["phase"] == "feedback"


def test_of_several_runs_the_chosen_one_counts(tmp_path: Path, run_file: Path):
    write_predictions(tmp_path / "other.parquet", draw_run(5, 30, skill=0.2), {})
    means = [
        summarize(draw_run(0, 30).score(), 30).mean,
        summarize(draw_run(5, 30, skill=0.2).score(), 30).mean,
    ]
    for rule, title, expected in (
        ("worst_run", "Worst run", min(means)),
        ("mean_run", "Mean of the runs", sum(means) / 2),
    ):
        result = run(run_file, tmp_path / "other.parquet", "--rule", rule)
        assert f"Score by the rule “{title}” over 2 runs: {expected:.4f}" in result.output
        data = json.loads(run(run_file, tmp_path / "other.parquet", "--rule", rule, "--json").output)
        assert (data["rule"], data["score"]) == (rule, pytest.approx(expected))


def test_page_and_results_are_written_and_results_score_again(tmp_path: Path, run_file: Path):
    result = run(run_file, "--html", tmp_path / "page.html", "--results", tmp_path / "results.parquet")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert len(read_results(tmp_path / "results.parquet").table) == 30
    again = run(tmp_path / "results.parquet", "--json")
    assert json.loads(again.output)["score"] == json.loads(run(run_file, "--json").output)["score"]


def test_an_incomplete_run_has_no_score(tmp_path: Path, run_file: Path):
    result = run(run_file, "--tasks", 31)
    assert result.exit_code == 1
    assert "of 31 expected tasks, 1 missing (first: 30)" in result.output
    table = draw_run(0, 30).score()
    write_results(tmp_path / "holes.parquet", table.select(table.task != 4), {})
    assert "1 missing (first: 4)" in run(tmp_path / "holes.parquet").output
    write_results(tmp_path / "none.parquet", table.select(table.task < 0), {})
    assert "over no tasks" in run(tmp_path / "none.parquet").output


def test_bad_files_are_named_with_the_reason(tmp_path: Path):
    (tmp_path / "noise.parquet").write_bytes(b"PAR1 but not really")
    result = run(tmp_path / "noise.parquet")
    assert result.exit_code == 1
    assert "noise.parquet: The file is not readable as Parquet" in result.output
    assert run(tmp_path / "nowhere").exit_code == 2


def test_a_prediction_outside_its_task_is_refused(tmp_path: Path):
    run_ = draw_run(0, 3)
    run_.predictions[0] = 99
    write_predictions(tmp_path / "bad.parquet", run_, {})
    assert "Task 0: prediction 0 is 99" in run(tmp_path / "bad.parquet").output


def test_one_page_takes_one_run(tmp_path: Path, run_file: Path):
    result = run(run_file, run_file, "--html", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "take a single run" in result.output
