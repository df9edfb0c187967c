"""The words that are declared with what they describe, and not where they are shown, stand in the catalogue too.

Settings of descriptions with their choices, task protocols, further evaluations, metrics, reports, and acts with their
buttons.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from itertools import chain
from types import ModuleType
from typing import Any

from anyshot_core.evaluations import EVALUATIONS, NO_DOMAIN
from anyshot_core.metric_titles import METRIC_TITLES
from anyshot_core.protocols import PROTOCOLS
from anyshot_platform import operations, organizers
from anyshot_platform.acts.declaration import Act
from anyshot_platform.acts.service import said_title
from anyshot_platform.organizers.reports.catalogue import KINDS
from anyshot_platform.phases.description import PhaseSpec
from anyshot_platform.site.described.form import Card, Options, cards_of
from anyshot_platform.site.phases.protocol_form import cards

Words = tuple[str, str]  # where they are declared, and the words


def words() -> Iterator[Words]:
    """All of them, those that are said twice twice."""
    declared = (
        of_settings(),
        of_protocols(),
        of_evaluations(),
        of_metrics(),
        of_reports(),
        of_acts(all_acts()),
    )
    found = chain.from_iterable(declared)
    return (pair for pair in found if pair[1])


def of_settings() -> Iterator[Words]:
    """What the form of a phase says."""
    for card in _cards():
        yield from _at("phases/description.py", (card.title, card.words))
        for field in card.fields:
            yield from _at("phases/description.py", (field.setting.title, field.setting.meaning))
            yield from _at("phases/states.py", (said for _, said in field.setting.choices))


def _cards() -> list[Card]:
    offered: dict[str, Options] = dict.fromkeys(("pools", "phases", "rules", "hardware", "images"), ())
    phase = PhaseSpec.model_validate(
        {"key": "a", "title": "a", "start": "2026-01-01", "entries": {"phase": "b"}}
    )
    return cards_of(phase, title="Name and time", offered=offered)


def of_protocols() -> Iterator[Words]:
    """What the form of a task protocol says; it has one for each role."""
    for kind, card in zip(PROTOCOLS.values(), cards({}), strict=True):
        place = f"{kind.__module__.replace('.', '/')}.py"
        yield from _at(place, (card.words, *(field.label for field in card.fields)))


def of_metrics() -> Iterator[Words]:
    """What the columns of a board are called."""
    yield from _at("anyshot_core/metric_titles.py", METRIC_TITLES.values())


def of_evaluations() -> Iterator[Words]:
    """What each further evaluation is called, and what is said of it where one is added."""
    for kind in EVALUATIONS.values():
        yield from _at(f"{kind.__module__.replace('.', '/')}.py", (kind.title, kind.says, kind.axis))
    yield from _at("anyshot_core/evaluations/kinds.py", (NO_DOMAIN,))


def of_reports() -> Iterator[Words]:
    """What the page of reports says of each."""
    for kind in KINDS.values():
        hints = (text for setting in kind.settings for text in (setting.label, setting.hint))
        yield from _at("organizers/reports/catalogue.py", (kind.title, kind.about, *hints))


def of_acts(found: Iterable[Act[Any]]) -> Iterator[Words]:
    """Titles, buttons, how each act is taken back, and who reads its reason."""
    for act in sorted(found, key=lambda act: act.key):
        said = (said_title(act), act.undo, act.reason, act.button.label if act.button else "")
        yield from _at("acts/" + act.key.partition(".")[0], said)


def all_acts() -> list[Act[Any]]:
    """Every act that a module of organizers or operations holds, by itself or among others under their names."""
    modules = (module for package in (organizers, operations) for module in _modules(package))
    values = (value for module in modules for value in vars(module).values())
    held = (one for value in values for one in (value.values() if isinstance(value, dict) else (value,)))
    return list({id(act): act for act in held if isinstance(act, Act)}.values())


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def _at(place: str, found: Iterable[str]) -> Iterator[Words]:
    return ((place, text) for text in found)
