"""A figure that does not exist, with the reason: never a number, never an empty cell."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Undefined:
    """Stands where a figure would, e.g. a correlation with a constant; `reason` is for the reader."""

    reason: str

    def __bool__(self) -> bool:
        return False


def as_json(value: float | Undefined) -> float | dict[str, str]:
    """The number itself, or `{"undefined": reason}`."""
    return {"undefined": value.reason} if isinstance(value, Undefined) else value
