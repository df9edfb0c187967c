"""Participant's view: the in- and out-of-distribution score of a submission, and its curve along lambda."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Cell, PageTable, ReportPage, in_points, points
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import Bar, draw_bars, draw_curves
from anyshot_core.evaluations import BaseClasses, Mixtures, NovelClasses, PointScore, ValidationClasses
from anyshot_core.evaluations.seeded import SeededScore, mean_of_runs
from anyshot_core.report.estimates import Estimate, around
from anyshot_scoring.summary import Group

SIDES = {BaseClasses.name: "BaseGen", ValidationClasses.name: "ValGen", NovelClasses.name: "NovelGen"}
OVER = "other tasks of these classes"
SCORE = "Normalized accuracy (points)"
HOW = "test a dry run with --evaluate base --evaluate novel, and --evaluate mixtures for the curve"


@dataclass(frozen=True)
class Parameters:
    """Nothing to choose: the evaluations were made with the run."""


@dataclass(frozen=True)
class TestedLearner:
    """One learner: its scores on base, validation and novel classes by name, and along lambda.

    Of several seeded runs, each with a learner of its own, these are means over the runs. `lost_by_run` is what each
    run's learner loses on novel classes, `same_tasks` whether the runs met the same tasks; of one run they say nothing.
    """

    name: str
    sides: dict[str, PointScore]
    curve: tuple[PointScore, ...]
    lost_by_run: tuple[float, ...] = ()
    same_tasks: bool = False

    @property
    def runs(self) -> int:
        """How many learners it is the mean of."""
        return max(1, len(self.lost_by_run))

    @property
    def over(self) -> str:
        """What its intervals are about."""
        return f"{OVER}, by {'this learner' if self.runs == 1 else f'the learners of these {self.runs} runs'}"


def read_tested(path: Path) -> TestedLearner:
    """An `evaluations.json` of a dry run, with a `name` or without, or the list that a site answers.

    Raises `BadAnalysis`.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = data["evaluations"] if isinstance(data, dict) else data
        runs = [tuple(SeededScore.from_dict(run) for run in row.get("runs", ())) for row in rows]
        same = any(row.get("same_test_tasks", False) for row in rows)
        scores = [
            mean_of_runs(PointScore.from_dict(row), own, same_tasks=same)
            for row, own in zip(rows, runs, strict=True)
        ]
        named = str(data.get("name") or "") if isinstance(data, dict) else ""
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadAnalysis(f"{path}: not the further evaluations of a run ({error})") from error
    known = [score for score in scores if score.mean is not None]
    sides = {s.evaluation: s for s in known if s.evaluation in SIDES}
    curve = tuple(s for s in known if s.evaluation == Mixtures.name and s.at is not None)
    if not {BaseClasses.name, NovelClasses.name} <= set(sides):
        raise BadAnalysis(f"{path}: no scores on base and on novel classes; {HOW}")
    by_score = dict(zip(scores, runs, strict=True))
    base, novel = (by_score[sides[kind.name]] for kind in (BaseClasses, NovelClasses))
    if [run.seed_index for run in base] != [run.seed_index for run in novel]:
        raise BadAnalysis(f"{path}: other runs were tested on base than on novel classes")
    lost_by_run = tuple(one.mean - other.mean for one, other in zip(base, novel, strict=True))
    return TestedLearner(
        named or path.parent.name or path.stem, sides, curve, lost_by_run, same and len(base) > 1
    )


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Each learner's scores side by side, and what it loses on novel classes."""
    tested = [read_tested(path) for path in inputs.paths("evaluations", 1)]
    progress("Reading", 1, 1)
    names = [one.name for one in tested]
    if len(set(names)) != len(names):
        tested = [replace(t, name=f"{t.name} ({place})") for place, t in enumerate(tested, 1)]
    return describe(tested)


def lost(one: TestedLearner) -> tuple[float, float | None]:
    """BaseGen minus NovelGen with half the width of its interval; the tasks are different ones, so errors add up.

    Of several runs it is the mean of what each run's learner loses: both sides are means over the same runs.
    """
    base, novel = one.sides[BaseClasses.name], one.sides[NovelClasses.name]
    assert base.mean is not None and novel.mean is not None  # only known scores are read
    if base.half_width is None or novel.half_width is None:
        return base.mean - novel.mean, None
    return base.mean - novel.mean, math.hypot(base.half_width, novel.half_width)


