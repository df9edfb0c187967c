"""The tables and figures of the papers, and what reproduces each: read from `papers.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("papers.toml")
NO_RESULT = "no result"  # notation, or settings
STATES = ("done", "stands in", "not possible", NO_RESULT)
OUT = "OUT"


class NoReproduction(ValueError):
    """A table or figure that does not exist, or cannot be reproduced so; the text says what there is."""


@dataclass(frozen=True)
class Item:
    """A table or figure: its state and why, and a `study` of this folder or commands of `anyshot` that reproduce it.

    A study that stands in with something small may have commands of the paper's size beside it (`full`). `as_item` is
    the one that another item is reproduced with.
    """

    paper: str
    item: str
    about: str
    state: str
    why: str = ""
    study: str = ""
    small: tuple[tuple[str, ...], ...] = ()
    full: tuple[tuple[str, ...], ...] = ()
    as_item: str = ""

    @property
    def how(self) -> str:
        """The command that reproduces it; empty where none does."""
        return (
            f'anyshot reproduce {self.paper} "{self.as_item or self.item}"'
            if self.study or self.small
            else ""
        )

    def steps(self, out: Path, *, full: bool) -> list[list[str]]:
        """The arguments of each command. Raises `NoReproduction` for a size that there is not."""
        commands = self.full if full else self.small
        if not commands:
            raise NoReproduction(f"{self.paper}, {self.item} has one size only: leave --full.")
        return [["anyshot", *(word.replace(OUT, str(out)) for word in command)] for command in commands]


@cache
def read_items() -> dict[tuple[str, str], Item]:
    """All items by paper and name."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    found: dict[tuple[str, str], Item] = {}
    for row in data["item"]:
        if "same" in row:
            other = found[row["paper"], row["same"]]
            own = {"item": row["item"], "about": row["about"], "as_item": row["same"]}
            made = Item(**(vars(other) | own))
        else:
            made = Item(**{key: _written(key, value, data["commands"]) for key, value in row.items()})
        found[made.paper, made.item] = made
    return found


def paper_titles() -> Mapping[str, str]:
    """The papers by their short names."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))["papers"]


def find_item(paper: str, item: str) -> Item:
    """The item of that name. Raises `NoReproduction`, naming those that there are."""
    items = read_items()
    if paper not in paper_titles():
        raise NoReproduction(f"There is no paper {paper!r}; there are {', '.join(paper_titles())}.")
    if (paper, item) not in items:
        own = ", ".join(name for of, name in items if of == paper)
        raise NoReproduction(f"{paper} has no {item!r}; there are {own}.")
    found = items[paper, item]
    if not found.how:
        verdict = "prints no result" if found.state == NO_RESULT else "is not possible here"
        raise NoReproduction(f"{paper}, {item} {verdict}: {found.why}.")
    return found


def _written(key: str, value: Any, named: Mapping[str, Sequence[str]]) -> Any:
    """Commands with what they use by name, such as `@quick`, put in."""
    if key not in ("small", "full"):
        return value
    return tuple(
        tuple(part for word in command for part in (named[word[1:]] if word.startswith("@") else (word,)))
        for command in value
    )


def as_lines() -> list[str]:
    """The table of all items, as text."""
    lines = []
    for paper, title in paper_titles().items():
        lines += ["", f"{paper}: {title}"]
        for (of, name), item in read_items().items():
            if of == paper:
                more = f" ({item.why})" if item.why else ""
                lines.append(f"  {name:<18} {item.state:<13} {item.about}{more}")
    states = [item.state for item in read_items().values()]
    total = ", ".join(f"{states.count(state)} {state}" for state in STATES)
    return [*lines[1:], "", f"{len(states)} tables and figures: {total}."]
