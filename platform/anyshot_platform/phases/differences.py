"""What differs between two descriptions of a phase, and which of it decides what a score is."""

from __future__ import annotations

from typing import Any

from anyshot_platform.bundles.schema import PhaseSpec


def keep_secrets(spec: PhaseSpec, old: PhaseSpec) -> PhaseSpec:
    """The description with the secrets that it leaves out: key, seeds for as many runs, split of the same protocol."""
    tasks, known = spec.tasks, old.tasks
    kept: dict[str, Any] = {"key": tasks.key or known.key}
    for name in ("train_seeds", "test_seeds"):
        if not getattr(tasks, name) and len(getattr(known, name)) == spec.scoring.runs and tasks.key is None:
            kept[name] = getattr(known, name)
    if "test_seeds" in kept:
        kept["query_order"] = known.query_order
    if "split_seed" in known.protocol and known.protocol.get("name") == tasks.protocol.get("name"):
        kept["protocol"] = {"split_seed": known.protocol["split_seed"], **tasks.protocol}
    return spec.model_copy(update={"tasks": tasks.model_copy(update=kept)})


def scoring_changes(old: PhaseSpec, new: PhaseSpec) -> list[str]:
    """The settings that decide what a score is and differ between two descriptions."""
    changed: list[str] = []
    for part in ("tasks", "scoring", "budget", "machine"):
        before, after = getattr(old, part).model_dump(), getattr(new, part).model_dump()
        for key in before:
            kept = key in ("train_seeds", "test_seeds", "key") and not after[key]  # left out: stays as it is
            chooses = (part, key) in (("scoring", "board_shows"), ("scoring", "team_chooses"))
            if before[key] != after[key] and not kept and not chooses:
                changed.append(f"{part}.{key}")
    shared = new.tasks.test_seeds or new.scoring.runs == old.scoring.runs == 1
    return [name for name in changed if name != "tasks.same_test_tasks" or not shared]


def difference(one: PhaseSpec, other: PhaseSpec) -> dict[str, Any]:
    """What is different in `one`, without secrets."""
    mine, theirs = one.model_dump(mode="json"), other.model_dump(mode="json")
    for side in (mine, theirs):
        side["tasks"].pop("train_seeds", None)
        side["tasks"].pop("test_seeds", None)
        side["tasks"].pop("key", None)
        side["tasks"]["protocol"].pop("split_seed", None)
    return {key: value for key, value in mine.items() if theirs[key] != value}
