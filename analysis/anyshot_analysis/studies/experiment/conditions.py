"""Which settings of the competition paper experiments have, from what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyshot_core.data.domains import meta_album_set
from anyshot_core.report.published import as_conditions

PAPERS_SETTINGS = ("paper", "pretrained", "within", "within-pretrained")  # files of the baselines


def conditions_of_experiments(facts: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Of what was run: the settings of the competition paper that the experiments have."""

    def each(name: str) -> list[str]:
        return list(dict.fromkeys(own.get(name, "not said") for own in facts))

    settings, tested, seeds = each("Settings"), each("Tested on"), each("Seeds")
    own = all(one in PAPERS_SETTINGS for one in settings)  # without a change by --set
    return as_conditions(
        {
            "settings of the competition paper": (own, "; ".join(settings)),
            "the ten datasets of Set-1": (
                all(sorted(one.split(", ")) == sorted(meta_album_set(1)) for one in tested),
                "; ".join(tested),
            ),
            "three runs": (all(len(one.split(",")) >= 3 for one in seeds), f"seeds {'; '.join(seeds)}"),
            "100 tasks a dataset and run": (
                all(_tasks_a_dataset(one) >= 100 for one in facts),
                "; ".join(each("Tasks")),
            ),
        }
    )


def _tasks_a_dataset(facts: Mapping[str, str]) -> float:
    """Of one run; across domains the tasks are spread over all datasets."""
    number, _, words = facts.get("Tasks", "0").partition(" ")
    return int(number) if "dataset" in words else int(number) / len(facts.get("Tested on", "").split(", "))
