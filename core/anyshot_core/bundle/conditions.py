"""Where a zip is to run, as far as its checks have to know it."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class RunConditions:
    """What is known of the runs that a zip is for; None: that is not known.

    `train_datasets` is the number of meta-training datasets; `importable` what `import` finds in the sandbox beside
    Python's own modules, None: what the image of this release has; `gpus` how many a run gets; `awaited` the packages,
    `name==version`, of an image that no worker has yet.
    """

    train_datasets: int | None = None
    importable: frozenset[str] | None = None
    gpus: int | None = None
    awaited: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        importable = None if self.importable is None else sorted(self.importable)
        return {
            "train_datasets": self.train_datasets,
            "importable": importable,
            "gpus": self.gpus,
            "awaited": list(self.awaited),
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """What `to_dict` made."""
        importable = told["importable"]
        read = {
            "importable": None if importable is None else frozenset(importable),
            "awaited": tuple(told["awaited"]),
        }
        return cls(**{**told, **read})


UNKNOWN = RunConditions()
