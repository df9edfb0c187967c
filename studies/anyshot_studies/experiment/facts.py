"""What was run in words, by the names under which a report's page, its stored facts and their readers have it."""

from collections.abc import Mapping, Sequence

Facts = Mapping[str, str]

DATA, TRAINED, TESTED, TASKS, SEEDS = "Data", "Trained on", "Tested on", "Tasks", "Seeds"
PROTOCOLS, WAYS, SHOTS, SETTINGS, COMMAND = "Protocols", "Ways", "Shots", "Settings", "Command"
OWN_CONFIG = "config.json"  # where no file of settings lies over a bundle's own
_WITHIN = ", each within itself ("
_BY_DATASET = "a dataset and seed"


def data_words(generated: bool, split: str) -> str:
    """What data there were, and how each dataset was split; `split` is empty across domains."""
    kind = "Generated data" if generated else "Public datasets"
    return f"{kind}{_WITHIN}{split})" if split else kind


def split_of(facts: Facts) -> str:
    """How each dataset was split; empty across domains."""
    return facts.get(DATA, "").partition(_WITHIN)[2].removesuffix(")")


def tasks_words(tasks: int, split: str) -> str:
    """How many tasks a run has, or each dataset of it where each is split."""
    return f"{tasks} {_BY_DATASET if split else 'a seed'}"


def tasks_a_dataset(facts: Facts) -> float:
    """Of one run; across domains the tasks are spread over all datasets."""
    words = facts.get(TASKS, "0")
    number = int(words.partition(" ")[0])
    return number if words.endswith(_BY_DATASET) else number / len(names_in(facts, TESTED))


def names_words(names: Sequence[str]) -> str:
    """Names in a row."""
    return ", ".join(names)


def names_in(facts: Facts, name: str) -> list[str]:
    """Those that stand under a name, at least one."""
    return facts.get(name, "").split(", ")


def range_words(low: int, high: int) -> str:
    """A number, or from one to another."""
    return str(low) if low == high else f"{low} to {high}"


def settings_words(settings: str, changes: Mapping[str, object]) -> str:
    """The file of settings and what was changed by hand."""
    return names_words([settings or OWN_CONFIG, *(f"{key} {value}" for key, value in changes.items())])


def settings_of(facts: Sequence[Facts]) -> list[str]:
    """The files of settings that lay over the bundles' own, each once."""
    named = [names_in(one, SETTINGS)[0] for one in facts]
    return sorted({name for name in named if name and name != OWN_CONFIG})
