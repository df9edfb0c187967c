"""Further evaluations: what each tests on, what it needs, and that it never tests what was trained on."""

from pathlib import Path

import pytest

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import (
    EVALUATIONS,
    evaluation_from_dict,
    evaluations_from_list,
    pool_part,
    read_evaluation,
)
from anyshot_core.evaluations.evaluation import domains_of
from anyshot_core.protocols import AttributePairs, ProtocolError, Roles, read_protocol
from tests.core.protocols.test_roles import packs  # noqa: F401 - a fixture

SPLIT = "ways=2 shots=1 query=2 held_back=0.4"
SIDES = Roles(
    read_protocol(f"class_side side=novel images=all {SPLIT}"),
    read_protocol(f"class_side side=base {SPLIT}"),
    read_protocol(f"class_side side=valid images=all {SPLIT}"),
)
ATTRIBUTES = "least_images=4 shots=1 query=2"
WRITERS = "sizes=6,3,3"
FITTING = {
    "base": SIDES,
    "validation": SIDES,
    "novel": SIDES,
    "mixtures steps=0,0.5,1": SIDES,
    "shots numbers=1,3": SIDES,
    "domains": SIDES,
    "pool pool=elsewhere": SIDES,
    "unseen_pairs": Roles(
        read_protocol(f"attribute_pairs among=second {ATTRIBUTES}"),
        read_protocol(f"attribute_pairs among=second {ATTRIBUTES}"),
    ),
    "unseen_writers": Roles(
        read_protocol(f"writers {WRITERS}"), read_protocol(f"writers part=meta_train {WRITERS}")
    ),
}


def test_every_kind_is_tried_here() -> None:
    assert [text.split()[0] for text in FITTING] == list(EVALUATIONS)


@pytest.mark.seconds("draws thousands of tasks")
@pytest.mark.parametrize("text", FITTING)
def test_its_tasks_can_be_drawn_and_hold_no_image_that_was_trained_on(
    text: str,
    packs: tuple[Path, ...],  # noqa: F811
) -> None:
    """Every point draws its tasks; none of their rows is among those that training shows."""
    evaluation, roles, pool = read_evaluation(text), FITTING[text], Pool.open(packs)
    train = pool
    if evaluation.pool:
        train, pool = Pool.open(packs[:1]), Pool.open(packs[1:])
    evaluation.check(roles, train, train, pool)
    points = evaluation.points(roles, domains_of(pool))
    assert points and len({point.key for point in points}) == len(points)
    for point in points:
        part = pool_part(pool, point)
        for spec in point.protocol.tasks(part, 3, 6):
            pack = part[spec.dataset]
            assert roles.train is not None
            if isinstance(
                roles.train, AttributePairs
            ):  # the images are the same by design, the attributes are not
                names = [name for name in pack.annotations if pack.is_binary(name)]
                assert not {names[c] for c in spec.classes} & set(roles.train.shown_annotations(pack))
                continue
            if evaluation.pool:
                assert pack.name not in {trained.name for trained in train}
                continue
            shown = roles.train.shown_rows(pack)
            assert shown is not None and not set(shown.tolist()) & set(spec.rows.tolist())


def test_a_curve_goes_from_base_to_novel_classes(packs: tuple[Path, ...]) -> None:  # noqa: F811
    """At 0 all classes are base classes, at 1 none is; a domain's point has datasets of that domain alone."""
    pool = Pool.open(packs)
    first, _, last = read_evaluation("mixtures steps=0,0.5,1").points(SIDES, domains_of(pool))
    (base,) = read_evaluation("base").points(SIDES, ())
    (novel,) = read_evaluation("novel").points(SIDES, ())
    for mixed, side in ((first, base), (last, novel)):
        known = {int(c) for d in range(len(pool)) for c in side.protocol.classes(pool, d)}  # type: ignore[attr-defined]
        assert {int(c) for spec in mixed.protocol.tasks(pool, 1, 20) for c in spec.classes} <= known
    assert [(point.at, point.label) for point in (first, last)] == [(0.0, "λ = 0"), (1.0, "λ = 1")]
    points = read_evaluation("domains").points(SIDES, domains_of(pool))
    assert [[pack.domain for pack in pool_part(pool, point)] for point in points] == [
        ["Plants"],
        ["Vehicles"],
    ]


def test_a_curve_over_shots_has_tasks_with_so_many(packs: tuple[Path, ...]) -> None:  # noqa: F811
    pool = Pool.open(packs)
    points = read_evaluation("shots numbers=1,3").points(SIDES, domains_of(pool))
    found = [{spec.shots for spec in point.protocol.tasks(pool, 1, 6)} for point in points]
    assert found == [{1}, {3}] and [point.at for point in points] == [1.0, 3.0]


