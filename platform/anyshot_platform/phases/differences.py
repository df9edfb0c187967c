"""What differs between two descriptions of a phase, and which of it decides what a score is."""

from __future__ import annotations

from typing import Any

from anyshot_platform.bundles.columns import with_split_seed
from anyshot_platform.bundles.schema import PhaseSpec


def keep_split(spec: PhaseSpec, old: PhaseSpec) -> PhaseSpec:
    """The description with the secret split of its datasets that it leaves out."""
    protocol = with_split_seed(spec.tasks.protocol, old.tasks.protocol)
    return spec.model_copy(update={"tasks": spec.tasks.model_copy(update={"protocol": protocol})})


def scoring_changes(old: PhaseSpec, new: PhaseSpec) -> list[str]:
    """The settings that decide what a score is and differ between two descriptions."""
    changed: list[str] = []
    for part in ("tasks", "scoring", "budget", "machine"):
        before, after = getattr(old, part).model_dump(), getattr(new, part).model_dump()
        for key in before:
            kept = key in ("train_seeds", "test_seeds") and not after[key]  # left out: stays as it is
            chooses = (part, key) in (("scoring", "board_shows"), ("scoring", "team_chooses"))
            if before[key] != after[key] and not kept and not chooses:
                changed.append(f"{part}.{key}")
    return [name for name in changed if name != "tasks.same_test_tasks"]


def difference(one: PhaseSpec, other: PhaseSpec) -> dict[str, Any]:
    """What is different in `one`, without seeds."""
    mine, theirs = one.model_dump(mode="json"), other.model_dump(mode="json")
    for side in (mine, theirs):
        side["tasks"].pop("train_seeds", None)
        side["tasks"].pop("test_seeds", None)
        side["tasks"]["protocol"].pop("split_seed", None)
    return {key: value for key, value in mine.items() if theirs[key] != value}
