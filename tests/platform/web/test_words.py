"""How values become words, Markdown becomes harmless, and rows become brackets."""

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import anyshot_core
import anyshot_platform
import anyshot_starting_kit
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.words import moment_words, number_words
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count, decimal, duration, interval, score, size, when
from anyshot_platform.foundation.isolated_parsing.curves import summarize_rows
from anyshot_platform.foundation.paging import page_of
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import StageTimes
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.site.leaderboards.board_view import find_brackets
from anyshot_platform.site.submissions.failures import is_own_file, mark_traceback
from anyshot_platform.site.submissions.progress import forecast_words
from anyshot_platform.site.submissions.words import blame
from anyshot_platform.site.web.markdown import markdown
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import BoardPlace
from tests.platform.web.scene import TRACEBACK


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.05, "50 ms"),
        (0.4, "0.4 s"),
        (59.6, "1 min"),
        (185, "3 min 5 s"),
        (18600, "5 h 10 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_values_without_meaning_are_a_dash() -> None:
    for function in (duration, size, score):
        assert "–" in str(function(None))
    assert "–" in str(score(float("nan"))) and interval(None) == ""


def test_other_words() -> None:
    assert score(-0.0312) == "−0.031"
    assert score(-3e-18) == "0.000", "sums of floats end beside nought"
    assert size(1 << 20) == "1.0 MiB" and size(3) == "3 B"
    assert count(1, "task") == "1 task" and count(3000, "task") == "3,000 tasks"
    naive = when(datetime(2026, 7, 1, 12, 0))
    assert 'datetime="2026-07-01T12:00:00+00:00"' in naive and "1 Jul 2026, 12:00 UTC" in naive
    assert moment_words("2026-07-01T14:00:07.5+02:00", "milliseconds") == "1 Jul 2026, 12:00:07.500 UTC"


def test_a_number_and_a_moment_have_one_form_everywhere() -> None:
    """A minus sign is U+2212 and a moment `1 Jul 2026, 12:00 UTC`, whoever writes it."""
    assert decimal(-0.0312) == "−0.031" and decimal(-1234.5, 1) == "−1,234.5" and decimal(-4) == "−4"
    assert number_words(-0.25) == "−0.25" and number_words(-1e-9) == "above −1e-6"
    lines = [
        line
        for package in (anyshot_core, anyshot_platform, anyshot_starting_kit)
        for file in Path(package.__path__[0]).rglob("*.py")
        for line in file.read_text().splitlines()
    ]
    odd = re.compile(r"%Y-%m-%d %H:%M[^\"]*UTC|\{[\w.\[\]'\"]*(score|value|mean)[\]'\"]*:z?\.[34]f\}")
    assert [line for line in lines if odd.search(line) and "±" not in line and "$" not in line] == []


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        '<a href="JaVaScRiPt:alert(1)">x</a>',
        "<svg onload=alert(1)>",
        '<iframe src="https://elsewhere.example"></iframe>',
        "<style>body{display:none}</style>",
        '<form action="https://elsewhere.example"><input name=password></form>',
        "![pixel](https://elsewhere.example/pixel.png)",
        '<img src="//elsewhere.example/pixel.png">',
    ],
)
def test_markdown_is_harmless(hostile: str) -> None:
    page = str(markdown(f"before\n\n{hostile}\n\nafter")).lower()
    for word in (
        "<script",
        "onerror",
        "onload",
        'href="javascript',
        "<iframe",
        "<style",
        "<form",
        "<input",
        'src="http',
    ):
        assert word not in page
    assert 'src="//' not in page and "before" in page and "after" in page


def test_markdown_keeps_what_organizers_write() -> None:
    page = str(markdown("# Title\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n[link](https://example.org) ~~old~~"))
    assert "<h2>Title</h2>" in page and "<table>" in page and "<s>old</s>" in page
    assert 'rel="noopener nofollow ugc"' in page


def place(value: float, half_width: float | None, rank: int | None = 1) -> BoardPlace:
    row = BoardRow(
        row_key=f"{value}",
        team_id="t",
        submission_id="s",
        value=value,
        half_width=half_width,
        by_dataset={},
        submitted_at=datetime.now(UTC),
        sort_value=-value,
    )
    return BoardPlace(rank, row, "team", 1, rank is None)


def said(place: BoardPlace, verdict: Any, difference: float = 0.01) -> dict[str, Statement]:
    better = 0.99 if difference > 0 else 0.01
    return {
        place.row.row_key: Statement(
            difference, difference - 0.02, difference + 0.02, better, None, verdict, 10
        )
    }


def test_brackets_join_what_cannot_be_told_apart() -> None:
    a, b, c, d = (place(value, 0.01) for value in (0.6, 0.59, 0.5, 0.4))
    joined = said(b, "undecided")
    assert find_brackets([a, b, c, d], joined | said(c, "different")) == ["start", "end", "", ""]
    chain = joined | said(c, "equivalent") | said(d, "different")
    assert find_brackets([a, b, c, d], chain) == ["start", "middle", "end", ""]


