"""Which settings of the competition paper experiments have, from what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyshot_core.data.domains import meta_album_set
from anyshot_core.report.published import as_conditions

Facts = Mapping[str, str]  # as `report.facts_of` writes them
PAPERS_SETTINGS = ("paper", "pretrained", "within", "within-pretrained")  # files of the baselines
ACROSS, WITHIN = ("2 to 20", "1 to 20"), ("5", "5")  # ways and shots
SPLIT = "each within itself (70/15/15)"


def conditions_of_experiments(facts: Sequence[Facts]) -> dict[str, Any]:
    """Of what was run: the settings of the competition paper that the experiments have."""

    def each(name: str, of: Sequence[Facts] = facts) -> list[str]:
        return list(dict.fromkeys(own.get(name, "not said") for own in of))

    settings, tested, seeds = each("Settings"), each("Tested on"), each("Seeds")
    own = all(one in PAPERS_SETTINGS for one in settings)  # without a change by --set
    trained = each("Trained on", [one for one in facts if not _is_within(one)])
    return as_conditions(
        {
            "settings of the competition paper": (own, "; ".join(settings)),
            "the paper's tasks": (
                all(map(_has_papers_tasks, facts)),
                "; ".join(dict.fromkeys(map(_tasks, facts))),
            ),
            "Set-0 to learn from across domains": (
                all(_is_set(0, one) for one in trained),
                "; ".join(trained) or "within domains alone",
            ),
            "the ten datasets of Set-1": (all(_is_set(1, one) for one in tested), "; ".join(tested)),
            "three runs": (all(len(one.split(",")) >= 3 for one in seeds), f"seeds {'; '.join(seeds)}"),
            "100 tasks a dataset and run": (
                all(_tasks_a_dataset(one) >= 100 for one in facts),
                "; ".join(each("Tasks")),
            ),
        }
    )


def _is_set(number: int, names: str) -> bool:
    return sorted(names.split(", ")) == sorted(meta_album_set(number))


def _is_within(facts: Facts) -> bool:
    return "each within itself" in facts.get("Data", "")


def _tasks(facts: Facts) -> str:
    """In words: of which shapes, and of what where it is neither any-way any-shot tasks nor a usual split."""
    shapes = f"{facts.get('Ways', 'not said')} ways, {facts.get('Shots', 'not said')} shots"
    split = facts.get("Data", "").partition("(")[2].rstrip(")")
    return ", ".join(filter(None, [shapes, split, facts.get("Protocols", "")]))


def _has_papers_tasks(facts: Facts) -> bool:
    """Any-way any-shot tasks across domains, 5-way 5-shot tasks within one; validation is the settings' own."""
    shapes = (facts.get("Ways"), facts.get("Shots"))
    if _is_within(facts):
        return shapes == WITHIN and facts["Data"].endswith(SPLIT)
    return shapes == ACROSS and "Protocols" not in facts


def _tasks_a_dataset(facts: Facts) -> float:
    """Of one run; across domains the tasks are spread over all datasets."""
    number, _, words = facts.get("Tasks", "0").partition(" ")
    return int(number) if "dataset" in words else int(number) / len(facts.get("Tested on", "").split(", "))
