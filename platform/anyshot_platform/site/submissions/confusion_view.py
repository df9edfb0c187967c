"""Which classes a submission mixes up, where the phase allows it."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import cell_map
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.filters import join_texts, percent
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.tables import find_predictions, read_confusion
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.names import DatasetNames, name_datasets, natural
from anyshot_platform.site.shell.chart_data import ChartView
from anyshot_platform.site.submissions.show import find_version
from anyshot_scoring.confusion import Confusion

MOST_DRAWN = 24  # classes in the picture
MOST_LISTED = 20  # mistakes in the table


@dataclass(frozen=True)
class Mistake:
    """One class taken for another."""

    true: str
    predicted: str
    rate: float
    images: int
    out_of: int


@dataclass(frozen=True)
class ConfusionView:
    """One dataset's confusion."""

    label: str
    chart: ChartView
    mistakes: tuple[Mistake, ...]
    right: float


def offers_confusion(session: Session, found: SubmissionAccess) -> bool:
    """Whether there is something to see for a viewer who may see it."""
    version = find_version(session, found.submission) if found.sight.confusion else None
    return version is not None and bool(find_predictions(session, found.submission, version))


@dataclass(frozen=True)
class NamedConfusion:
    """The confusion of a dataset under the name that the viewer knows it by."""

    label: str
    confusion: Confusion


def read_confusions(session: Session, storage: Storage, found: SubmissionAccess) -> list[NamedConfusion]:
    """Of each dataset over all tasks of all runs that count, by label. Raises `NotFound` where there is none to see."""
    version = find_version(session, found.submission)
    if version is None or not found.sight.confusion:
        raise NotFound("This phase does not show which classes are mixed up.")
    known = read_confusion(storage, find_predictions(session, found.submission, version))
    if not known:
        raise NotFound("The predictions are no longer kept.")
    names = name_datasets(session, found.sight.phase, version)
    shown = sorted(known, key=lambda one: _place(names, one.dataset))
    return [NamedConfusion(names.label(one.dataset), one) for one in shown]


def _place(names: DatasetNames, dataset: str) -> tuple[str, int, str]:
    """Datasets in the order of their labels, numbers as numbers."""
    return (*natural(names.label(dataset)), dataset)


def make_view(confusion: Confusion, label: str) -> ConfusionView:
    """The picture and the table; classes by number, since their names may tell what the dataset is."""
    rates = confusion.rates()
    mistakes = confusion.mistakes()
    drawn = _drawn(confusion, mistakes)
    return ConfusionView(
        label=label,
        chart=_chart(confusion, label, drawn),
        mistakes=tuple(
            Mistake(
                true=class_label(confusion, i),
                predicted=class_label(confusion, j),
                rate=float(rates[i, j]),
                images=int(confusion.counts[i, j]),
                out_of=int(confusion.together[i, j]),
            )
            for i, j in mistakes[:MOST_LISTED]
        ),
        right=confusion.right,
    )


def class_label(confusion: Confusion, place: int) -> str:
    """`Class 7`, by its number."""
    return f"Class {class_numbers(confusion)[place]}"


def class_numbers(confusion: Confusion) -> list[int]:
    """Of each class the number that the dataset's pack gives it, from 1."""
    return [int(number) + 1 for number in confusion.classes]


def _drawn(confusion: Confusion, mistakes: list[tuple[int, int]]) -> tuple[int, ...]:
    """Positions of the classes in the picture, ascending: all, or those of the most frequent mistakes."""
    if len(confusion.classes) <= MOST_DRAWN:
        return tuple(range(len(confusion.classes)))
    chosen: dict[int, None] = {}
    for pair in mistakes:
        for place in pair:
            if len(chosen) < MOST_DRAWN:
                chosen[place] = None
    return tuple(sorted(chosen))


def _chart(confusion: Confusion, label: str, drawn: tuple[int, ...]) -> ChartView:
    """The shares of the classes that are drawn, as cells and as a table."""
    labels = [class_label(confusion, place) for place in drawn]
    rates = confusion.rates()[np.ix_(drawn, drawn)]
    true, taken = "True class", "Taken for"
    data = cell_map(rates, labels, labels, x=taken, y=true, cell="Rate")
    rows = tuple(
        (name, *("" if np.isnan(rate) else percent(rate) for rate in found))
        for name, found in zip(labels, rates, strict=True)
    )
    return ChartView(f"Confusion on {label}", data, (true, *labels), rows, _note(confusion, drawn))


def _note(confusion: Confusion, drawn: tuple[int, ...]) -> str:
    left_out = len(drawn) < len(confusion.classes)
    return join_texts(
        (
            (
                "Rows are true classes, columns what they were taken for. A cell is a share of those "
                "images that could have been: those in tasks with both classes; empty where the two "
                "never met."
            ),
            (
                (
                    f"The chart has the {len(drawn)} of {len(confusion.classes)} classes that are "
                    "mixed up most."
                )
                if left_out
                else ""
            ),
        )
    )