def test_a_baseline_between_two_rows_does_not_break_their_bracket() -> None:
    rows = [place(0.6, 0.01), place(0.595, 0.01, None), place(0.59, 0.01)]
    assert find_brackets(rows, said(rows[2], "undecided")) == ["start", "middle", "end"]
    assert find_brackets(rows, said(rows[2], "different")) == ["", "", ""]


def test_a_row_that_is_better_than_the_one_above_is_in_its_bracket() -> None:
    """What the rule ranks by may lie the other way: no bracket would say that the order is sure."""
    a, b = place(0.6, 0.01), place(0.59, 0.01)
    assert find_brackets([a, b], said(b, "different", 0.05)) == ["", ""]
    assert find_brackets([a, b], said(b, "different", -0.05)) == ["start", "end"]


def test_a_row_of_which_nothing_is_said_is_in_no_bracket() -> None:
    assert find_brackets([place(0.6, 0.01), place(0.59, 0.01)], {}) == ["", ""]
    assert find_brackets([], {}) == []


def test_own_lines_of_a_traceback_are_marked() -> None:
    marked = mark_traceback(TRACEBACK)
    own = [line.text.strip() for line in marked if line.own]
    assert own[0].startswith('File "/scratch/run/program/model.py"') and len(own) == 4
    assert marked[-1].error and not marked[-1].own
    hidden = mark_traceback("model.py, line 57\nlayers.py, line 12\nRuntimeError")
    assert [line.own for line in hidden] == [True, True, False]
    assert not is_own_file("/usr/lib/python3/dist-packages/torch/nn.py") and is_own_file("model.py")


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict != Verdict.OK])
def test_every_verdict_has_a_sentence_that_says_whose_fault(verdict: Verdict) -> None:
    words = blame(verdict, verdict.cause)
    assert words.sentence.endswith(".") and words.next_step
    if verdict.cause == Cause.INFRASTRUCTURE:
        assert "our fault" in words.sentence
    if verdict.cause == Cause.PARTICIPANT:
        assert "Your" in words.sentence or "zip" in words.sentence


def test_pages_of_a_list() -> None:
    page = page_of(9, 50, 120)
    assert (page.number, page.pages, page.first, page.last) == (3, 3, 101, 120)
    assert page_of(1, 50, 0).pages == 1


def test_rows_of_the_logger_become_curves() -> None:
    header = "step,iteration,dataset,ways,shots,loss,accuracy,normalized_accuracy"
    rows = [f"0,{place},D,5,1,1.0,0.6,{0.5 + place / 10_000}" for place in range(1, 1001)]
    groups, words = summarize_rows(io.StringIO("\n".join([header, *rows])), "iteration")
    assert words == "normalized_accuracy" and len(groups) == 40
    assert groups[0].key == 25 and groups[0].tasks == 25 and groups[0].mean < groups[-1].mean
    table = io.StringIO(f"{header}\n0,1,,,,2.0,0.25,\n0,2,,,,1.9,0.35,")
    batches, words = summarize_rows(table, "iteration")
    assert words == "accuracy" and [round(group.mean, 2) for group in batches] == [0.25, 0.35]


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2", "iteration,accuracy\n1e400,nan\nx,y\n" + "9" * 400 + ",1", "\x00\x00"]
)
def test_broken_tables_of_the_logger_draw_nothing(text: str) -> None:
    assert summarize_rows(io.StringIO(text), "iteration") == ((), "")


def _testing(done: int, minutes: float, used: float = 60.0) -> Run:
    times = StageTimes(meta_testing=now() - timedelta(minutes=minutes))
    return Run(
        state=RunState.META_TESTING, tasks_done=done, tasks_total=100, seconds_used=used, stage_times=times
    )


def test_a_run_foretells_when_it_ends_and_whether_its_budget_is_enough() -> None:
    assert forecast_words(_testing(2, 10), 3600) == ""
    assert forecast_words(_testing(50, 10), 3600) == "At this pace it ends in about 10 min."
    words = forecast_words(_testing(10, 10, used=3000.0), 3600)
    assert words == "At this pace it ends in about 1 h 30 min: more than the 10 min left of the budget."
    training = Run(state=RunState.META_TRAINING, stage_times=StageTimes(), seconds_used=600.0)
    assert forecast_words(training, 3600) == "The budget lasts another 50 min."
    assert forecast_words(training, 0.0) == ""


@pytest.mark.parametrize("better", [0.52, None])
def test_nobody_is_ahead_by_nothing(better: float | None) -> None:
    """Two equal means differ in their last digits, and the name that comes first is no leader for it."""
    words = Statement(1e-16, -0.1, 0.1, better, None, "undecided", 40).words("ada", "bob")
    assert "ada and bob are level" in words and "0.000" not in words
    for difference, words in (
        (0.001, "ada is ahead of bob by 0.001"),
        (-0.001, "bob is ahead of ada by 0.001"),
    ):
        said = Statement(difference, -0.1, 0.1, better, None, "undecided", 40)
        assert words in said.words("ada", "bob")
