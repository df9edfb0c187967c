"""Datasets of a pool that have too few classes for a task: a report on the others says so."""

from __future__ import annotations

from dataclasses import replace

from anyshot_analysis.features import Features
from anyshot_analysis.pages import ReportPage
from anyshot_core.words import count_of


def say_left_out(page: ReportPage, features: Features, ways: int) -> ReportPage:
    """The page, its finding ending with the datasets that have fewer than `ways` classes, and so no task of their own.

    `left_out` of its result has their number of classes by name.
    """
    counts = {name: features.datasets.count(name) for name in dict.fromkeys(features.datasets)}
    small = {name: count for name, count in counts.items() if count < ways}
    if not small:
        return page
    names = ", ".join(f"{name} ({count_of(count, 'class', 'classes')})" for name, count in small.items())
    words = (
        f" Left out, since a {ways}-way task takes the classes of one dataset and these have too few: {names}."
    )
    return replace(page, finding=page.finding + words, result={**page.result, "left_out": small})
