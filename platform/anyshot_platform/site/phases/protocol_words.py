"""A phase's task protocol in words: what a task is, and how many classes and images it has."""

from collections.abc import Iterator, Mapping
from typing import Any

from anyshot_core.protocols import PROTOCOLS
from anyshot_platform.foundation.filters import count, decimal, join_texts

_NAMES = {
    "any_way_any_shot": "any-way any-shot, cross-domain",
    "fixed": "fixed ways and shots",
    "held_out_domains": "held-out domains",
    "within_domain": "within-domain",
    "legacy": "any-way any-shot, as drawn in 2022",
    "class_side": "classes split into base and novel ones",
    "base_novel": "base and novel classes together",
    "fixed_supports": "fixed support sets",
    "attribute_pairs": "pairs of attributes",
    "writers": "one task per writer",
}
# Which part of its datasets a protocol shows, where it divides them.
_SHOWN = {
    "side": {
        "base": "base classes",
        "valid": "validation classes",
        "novel": "novel classes",
    },
    "part": {
        "meta_train": "the training part",
        "meta_valid": "the validation part",
        "meta_test": "the test part",
    },
    "among": {
        "first": "the first half of the attributes",
        "second": "the second half of the attributes",
    },
}


def _shown(protocol: Mapping[str, Any]) -> Iterator[str]:
    for setting, words in _SHOWN.items():
        if found := words.get(str(protocol.get(setting))):
            yield found


def _counts(protocol: Mapping[str, Any]) -> Iterator[str]:
    least, most = _range(protocol.get("ways"))
    if least is not None:
        ways = f"{least} to {most} ways"
        yield count(least, "way") if least == most else ways
    least, most = _range(protocol.get("shots"))
    if least is not None:
        shots = f"{least} to {most} shots"
        yield count(least, "shot") if least == most else shots
    if isinstance(protocol.get("query"), int):
        yield (
            "1 query image per class"
            if protocol["query"] == 1
            else f"{decimal(protocol['query'])} query images per class"
        )


def protocol_words(protocol: Mapping[str, Any]) -> str:
    """Its name, what it shows, ways, shots and query images, from what its dictionary says."""
    name = str(protocol.get("name", ""))
    return join_texts(
        [_NAMES.get(name, name.replace("_", " ")), *_shown(protocol), *_counts(protocol)], by=", "
    )


def _range(value: Any) -> tuple[int | None, int | None]:
    """A number, or the least and the most of one."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return value[0], value[1]
    return (value, value) if isinstance(value, int) else (None, None)


def task_words(protocol: Mapping[str, Any]) -> str:
    """The sentence that the form of a phase says of the protocol; nothing for one that this release does not know."""
    kind = PROTOCOLS.get(str(protocol.get("name", "")))
    return (kind.__doc__ or "").strip().partition("\n")[0] if kind else ""
