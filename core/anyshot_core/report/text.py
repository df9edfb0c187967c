"""The report of a run as plain text for a terminal."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anyshot_core.metric_titles import METRIC_TITLES
from anyshot_core.words import decimal_words
from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.summary import Group, RunSummary
from anyshot_scoring.table import TaskTable

_BAR = 24
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def report_text(summary: RunSummary, table: TaskTable, meta: Mapping[str, Any]) -> str:
    """Score, metrics, breakdowns and times, about 80 columns wide; control characters of names are replaced."""
    interval = f"± {summary.half_width:.3f}" if summary.half_width else "(interval undefined)"
    fit, predict = table.fit_seconds, table.predict_seconds
    lines = [
        _CONTROLS.sub("\ufffd", str(meta.get("title", "Results"))),
        "",
        f"{METRIC_TITLES[summary.metric]}  {decimal_words(summary.mean)} {interval}  over {summary.tasks:,} tasks",
        "",
        *_rows(
            "Metrics",
            [Group(METRIC_TITLES[str(g.key)], g.mean, g.half_width, g.tasks) for g in summary.metrics],
        ),
        *group_lines("By dataset", summary.by_dataset),
        *(group_lines("By domain", summary.by_domain) if len(summary.by_domain) > 1 else ()),
        *group_lines("By number of ways", summary.by_ways),
        *group_lines("By number of shots", summary.by_shots),
        "Seconds a task",
        f"  fit      {fit.mean():8.3f}, longest {fit.max():8.3f}, all tasks {fit.sum():10.1f}",
        f"  predict  {predict.mean():8.3f}, longest {predict.max():8.3f}, all tasks {predict.sum():10.1f}",
    ]
    return "\n".join(lines) + "\n"


def group_lines(title: str, groups: Sequence[Group]) -> list[str]:
    """A table of groups. Numbers of few tasks are joined: an interval over two tasks is wider than the scale."""
    numbers = all(isinstance(group.key, int) for group in groups)
    pooled = pool_groups(groups) if numbers else groups
    joined = "; those of fewer than 5 tasks are joined, at their mean" if len(pooled) < len(groups) else ""
    return _rows(title + joined, pooled)


def _rows(title: str, groups: Sequence[Group]) -> list[str]:
    names = [_CONTROLS.sub("\ufffd", str(group.key))[:28] for group in groups]
    width = max(map(len, names), default=0)
    made = [title]
    for name, group in zip(names, groups, strict=True):
        half = f"± {group.half_width:.3f} " if group.half_width else "        "
        bar = "█" * round(_BAR * min(max(group.mean, 0.0), 1.0))
        made.append(
            f"  {name:<{width}}  {decimal_words(group.mean):>6} {half} {group.tasks:>6,}  {bar}".rstrip()
        )
    return [*made, ""]
