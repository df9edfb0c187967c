"""Datasets of a pool that have too few classes for a task: a report on the others says so."""

from dataclasses import replace

from anyshot_analysis.features import Features
from anyshot_analysis.pages import ReportPage
from anyshot_core.words import count_of


def say_left_out(page: ReportPage, ways: int, *sides: Features) -> ReportPage:
    """The page, its finding ending with the datasets that have fewer than `ways` classes, and so no task of their own.

    Of several `sides` (base and novel classes) the one with the fewest counts. `left_out` of the page's result has
    that number by dataset.
    """
    names = dict.fromkeys(name for side in sides for name in side.datasets)
    counts = {name: min(side.datasets.count(name) for side in sides) for name in names}
    small = {name: count for name, count in counts.items() if count < ways}
    if not small:
        return page
    each = "" if len(sides) == 1 else " on one side"
    shown = ", ".join(
        f"{name} ({count_of(count, 'class', 'classes')}{each})" for name, count in small.items()
    )
    words = f" Left out, since a {ways}-way task takes the classes of one dataset and these have too few: {shown}."
    return replace(page, finding=page.finding + words, result={**page.result, "left_out": small})
