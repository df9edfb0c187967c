"""The ways to run a baseline, and which of them mean something for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from anyshot_core.baselines import ExperimentBundle, merged_config

PRETRAINED, FIX_ML = "pretrained", "FIX-ML"
_NEEDS = {  # the setting that an arm changes, and what lacks it
    PRETRAINED: ("weights", "it has no network"),
    FIX_ML: ("fixed_supports", "it does not train on tasks"),
}


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run a baseline: the label added to its name, changes to its config.json, files for its zip."""

    label: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    def name(self, baseline: ExperimentBundle) -> str:
        """As tables show it."""
        return f"{baseline.name} ({self.label})" if self.label else baseline.name

    def why_not(self, baseline: ExperimentBundle, settings: str) -> str:
        """Why it would change nothing about a baseline; empty if it would."""
        if not self.label:
            return ""
        if baseline.is_zip:
            return "a zip is run as it is"
        known = setting_names(baseline, settings)
        if not known:
            return "it has no settings"
        wanted, lacking = _NEEDS[self.label]
        return "" if wanted in known else lacking

    def changes_of(self, baseline: ExperimentBundle, settings: str) -> dict[str, Any]:
        """The changes to its config.json: of `method` those that the baseline takes."""
        method = self.changes.get("method", {})
        known = setting_names(baseline, settings) if method and not baseline.is_zip else set()
        return {**self.changes, "method": {key: value for key, value in method.items() if key in known}}


def setting_names(baseline: ExperimentBundle, settings: str) -> set[str]:
    """The keys that its `method` may have: the fields of its settings class, or where it reads its own, those it has.

    None without settings. Raises BadConfig.
    """
    from anyshot_starting_kit.training.settings import declared_settings

    method = merged_config(baseline.source, settings).get("method")
    if method is None:
        return set()
    declared = declared_settings(baseline.source / "model.py")
    return set(method) if declared is None else {field.name for field in fields(declared)}


def make_arms(changes: Mapping[str, Any], weights: Path | None, fix_ml: bool) -> tuple[Arm, ...]:
    """The plain one with changes of `method`, and those with weights and with fixed supports where they are wanted."""
    arms = [Arm("", {"method": changes})]
    if weights is not None:
        arms.append(Arm(PRETRAINED, {"method": {**changes, "weights": weights.name}}, (weights,)))
    if fix_ml:
        arms.append(Arm(FIX_ML, {"method": {**changes, "fixed_supports": True}}))
    return tuple(arms)
