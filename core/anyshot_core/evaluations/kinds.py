"""The kinds of further evaluations: each makes the protocols of its tests from those of the phase."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from anyshot_core.evaluations.evaluation import EvaluationPoint, FurtherEvaluation
from anyshot_core.protocols.any_way_any_shot import AnyWayAnyShot, HeldOutDomains
from anyshot_core.protocols.attribute_pairs import AttributePairs
from anyshot_core.protocols.base_novel import MIXINGS, MIXTURE_STEPS, BaseNovel, ClassSide
from anyshot_core.protocols.legacy import Legacy
from anyshot_core.protocols.roles import Roles
from anyshot_core.protocols.splits import CLASS_SPLITS, PARTS
from anyshot_core.protocols.task import Protocol, ProtocolError, Range
from anyshot_core.protocols.within_domain import WithinDomain
from anyshot_core.protocols.writers import Writers

NO_DOMAIN = "no domain"  # the label of the datasets that are of none


@dataclass(frozen=True)
class BaseClasses(FurtherEvaluation):
    """BaseGen of Setlur, Li and Smith (2021): images that were held back of the classes trained on."""

    name: ClassVar[str] = "base"
    title: ClassVar[str] = "Base classes"
    says: ClassVar[str] = "tasks of the classes that were trained on, with images held back"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        return self._one(_side(self.name, roles, "base", "held_back"))


@dataclass(frozen=True)
class ValidationClasses(FurtherEvaluation):
    """Classes that training may validate on, and so choose its learner by."""

    name: ClassVar[str] = "validation"
    title: ClassVar[str] = "Validation classes"
    says: ClassVar[str] = (
        "tasks of the validation classes: where training validates on them, it has chosen by them"
    )
    may_be_validated: ClassVar[bool] = True

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        return self._one(_part(self.name, roles, "meta_valid", "valid"))


@dataclass(frozen=True)
class NovelClasses(FurtherEvaluation):
    """NovelGen: classes that training never sees."""

    name: ClassVar[str] = "novel"
    title: ClassVar[str] = "Novel classes"
    says: ClassVar[str] = "tasks of classes that training never saw"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        return self._one(_part(self.name, roles, "meta_test", "novel"))


@dataclass(frozen=True)
class Mixtures(FurtherEvaluation):
    """P_BN(lambda) of the same paper: from base classes (0) to novel ones (1)."""

    name: ClassVar[str] = "mixtures"
    title: ClassVar[str] = "Base and novel classes mixed"
    says: ClassVar[str] = "a curve over the share of novel classes, from 0 (base) to 1 (novel)"
    axis: ClassVar[str] = "share of novel classes"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"mixing": tuple(MIXINGS)}
    steps: tuple[float, ...] = tuple(MIXTURE_STEPS)
    mixing: str = "weighted"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_distinct(self.name, "steps", self.steps)

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        known = _split_of(self.name, roles)
        return tuple(
            EvaluationPoint(
                f"{step:g}",
                f"λ = {step:g}",
                BaseNovel(novel_share=step, mixing=self.mixing, **known),
                at=step,
            )
            for step in self.steps
        )


@dataclass(frozen=True)
class Shots(FurtherEvaluation):
    """The phase's own tasks with other numbers of labelled images."""

    name: ClassVar[str] = "shots"
    title: ClassVar[str] = "Number of shots"
    says: ClassVar[str] = "the same kind of tasks with so many labelled images a class; one alone is one shot"
    axis: ClassVar[str] = "shots"
    pools: ClassVar[str] = "any"
    numbers: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_distinct(self.name, "numbers", self.numbers)

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        test = _elsewhere(roles.test) if self.pool else _any_number(roles.test)
        shots = getattr(test, "shots", None)
        if shots is None:
            raise ProtocolError(f"{test.name} has no setting `shots` that {self.name} could change.")
        return tuple(
            EvaluationPoint(
                str(number),
                f"{number} shot{'s' * (number > 1)}",
                _with_shots(test, number if isinstance(shots, int) else Range(number, number)),
                at=float(number),
            )
            for number in self.numbers
        )


def _with_shots(protocol: Protocol, shots: int | Range) -> Protocol:
    changed: dict[str, Any] = {"shots": shots}
    return replace(protocol, **changed)