@pytest.mark.parametrize(("text", "part"), [("novel", "meta_test"), ("validation", "meta_valid")])
def test_of_a_split_without_held_back_images_its_parts_are_taken(text: str, part: str) -> None:
    (point,) = read_evaluation(text).points(Roles(read_protocol("within_domain split=70/15/15")), ())
    assert point.protocol == read_protocol(f"within_domain split=70/15/15 part={part}")


@pytest.mark.parametrize(("part", "kept"), [("meta_test", ["Plants"]), ("meta_train", ["Small animals", ""])])
def test_each_domain_that_is_tested_has_a_point(part: str, kept: list[str]) -> None:
    roles = Roles(read_protocol(f"held_out_domains domains=Plants part={part}"))
    points = read_evaluation("domains").points(roles, ("Plants", "Small animals", ""))
    assert [point.domain for point in points] == kept


def test_domains_that_are_written_alike_have_keys_of_their_own() -> None:
    roles = Roles(read_protocol("any_way_any_shot"))
    points = read_evaluation("domains").points(roles, ("Small animals", "small-animals", ""))
    assert [(point.key, point.label) for point in points] == [
        ("small-animals", "Small animals"),
        ("small-animals-1", "small-animals"),
        ("none", "no domain"),
    ]


def test_a_curve_has_not_more_points_than_a_page_can_show() -> None:
    numbers = ",".join(map(str, range(1, 42)))
    with pytest.raises(ProtocolError, match="found 41 points; there may be 40"):
        read_evaluation(f"shots numbers={numbers}").points(Roles(read_protocol("any_way_any_shot")), ())


def test_of_another_pool_nothing_is_mixed() -> None:
    """A mixture of base and novel classes says nothing of data that nobody trained on: all classes there are new."""
    roles = Roles(read_protocol("base_novel ways=2 shots=1 query=2"))
    (point,) = read_evaluation("pool pool=elsewhere").points(roles, ())
    assert point.protocol == read_protocol("any_way_any_shot ways=2 shots=1 query=2")


def test_of_another_pool_all_classes_are_tested(packs: tuple[Path, ...]) -> None:  # noqa: F811
    """All of them are new to a learner, whatever the split of the phase's own pool."""
    pool = Pool.open(packs)
    (point,) = read_evaluation("pool pool=elsewhere").points(SIDES, domains_of(pool))
    seen = {(spec.dataset, int(c)) for spec in point.protocol.tasks(pool, 1, 200) for c in spec.classes}
    assert seen == {(d, c) for d in range(len(pool)) for c in range(len(pool[d].classes))}


@pytest.mark.parametrize(
    ("roles", "text", "words"),
    [
        ("any_way_any_shot", "base", "take class_side or base_novel"),
        ("any_way_any_shot", "novel", "take class_side or base_novel"),
        ("within_domain", "validation", "take split=70/15/15"),
        ("any_way_any_shot", "unseen_pairs", "among=first"),
        ("any_way_any_shot", "unseen_writers", "the protocol writers"),
        ("writers", "shots", "has no setting `shots`"),
    ],
)
def test_what_it_needs_is_said(roles: str, text: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        read_evaluation(text).points(Roles(read_protocol(roles)), ("Plants",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere", "there are base, validation, novel"),
        ("pool", "needs a pool"),
        ("base pool=x", "leave `pool` out"),
        ("mixtures steps=0,0", "different numbers"),
        ("shots tasks=1", "at least 2"),
        ("shots key=A/B", "small letters"),
        ("shots ways=5", "has no setting ways"),
        ("shots numbers=one", "'one' is no tuple"),
    ],
)
def test_a_wrong_description_says_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        read_evaluation(text)


def test_data_and_text_are_the_same_and_names_are_unique() -> None:
    one = read_evaluation("mixtures steps=0,1 tasks=40 key=ends")
    assert evaluation_from_dict(one.to_dict()) == one and one.short_name == "ends"
    with pytest.raises(ProtocolError, match="mixtures: listed more than once"):
        evaluations_from_list([{"name": "mixtures"}, {"name": "mixtures", "tasks": 20}])


def test_what_was_trained_on_is_refused(packs: tuple[Path, ...]) -> None:  # noqa: F811
    """The phase's own pool is split; the same data as another pool, trained on as a whole, is not."""
    pool, free = Pool.open(packs), Roles(read_protocol("any_way_any_shot ways=2 shots=1 query=2"))
    with pytest.raises(ProtocolError, match="would be trained on"):
        read_evaluation("pool pool=seen").check(free, pool, Pool.open(packs[:1]), pool)
    with pytest.raises(ProtocolError, match="would be validated on"):
        swapped = Roles(SIDES.validation or SIDES.test, SIDES.train, SIDES.test)
        read_evaluation("novel").check(swapped, pool, pool, pool)
