"""What tests need of protocols and packs that the protocols' own checks do not look at. It draws no task."""

from collections.abc import Iterable, Sequence

from anyshot_core.data.pack import Pack
from anyshot_core.protocols.base_novel import BaseNovel, ClassSide
from anyshot_core.protocols.fixed_supports import FixedSupports
from anyshot_core.protocols.legacy import Legacy
from anyshot_core.protocols.roles import Roles
from anyshot_core.protocols.splits import split_classes
from anyshot_core.protocols.task import Protocol, ProtocolError, Range

# What the protocols' own checks say that they counted, so that readers of other languages find it in theirs.
COUNTED = ("images in a class", "training images in a class")
_LEAST = {"ways": 2, "shots": 1, "query": 1}
_SIDES = ("base", "valid", "novel")
_Sided = ClassSide | BaseNovel | FixedSupports


def require_scorable(protocol: Protocol) -> None:
    """Raise `ProtocolError` where a task could have one class alone, no support or no query: it has no score."""
    for name, least in _LEAST.items():
        asked = getattr(protocol, name, None)
        found = asked.low if isinstance(asked, Range) else asked
        if found is not None and found < least:
            raise ProtocolError(f"{name} must be at least {least} in tasks that are scored; found {found}.")


def require_drawn(protocol: Protocol, datasets: int, count: int) -> None:
    """Raise `ProtocolError` where a protocol has fewer than `count` tasks: `legacy` alone has an end."""
    if isinstance(protocol, Legacy) and count > datasets * protocol.tasks_per_dataset:
        raise _other_number(protocol, datasets, count)


def require_spread(protocol: Protocol, datasets: int, count: int, *, each_dataset: bool = False) -> None:
    """Raise `ProtocolError` where `count` tasks are not spread over all datasets.

    `legacy` has those of one dataset after those of the other; any other protocol takes the datasets in turn. With
    `each_dataset` every dataset has a learner of its own, which needs a task.
    """
    if isinstance(protocol, Legacy) and count != datasets * protocol.tasks_per_dataset:
        raise _other_number(protocol, datasets, count)
    if each_dataset and count < datasets:
        raise ProtocolError(
            f"Dataset by dataset, each dataset needs a task: found {count} for {datasets} datasets."
        )


def _other_number(protocol: Legacy, datasets: int, count: int) -> ProtocolError:
    each, there = protocol.tasks_per_dataset, datasets * protocol.tasks_per_dataset
    return ProtocolError(
        f"legacy takes one dataset after the other, and tasks_per_dataset {each} makes {there} tasks of this pool; "
        f"found {count}. Set the number of tasks to {there}, or another tasks_per_dataset."
    )


def divides_into_sides(roles: Roles) -> bool:
    """Whether one of the protocols divides the classes of each dataset into base, validation and novel ones."""
    return any(isinstance(one, _Sided) for one in (roles.test, roles.train, roles.validation))


def require_sides(
    roles: Roles, train: Iterable[Pack], test: Iterable[Pack], validation: Iterable[Pack] | None = None
) -> None:
    """Raise `ProtocolError` where a side that is trained, validated or tested on has no class in some dataset.

    `validation` are the packs that validation chooses from, by default those to train on. Ask before any protocol is
    asked for rows: of a side without classes it cannot tell them.
    """
    trained, tests = list(train), list(test)
    tested = {pack.content_digest for pack in tests}
    for pack in trained:
        require_trained_side(roles, pack, tested=pack.content_digest in tested)
    for pack in trained if validation is None else validation:
        _require_class(roles.validation, pack)
    for pack in tests:
        _require_class(roles.test, pack)


def require_trained_side(roles: Roles, pack: Pack, *, tested: bool) -> None:
    """The same of what is trained on of one pack; `tested` is whether it is in the meta-test pool too."""
    if roles.train is not None:
        _require_class(roles.train, pack)
    elif tested:
        _require_class(roles.test, pack, ("base",))


def _require_class(protocol: Protocol | None, pack: Pack, of: Sequence[str] = ()) -> None:
    """One of the sides `of`, by default of those that the protocol shows, has a class."""
    if not isinstance(protocol, _Sided):
        return
    sides = of or _shown_sides(protocol)
    parts = split_classes(pack, protocol.shares, protocol.split_seed)
    if not any(len(part) for side, part in zip(_SIDES, parts, strict=False) if side in sides):
        asked, shares = " or ".join(sides), ", ".join(f"{share:g}" for share in protocol.shares)
        raise ProtocolError(
            f"{pack.name}: found 0 {asked} classes among {len(pack.classes)}, by {protocol.name} with the shares "
            f"{shares}. Leave the dataset out of the pool, or name other shares."
        )


def _shown_sides(protocol: Protocol) -> Sequence[str]:
    if isinstance(protocol, ClassSide):
        return (protocol.side,)
    return ("base", "novel") if isinstance(protocol, BaseNovel) else ("base",)