@dataclass(frozen=True)
class EachDomain(FurtherEvaluation):
    """The datasets of one domain after the other: which of those held out of training a learner reaches."""

    name: ClassVar[str] = "domains"
    title: ClassVar[str] = "Each domain"
    says: ClassVar[str] = "the phase's own kind of tasks, of one domain of the test pool at a time"
    pools: ClassVar[str] = "any"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        test = _elsewhere(roles.test) if self.pool else _any_number(roles.test)
        if isinstance(test, HeldOutDomains):
            held_out = test.part == "meta_test"
            domains = [domain for domain in domains if (domain in test.domains) == held_out]
        return tuple(
            EvaluationPoint(key, domain or NO_DOMAIN, test, domain=domain)
            for key, domain in zip(_keys(domains), domains, strict=True)
        )


@dataclass(frozen=True)
class AnotherPool(FurtherEvaluation):
    """The phase's own kind of tasks on other data."""

    name: ClassVar[str] = "pool"
    title: ClassVar[str] = "Another pool"
    says: ClassVar[str] = "the phase's own kind of tasks on the datasets of another pool"
    pools: ClassVar[str] = "other"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        return self._one(_elsewhere(roles.test))


@dataclass(frozen=True)
class UnseenPairs(FurtherEvaluation):
    """Pairs of attributes of the half that training does not show."""

    name: ClassVar[str] = "unseen_pairs"
    title: ClassVar[str] = "Unseen pairs"
    says: ClassVar[str] = "pairs of attributes of which training shows neither"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        train = roles.train
        if not isinstance(train, AttributePairs) or train.among == "all":
            raise ProtocolError(
                f"{self.name} needs training by attribute_pairs among=first or among=second: otherwise no pair is"
                " unseen."
            )
        other = "first" if train.among == "second" else "second"
        like = roles.test if isinstance(roles.test, AttributePairs) else train
        return self._one(replace(like, among=other))


@dataclass(frozen=True)
class UnseenWriters(FurtherEvaluation):
    """Characters by writers of whom training shows nothing."""

    name: ClassVar[str] = "unseen_writers"
    title: ClassVar[str] = "Unseen writers"
    says: ClassVar[str] = "one writer a task, of those whom training never saw"

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        known = next((one for one in _every(roles) if isinstance(one, Writers)), None)
        if known is None:
            raise ProtocolError(
                f"{self.name} needs the protocol writers in training or test: it splits the writers."
            )
        return self._one(replace(known, part="meta_test"))


def _any_number(test: Protocol) -> Protocol:
    """The same kind of tasks by a protocol that has any number of them; that of 2022 has a table of its own."""
    return AnyWayAnyShot(test.ways, test.shots, test.query) if isinstance(test, Legacy) else test


def _elsewhere(test: Protocol) -> Protocol:
    """The same kind of tasks where nothing was trained on: all classes, writers, attributes of a pool are new there."""
    if isinstance(test, BaseNovel):
        return AnyWayAnyShot(test.ways, test.shots, test.query)
    return _any_number(test).on_shown()


def _every(roles: Roles) -> tuple[Protocol | None, ...]:
    return roles.test, roles.train, roles.validation


def _split_of(name: str, roles: Roles) -> dict[str, Any]:
    """Ways, shots, query and the split of classes, of the first protocol that has one."""
    known = next((one for one in _every(roles) if isinstance(one, ClassSide | BaseNovel)), None)
    if known is None:
        raise ProtocolError(
            f"{name} needs classes split into base, validation and novel ones, with images held back: take class_side"
            " or base_novel for training or test."
        )
    shared = {field.name for field in fields(BaseNovel)} & {field.name for field in fields(ClassSide)}
    return {key: getattr(known, key) for key in shared}


def _side(name: str, roles: Roles, side: str, images: str) -> ClassSide:
    return ClassSide(side=side, images=images, **_split_of(name, roles))


def _part(name: str, roles: Roles, part: str, side: str) -> Protocol:
    """That part of whatever splits the classes; `side` is its name in a split with held-back images."""
    within = next((one for one in _every(roles) if isinstance(one, WithinDomain)), None)
    if within is None:
        return _side(name, roles, side, "all")
    if not CLASS_SPLITS[within.split][PARTS.index(part)]:
        raise ProtocolError(
            f"{name}: within_domain split={within.split} has no such classes; take split=70/15/15."
        )
    return replace(within, part=part)


def _require_distinct(name: str, setting: str, numbers: Sequence[float]) -> None:
    if not numbers or len(set(numbers)) < len(numbers):
        raise ProtocolError(
            f"{name}: {setting} must be one or more different numbers; found {list(numbers)}."
        )


def _keys(names: Sequence[str]) -> list[str]:
    """Short names, each once."""
    found: list[str] = []
    for name in names:
        key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "none"
        found.append(key if key not in found else f"{key}-{len(found)}")
    return found
