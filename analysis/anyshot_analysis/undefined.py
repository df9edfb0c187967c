"""Values that do not exist: a reason instead of a number.

A quantity that a definition does not cover (a correlation of a constant side, CCA of fewer examples than
neurons) is returned as an `Undefined`, never as NaN, zero or one, so that it can neither be averaged by
accident nor printed as a result.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

from anyshot_scoring.undefined import Undefined

__all__ = ["Quantity", "Undefined", "UndefinedQuantity", "as_json", "defined_only", "is_defined", "require"]

Quantity = float | Undefined


class UndefinedQuantity(ValueError):
    """Raised by `require` where a caller cannot go on without a number."""


def is_defined(value: Quantity) -> TypeGuard[float]:
    """Whether `value` is a number."""
    return not isinstance(value, Undefined)


def require(value: Quantity, what: str) -> float:
    """The number, or UndefinedQuantity with the reason."""
    if isinstance(value, Undefined):
        raise UndefinedQuantity(f"{what} is undefined: {value.reason}")
    return value


def defined_only(values: Iterable[Quantity]) -> tuple[list[float], list[str]]:
    """The numbers among `values`, and the reasons of the others: both are to be reported."""
    numbers: list[float] = []
    reasons: list[str] = []
    for value in values:
        if isinstance(value, Undefined):
            reasons.append(value.reason)
        else:
            numbers.append(float(value))
    return numbers, reasons


def as_json(value: Quantity) -> Any:
    """A number, or `{"undefined": reason}`: the form of an undefined value in every result file."""
    return {"undefined": value.reason} if isinstance(value, Undefined) else float(value)
