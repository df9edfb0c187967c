"""The ways to run a baseline, and which of them mean something for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyshot_core.baselines import Baseline, merged_config

PRETRAINED, FIX_ML = "pretrained", "FIX-ML"


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run a baseline: the label added to its name, changes to its config.json, files for its zip."""

    label: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    def name(self, baseline: Baseline) -> str:
        """As tables show it."""
        return f"{baseline.name} ({self.label})" if self.label else baseline.name

    def why_not(self, baseline: Baseline, settings: str) -> str:
        """Why it would change nothing about a baseline; empty if it would."""
        if not self.label:
            return ""
        if baseline.is_zip:
            return "a zip is run as it is"
        config = merged_config(baseline.source, settings)
        if "method" not in config:
            return "it has no settings"
        on_tasks = config.get("train_data_format", "task") == "task" and baseline.mentions("train_on_tasks")
        return "" if self.label != FIX_ML or on_tasks else "it does not train on tasks"


def make_arms(changes: Mapping[str, Any], weights: Path | None, fix_ml: bool) -> tuple[Arm, ...]:
    """The plain one with changes of `method`, and those with weights and with fixed supports where they are wanted."""
    arms = [Arm("", {"method": changes})]
    if weights is not None:
        arms.append(Arm(PRETRAINED, {"method": {**changes, "weights": weights.name}}, (weights,)))
    if fix_ml:
        arms.append(Arm(FIX_ML, {"method": {**changes, "fixed_supports": True}}))
    return tuple(arms)
