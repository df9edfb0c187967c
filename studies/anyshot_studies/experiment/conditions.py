"""Which settings of the competition paper experiments have, from what was run."""

from collections.abc import Sequence
from typing import Any

from anyshot_core.data.domains import meta_album_set
from anyshot_core.report.published_values import as_conditions
from anyshot_studies.experiment.facts import (
    PROTOCOLS,
    SEEDS,
    SETTINGS,
    SHOTS,
    TASKS,
    TESTED,
    TRAINED,
    WAYS,
    Facts,
    names_in,
    range_words,
    split_of,
    tasks_a_dataset,
)

PAPERS_SETTINGS = ("paper", "pretrained", "within", "within-pretrained")  # files of the baselines
ACROSS, WITHIN = (range_words(2, 20), range_words(1, 20)), ("5", "5")  # ways and shots
SPLIT = "70/15/15"


def conditions_of_experiments(facts: Sequence[Facts]) -> dict[str, Any]:
    """Of what was run: the settings of the competition paper that the experiments have."""

    def each(name: str, of: Sequence[Facts] = facts) -> list[str]:
        return list(dict.fromkeys(own.get(name, "not said") for own in of))

    settings, tested, seeds = each(SETTINGS), each(TESTED), each(SEEDS)
    own = all(one in PAPERS_SETTINGS for one in settings)  # without a change by --set
    across = [one for one in facts if not split_of(one)]
    trained = each(TRAINED, across)
    return as_conditions(
        {
            "settings of the competition paper": (own, "; ".join(settings)),
            "the paper's tasks": (
                all(map(_has_papers_tasks, facts)),
                "; ".join(dict.fromkeys(map(_tasks, facts))),
            ),
            "Set-0 to learn from across domains": (
                all(_is_set(0, names_in(one, TRAINED)) for one in across),
                "; ".join(trained) or "within domains alone",
            ),
            "the ten datasets of Set-1": (
                all(_is_set(1, names_in(one, TESTED)) for one in facts),
                "; ".join(tested),
            ),
            "three runs": (all(len(names_in(one, SEEDS)) >= 3 for one in facts), f"seeds {'; '.join(seeds)}"),
            "100 tasks a dataset and run": (
                all(tasks_a_dataset(one) >= 100 for one in facts),
                "; ".join(each(TASKS)),
            ),
        }
    )


def _is_set(number: int, names: Sequence[str]) -> bool:
    return sorted(names) == sorted(meta_album_set(number))


def _tasks(facts: Facts) -> str:
    """In words: of which shapes, and of what where it is neither any-way any-shot tasks nor a usual split."""
    shapes = f"{facts.get(WAYS, 'not said')} ways, {facts.get(SHOTS, 'not said')} shots"
    return ", ".join(filter(None, [shapes, split_of(facts), facts.get(PROTOCOLS, "")]))


def _has_papers_tasks(facts: Facts) -> bool:
    """Any-way any-shot tasks across domains, 5-way 5-shot tasks within one; validation is the settings' own."""
    shapes = (facts.get(WAYS), facts.get(SHOTS))
    if split_of(facts):
        return shapes == WITHIN and split_of(facts) == SPLIT
    return shapes == ACROSS and PROTOCOLS not in facts