def estimates_of(one: TestedLearner) -> list[Estimate]:
    """The sides, and what is lost between base and novel classes."""
    made = [
        around(f"{SIDES[key]} of {one.name}", *_scaled(score.mean, score.half_width), "points", one.over)
        for key, score in one.sides.items()
    ]
    made.append(around(f"BaseGen minus NovelGen of {one.name}", *_scaled(*lost(one)), "points", one.over))
    return made


def _scaled(value: float | None, half: float | None) -> tuple[float, float | None]:
    return 100 * (value or 0.0), None if half is None else 100 * half


def words_of(one: TestedLearner) -> str:
    """Whether a gap is settled."""
    gap, half = lost(one)
    runs = "" if one.runs == 1 else f", the mean of its {one.runs} runs"
    if half is None:
        return f"{one.name} loses {points(gap)} points on novel classes{runs} (no interval: a single task)"
    settled = "" if abs(gap) > half else ": not settled"
    return f"{one.name} loses {points(gap)} ± {points(half)} points (95 %) on novel classes{runs}{settled}"


def cells_of(one: TestedLearner) -> list[Cell]:
    """A row of the page."""
    gap, half = lost(one)
    row: list[Cell] = [one.name]
    for key in SIDES:
        score = one.sides.get(key)
        row.append(Undefined("not tested") if score is None or score.mean is None else points(score.mean))
    return [*row, points(gap), Undefined("a single task") if half is None else points(half)]


def notes_on_runs(tested: list[TestedLearner]) -> list[str]:
    """How several runs were joined, where there are several."""
    notes = list[str]()
    if any(one.runs > 1 for one in tested):
        notes.append(
            "Of several runs each score is the mean of the runs' scores over all of their tasks, whatever the ranking "
            "rule makes of them; what is lost is the mean of what each run's learner loses between its own scores."
        )
    if same := [one.name for one in tested if one.same_tasks]:
        notes.append(
            f"The runs of {', '.join(same)} met the same tasks, which count once: half widths are the mean of "
            "those of the runs, and at least those of the tasks' means over the runs."
        )
    return notes


def table_of_runs(tested: list[TestedLearner]) -> list[PageTable]:
    """What each run's learner loses, where there are several runs."""
    rows: list[list[Cell]] = [
        [one.name, str(run), points(gap)]
        for one in tested
        if one.runs > 1
        for run, gap in enumerate(one.lost_by_run, 1)
    ]
    title, header = "Lost by the learner of each run (points)", ("learner", "run", "lost")
    return [PageTable(title, header, rows)] if rows else []


def describe(tested: list[TestedLearner]) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    bars = [
        Bar(f"{one.name}, {SIDES[key]}", *_scaled(score.mean, score.half_width))
        for one in tested
        for key, score in one.sides.items()
    ]
    curves = {one.name: [_point(score) for score in one.curve] for one in tested if len(one.curve) > 1}
    charts = [draw_bars(bars, "In and out of distribution", SCORE)]
    if curves:
        title = "From base classes (0) to novel classes (1)"
        charts.append(draw_curves(curves, title, "lambda", SCORE, whole=False))
    return ReportPage(
        name="submission-shift",
        title="In and out of distribution, of a submission",
        finding="; ".join(map(words_of, tested)) + ".",
        population=f"{'; '.join(dict.fromkeys(one.over for one in tested))}; unit: the task. "
        "Not: other classes, other trainings.",
        estimates=[e for one in tested for e in estimates_of(one)],
        charts=charts,
        listings=[
            PageTable(
                "In- and out-of-distribution score (points of normalized accuracy)",
                ("learner", *SIDES.values(), "lost", "±"),
                [cells_of(one) for one in tested],
            ),
            *table_of_runs(tested),
        ],
        notes=[
            "BaseGen: the classes that were trained on, with images that were not. NovelGen: other classes of the same "
            "datasets. Lambda: how likely each place of a task is a novel class. Each task is of one dataset.",
            *notes_on_runs(tested),
            *([] if curves else ["No curve along lambda: the run was not tested on mixtures."]),
        ],
        result={
            one.name: {
                **{SIDES[key]: score.mean for key, score in one.sides.items()},
                "lost": lost(one)[0],
                **({"lost_by_run": list(one.lost_by_run)} if one.runs > 1 else {}),
                "curve": {f"{score.at:g}": score.mean for score in one.curve},
            }
            for one in tested
        },
        table={
            "learner": [one.name for one in tested for _ in one.sides],
            "side": [SIDES[key] for one in tested for key in one.sides],
            "mean": [score.mean for one in tested for score in one.sides.values()],
        },
    )


def _point(score: PointScore) -> Group:
    return in_points(Group(f"{score.at or 0.0:g}", score.mean or 0.0, score.half_width, score.tasks))
