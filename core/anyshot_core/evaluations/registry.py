"""Further evaluations as plain data and back, and as one line."""

from collections.abc import Sequence
from typing import Any

from anyshot_core.evaluations.evaluation import FurtherEvaluation
from anyshot_core.evaluations.kinds import (
    AnotherPool,
    BaseClasses,
    EachDomain,
    Mixtures,
    NovelClasses,
    Shots,
    UnseenPairs,
    UnseenWriters,
    ValidationClasses,
)
from anyshot_core.protocols.registry import read_settings
from anyshot_core.protocols.task import ProtocolError
from anyshot_core.protocols.text import read_line

EVALUATIONS: dict[str, type[FurtherEvaluation]] = {
    kind.name: kind
    for kind in (
        BaseClasses,
        ValidationClasses,
        NovelClasses,
        Mixtures,
        Shots,
        EachDomain,
        AnotherPool,
        UnseenPairs,
        UnseenWriters,
    )
}


def evaluation_from_dict(data: dict[str, Any]) -> FurtherEvaluation:
    """The evaluation that `data` describes: `name` and its settings; what is missing takes its default.

    Raises:
        ProtocolError: unknown name or setting, or a bad value; says what is allowed.
    """
    kind = EVALUATIONS.get(str(data.get("name", "")))
    if kind is None:
        raise ProtocolError(
            f"Unknown evaluation {data.get('name', '')!r}; there are {', '.join(EVALUATIONS)}."
        )
    return kind.from_settings(read_settings(kind, data, f"Evaluation {kind.name}"))


def evaluations_from_list(rows: Sequence[dict[str, Any]]) -> tuple[FurtherEvaluation, ...]:
    """Several evaluations, in their order. Raises `ProtocolError`, also where two have the same short name."""
    found = tuple(evaluation_from_dict(row) for row in rows)
    names = [one.short_name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ProtocolError(f"{', '.join(twice)}: listed more than once; give each a `key` of its own.")
    return found


def read_evaluations(text: str) -> tuple[FurtherEvaluation, ...]:
    """Several evaluations, one a line. Raises `ProtocolError`."""
    lines = [line for line in text.splitlines() if line.strip()]
    return evaluations_from_list([read_line(line, EVALUATIONS) for line in lines])


def read_evaluation(text: str) -> FurtherEvaluation:
    """Name and settings in one line, as protocols are written: `mixtures steps=0,0.5,1 tasks=40`; or a JSON object.

    Raises ProtocolError.
    """
    return evaluation_from_dict(read_line(text, EVALUATIONS))
