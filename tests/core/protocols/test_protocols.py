"""Each protocol against its definition: disjoint, balanced, capped, addressable, the same everywhere."""

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from anyshot_core.data.layout import Annotation
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import (
    NUMBER_MAKERS,
    PROTOCOLS,
    AnyWayAnyShot,
    AttributePairs,
    BaseNovel,
    ClassSide,
    FixedSupports,
    FixedWaysShots,
    Gaussians,
    HeldOutDomains,
    Protocol,
    ProtocolError,
    Range,
    TaskSpec,
    WithinDomain,
    Writers,
    protocol_from_dict,
    read_protocol,
)
from anyshot_core.protocols.attribute_pairs import HAS_BOTH, bipartition, feasible_pairs, unseen_pairs
from anyshot_core.protocols.base_novel import draw_by_coin, draw_by_weight
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.splits import CLASS_SPLITS, cut, split_classes, split_writers
from tests.core.data.factory import bare_pack, bare_pool

POOL = bare_pool((20, 40), (19, 40), (6, 43), (40, 60))


def assert_sound(pool: Pool, task: TaskSpec, query: int) -> None:
    """Distinct classes; labels fit rows; support and query disjoint, balanced and shuffled."""
    pack = pool[task.dataset]
    assert len(set(task.classes.tolist())) == task.ways == len(task.classes)
    assert np.array_equal(task.classes[task.support_labels], pack.labels[task.support])
    assert np.array_equal(task.classes[task.query_labels], pack.labels[task.query])
    assert len(set(task.rows.tolist())) == task.ways * (task.shots + query)
    assert np.bincount(task.support_labels).tolist() == [task.shots] * task.ways
    assert np.bincount(task.query_labels).tolist() == [query] * task.ways
    for array in (task.classes, task.support, task.support_labels, task.query, task.query_labels):
        assert array.dtype == np.int64


BALANCED: list[tuple[Protocol, int]] = [
    (AnyWayAnyShot(), 20),
    (FixedWaysShots(), 20),
    (HeldOutDomains(domains=("domain 1", "domain 2")), 20),
    (WithinDomain(ways=Range(2, 5)), 20),
    (WithinDomain(ways=Range(2, 5), split="70/15/15", part="meta_train", shots=Range(1, 5)), 20),
    (ClassSide(ways=Range(2, 3)), 15),
    (ClassSide(ways=Range(2, 2), side="novel", images="all", shares=(0.4, 0.2, 0.4)), 15),
    (ClassSide(ways=Range(2, 3), images="held_back", shots=Range(1, 1), query=5), 5),
    (BaseNovel(ways=Range(2, 2), shots=Range(1, 1), query=5, shares=(0.5, 0.0, 0.5)), 5),
    (FixedSupports(ways=Range(2, 3)), 15),
]


@pytest.mark.parametrize(
    ("protocol", "query"), BALANCED, ids=[f"{p.name}-{i}" for i, (p, _) in enumerate(BALANCED)]
)
def test_tasks_are_sound_and_addressable(protocol: Protocol, query: int) -> None:
    protocol.check(POOL)
    in_order = list(protocol.tasks(POOL, 5, 24))
    for task in in_order:
        assert_sound(POOL, task, query)
    for index in (23, 0, 11):
        assert protocol.task(POOL, 5, index).equals(in_order[index])
    assert not protocol.task(POOL, 6, 0).equals(in_order[0])
    assert protocol_from_dict(protocol.to_dict()) == protocol
    assert protocol_from_dict(protocol.to_dict()).task(POOL, 5, 3).equals(in_order[3])


def test_every_protocol_has_a_plain_form() -> None:
    required = {"held_out_domains": {"domains": ["OCR"]}}
    for name, kind in PROTOCOLS.items():
        protocol = protocol_from_dict({"name": name, **required.get(name, {})})
        assert type(protocol) is kind and name not in NUMBER_MAKERS
        assert protocol_from_dict(protocol.to_dict()) == protocol


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "nonsense"}, "Unknown protocol 'nonsense'; there are any_way_any_shot"),
        ({"name": "gaussians"}, "makes numbers and draws no images"),
        ({"name": "any_way_any_shot", "way": 5}, "has no setting way; it has ways, shots, query"),
        ({"name": "any_way_any_shot", "ways": [5, 2]}, "1 <= low <= high; found 5 to 2"),
        ({"name": "any_way_any_shot", "ways": "five"}, "found 'five'"),
        ({"name": "any_way_any_shot", "query": "x"}, "found 'x'"),
        ({"name": "fixed", "ways": [2, 5]}, "one number of ways"),
        (
            {"name": "within_domain", "split": "thirds"},
            "split must be one of halves, 70/15/15, 64/16/20; found 'thirds'",
        ),
        ({"name": "within_domain", "part": "meta_valid"}, "part must be one of meta_train, meta_test"),
        ({"name": "held_out_domains"}, "at least one domain"),
        ({"name": "base_novel", "novel_share": 1.5}, "novel_share must be from 0 to 1"),
        ({"name": "base_novel", "mixing": "stirred"}, "weighted, coin; found 'stirred'"),
    ],
)
def test_bad_settings_say_what_is_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        protocol_from_dict(settings)
    assert message in str(refused.value)


# Any-way any-shot


def test_every_dataset_gets_the_same_number_of_tasks() -> None:
    tasks = list(AnyWayAnyShot().tasks(POOL, 1, 400))
    assert Counter(task.dataset for task in tasks) == dict.fromkeys(range(4), 100)
    for start in range(0, 400, 4):
        assert sorted(task.dataset for task in tasks[start : start + 4]) == [0, 1, 2, 3]
    assert len({tuple(task.dataset for task in tasks[start : start + 4]) for start in range(0, 400, 4)}) == 24


def test_ways_and_shots_cover_their_ranges_and_caps() -> None:
    tasks = list(AnyWayAnyShot().tasks(POOL, 2, 1600))
    ways = [{task.ways for task in tasks if task.dataset == d} for d in range(4)]
    assert ways == [set(range(2, 21)), set(range(2, 20)), set(range(2, 7)), set(range(2, 21))]
    assert {task.shots for task in tasks} == set(range(1, 21))
    short = bare_pool((5, 24))
    assert {task.shots for task in AnyWayAnyShot().tasks(short, 1, 60)} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("wanted", "most", "left"),
    [
        ((2, 20), 40, (2, 20)),
        ((2, 20), 19, (2, 19)),
        ((22, 25), 20, (17, 20)),  # shifts down by its width
        ((22, 45), 20, (2, 20)),  # but not below two ways
        ((30, 30), 19, (19, 19)),  # a fixed number is capped
    ],
)
def test_capping(wanted: tuple[int, int], most: int, left: tuple[int, int]) -> None:
    capped = Range(*wanted).capped(most, least=2)
    assert (capped.low, capped.high) == left


def test_tasks_are_the_same_everywhere() -> None:
    """Pinned: a change of one draw would change every hidden task of every phase."""
    state = hashlib.sha256()
    for task in AnyWayAnyShot().tasks(bare_pool((20, 40), (19, 2000), (6, 41)), 7, 200):
        for array in (task.classes, task.support, task.support_labels, task.query, task.query_labels):
            state.update(array.astype("<i8").tobytes())
    assert state.hexdigest() == "a2ec9900666f8304e409c65f1405abd6abb3c29a1dc49e59586ada41df687d0c"


def test_tasks_do_not_depend_on_the_hash_seed_of_python(tmp_path: Path) -> None:
    code = (
        "from anyshot_core.protocols import AnyWayAnyShot\n"
        "from tests.core.data.factory import bare_pool\n"
        "print(AnyWayAnyShot().task(bare_pool((20, 40), (9, 50)), 3, 5999).rows.tolist())"
    )
    root = Path(__file__).parents[3]
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = AnyWayAnyShot().task(bare_pool((20, 40), (9, 50)), 3, 5999).rows.tolist()
    assert answers == {f"{here}\n".encode()}


def test_neither_names_nor_pixels_decide_a_task() -> None:
    labels = np.repeat(np.arange(8), 40)
    one, other = Pool([bare_pack(labels, "one")]), Pool([bare_pack(labels, "other")])
    assert AnyWayAnyShot().task(one, 1, 2).equals(AnyWayAnyShot().task(other, 1, 2))


def test_what_a_pool_cannot_offer_is_refused_by_name() -> None:
    with pytest.raises(
        ProtocolError, match=r"D0 .*found 20 images in a class; expected at least 21 \(1 shots \+ 20"
    ):
        AnyWayAnyShot().check(bare_pool((5, 20)))
    with pytest.raises(ProtocolError, match=r"D0 .*found 20 images"):
        AnyWayAnyShot().task(bare_pool((5, 20)), 1, 0)
    with pytest.raises(ProtocolError, match="found 1 classes; expected at least 2"):
        AnyWayAnyShot().task(bare_pool((1, 50)), 1, 0)
    with pytest.raises(ProtocolError, match=r"D2 .*found 6 classes; expected at least 7"):
        FixedWaysShots(ways=Range(7, 7)).check(POOL)


def test_a_list_in_a_line_may_be_written_in_brackets() -> None:
    """The names were read with brackets and quotes, and no dataset has such a domain."""
    for domains in ("OCR,large animals".replace(" ", "_"), '["OCR","large_animals"]', "[OCR, large_animals]"):
        assert read_protocol(f"held_out_domains domains={domains} ways=5").to_dict()["domains"] == [
            "OCR",
            "large_animals",
        ]
    named = read_protocol('held_out_domains domains=["large animals", "OCR"]')
    assert named == HeldOutDomains(domains=("large animals", "OCR"))


def test_held_out_domains_share_no_dataset() -> None:
    held_out = ("domain 1", "domain 3")
    test = {task.dataset for task in HeldOutDomains(domains=held_out).tasks(POOL, 1, 40)}
    train = {task.dataset for task in HeldOutDomains(domains=held_out, part="meta_train").tasks(POOL, 1, 40)}
    assert (train, test) == ({0, 2}, {1, 3})
    with pytest.raises(ProtocolError, match="the pool has the domains domain 0, domain 1"):
        HeldOutDomains(domains=("OCR",)).task(POOL, 1, 0)


# Within a domain


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ("halves", {"meta_train": 10, "meta_test": 10}),
        ("70/15/15", {"meta_train": 14, "meta_valid": 3, "meta_test": 3}),
        ("64/16/20", {"meta_train": 13, "meta_valid": 3, "meta_test": 4}),
    ],
)
def test_class_splits_are_disjoint_and_complete(split: str, sizes: dict[str, int]) -> None:
    parts = {part: WithinDomain(split=split, part=part).classes(POOL, 0).tolist() for part in sizes}
    assert {part: len(classes) for part, classes in parts.items()} == sizes
    assert sorted(c for classes in parts.values() for c in classes) == list(range(20))
    assert WithinDomain(split=split, split_seed=1).classes(POOL, 0).tolist() != parts["meta_test"]


def test_a_hundred_classes_are_split_as_those_of_mini_imagenet() -> None:
    """64 base, 16 validation and 20 novel classes."""
    parts = cut(np.arange(100), CLASS_SPLITS["64/16/20"])
    assert [len(part) for part in parts] == [64, 16, 20]


def test_a_split_does_not_depend_on_the_pool_around_the_dataset() -> None:
    alone = POOL.subset([3])
    assert WithinDomain().classes(alone, 0).tolist() == WithinDomain().classes(POOL, 3).tolist()


def test_tasks_stay_on_their_side_of_the_split() -> None:
    for part in ("meta_train", "meta_test"):
        protocol = WithinDomain(ways=Range(2, 5), part=part)
        for task in protocol.tasks(POOL, 9, 40):
            assert set(task.classes) <= set(protocol.classes(POOL, task.dataset))


def test_a_part_with_too_few_classes_is_refused() -> None:
    with pytest.raises(
        ProtocolError, match=r"D2 .*found 3 classes in meta_test \(halves\); expected at least 5"
    ):
        WithinDomain().check(POOL)


# Base, validation and novel classes


def test_trained_and_held_back_images_are_disjoint() -> None:
    trained, held = ClassSide(), ClassSide(images="held_back")
    assert trained.classes(POOL, 0).tolist() == held.classes(POOL, 0).tolist()
    for c in range(20):
        a, b = trained.rows(POOL[0], c), held.rows(POOL[0], c)
        assert (len(a), len(b)) == (32, 8)
        assert sorted([*a, *b]) == POOL[0].class_rows[c].tolist()


def test_sides_are_disjoint() -> None:
    sides = [set(ClassSide(side=side).classes(POOL, 3).tolist()) for side in ("base", "valid", "novel")]
    assert [len(side) for side in sides] == [20, 10, 10]
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]


def test_a_mixture_takes_held_back_images_of_base_classes_only() -> None:
    pool = POOL.subset([3])
    protocol = BaseNovel(shots=Range(1, 1), query=5)
    base, _, novel = split_classes(pool[0], protocol.shares, 0)
    seen = set()
    for task in protocol.tasks(pool, 1, 60):
        for c in task.classes:
            side = "novel" if c in novel else "base"
            assert c in (novel if side == "novel" else base)
            rows = set(task.rows[pool[0].labels[task.rows] == c].tolist())
            assert side == "novel" or rows <= set(ClassSide(images="held_back").rows(pool[0], c).tolist())
            seen.add(side)
    assert seen == {"base", "novel"}


def enumerate_weighted(base: int, novel: int, ways: int, share: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Exact probability of each ordered tuple, by following every branch of the definition."""
    weight = [(1 - share) / base] * base + [share / novel] * novel
    branches: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(ways):
        longer: dict[tuple[int, ...], Fraction] = {}
        for chosen, probability in branches.items():
            left = [c for c in range(base + novel) if c not in chosen]
            total = sum(weight[c] for c in left)
            for c in left:
                longer[(*chosen, c)] = probability * weight[c] / total
        branches = longer
    return branches


def frequencies(
    draw: Callable[..., Any], base: int, novel: int, ways: int, share: Fraction, rounds: int
) -> Counter[tuple[int, ...]]:
    draws = Draws("mixture", str(share))
    return Counter(tuple(draw(draws, base, novel, ways, share)) for _ in range(rounds))


def chi_square(
    found: Counter[tuple[int, ...]], wanted: dict[tuple[int, ...], Fraction], rounds: int
) -> float:
    assert set(found) <= {key for key, p in wanted.items() if p > 0}
    return sum(
        (found[key] - rounds * float(p)) ** 2 / (rounds * float(p)) for key, p in wanted.items() if p > 0
    )


def test_weighted_mixture_has_the_probabilities_of_its_definition() -> None:
    share = Fraction(3, 10)
    wanted = enumerate_weighted(3, 2, 2, share)
    assert sum(wanted.values()) == 1
    found = frequencies(draw_by_weight, 3, 2, 2, share, 6000)
    assert chi_square(found, wanted, 6000) < 19 + 5 * np.sqrt(2 * 19)


def test_weighted_mixture_is_uniform_at_the_share_of_novel_classes() -> None:
    wanted = enumerate_weighted(3, 2, 2, Fraction(2, 5))
    assert set(wanted.values()) == {Fraction(1, 20)}
    found = frequencies(draw_by_weight, 3, 2, 2, Fraction(2, 5), 6000)
    assert chi_square(found, wanted, 6000) < 19 + 5 * np.sqrt(2 * 19)


def test_coin_mixture_has_a_binomial_number_of_novel_classes() -> None:
    rounds, share = 6000, Fraction(1, 5)
    draws = Draws("coin")
    novel = Counter(sum(c >= 6 for c in draw_by_coin(draws, 6, 6, 3, share)) for _ in range(rounds))
    for k, probability in enumerate((0.512, 0.384, 0.096, 0.008)):
        spread = np.sqrt(rounds * probability * (1 - probability))
        assert abs(novel[k] - rounds * probability) < 4.5 * spread


@pytest.mark.parametrize(("share", "mixing", "side"), [(0.0, "weighted", "base"), (1.0, "coin", "novel")])
def test_a_side_that_runs_out_is_an_error(share: float, mixing: str, side: str) -> None:
    pool = bare_pool((8, 60))  # 4 base, 2 validation, 2 novel
    protocol = BaseNovel(novel_share=share, mixing=mixing, shots=Range(1, 1), query=5)
    with pytest.raises(ProtocolError, match=f"5 ways need more {side} classes"):
        protocol.task(pool, 1, 0)
    with pytest.raises(ProtocolError, match=f"{side} classes; expected at least 5"):
        protocol.check(pool)


# FIX-ML


def test_fixed_supports_never_change_and_the_query_does() -> None:
    protocol = FixedSupports(ways=Range(3, 3), shots=5, query=10)
    pool = POOL.subset([0])
    supports: dict[int, set[int]] = {}
    queries: dict[int, set[int]] = {}
    for task in protocol.tasks(pool, 4, 120):
        for label, c in enumerate(task.classes.tolist()):
            support = set(task.support[task.support_labels == label].tolist())
            assert supports.setdefault(c, support) == support
            queries.setdefault(c, set()).update(task.query[task.query_labels == label].tolist())
    assert set(supports) == set(ClassSide().classes(pool, 0).tolist())
    for c, support in supports.items():
        trained = set(ClassSide().rows(pool[0], c).tolist())
        assert support <= trained
        assert queries[c] == trained - support  # after a dozen draws, all of the rest was seen
    assert protocol.support(pool[0], 3).tolist() != replace(protocol, fix_seed=1).support(pool[0], 3).tolist()


def test_fixed_supports_with_the_query_of_the_paper() -> None:
    protocol = FixedSupports(ways=Range(3, 3), shots=5, query=20, query_from="all")
    overlap = [len(set(task.support) & set(task.query)) for task in protocol.tasks(POOL.subset([0]), 4, 20)]
    assert sum(overlap) > 0


# Attribute pairs


def attribute_pool() -> Pool:
    random = np.random.RandomState(3)
    table = random.rand(400, 6) < 0.4
    table[:, 5] = False
    table[:7, 5] = True  # too rare for any pair
    pack = bare_pack(np.arange(400) % 4, "shoes")
    columns = {f"a{k}": Annotation.of([str(int(v)) for v in table[:, k]]) for k in range(6)}
    columns["maker"] = Annotation.of([f"m{i % 3}" for i in range(400)])
    return Pool([replace(pack, meta=pack.meta.model_copy(update={"annotations": columns}))])


def attribute_table(pool: Pool) -> np.ndarray:
    return np.column_stack([pool[0].annotations[f"a{k}"] for k in range(6)]).astype(bool)


def test_attribute_pairs_ask_for_both() -> None:
    pool = attribute_pool()
    table = attribute_table(pool)
    protocol = AttributePairs()
    protocol.check(pool)
    for task in protocol.tasks(pool, 1, 40):
        both = np.asarray(table[:, task.classes].all(axis=1))
        assert both[task.support[task.support_labels == HAS_BOTH]].all()
        assert not both[task.support[task.support_labels != HAS_BOTH]].any()
        assert np.array_equal(both[task.query], task.query_labels == HAS_BOTH)
        assert len(set(task.rows.tolist())) == 2 * (5 + 15)
        assert 5 not in task.classes
    assert len({tuple(task.classes.tolist()) for task in protocol.tasks(pool, 1, 400)}) == 5 * 4


def test_feasible_pairs_are_counted_as_defined() -> None:
    table = attribute_table(attribute_pool())
    by_hand = [
        (a, b)
        for a in range(6)
        for b in range(6)
        if a != b and 20 <= (table[:, a] & table[:, b]).sum() <= len(table) - 20
    ]
    assert [tuple(pair) for pair in feasible_pairs(table).tolist()] == by_hand


def test_a_finite_number_of_training_tasks_is_fixed() -> None:
    pool = attribute_pool()
    protocol = AttributePairs(distinct_tasks=3)
    tasks = list(protocol.tasks(pool, 1, 6))
    for index in range(3):
        assert replace(tasks[index + 3], index=index).equals(tasks[index])
    pairs = {frozenset(task.classes.tolist()) for task in tasks}
    expected = sum(frozenset(t.classes.tolist()) not in pairs for t in AttributePairs().tasks(pool, 2, 200))
    assert unseen_pairs(pool, protocol, 1, AttributePairs(), 2, 200) == expected > 0


def test_bipartition_parts_what_does_not_occur_together() -> None:
    random = np.random.RandomState(0)
    left, right = random.rand(200, 4) < 0.6, random.rand(200, 3) < 0.6
    table = np.zeros((400, 7), dtype=bool)
    table[:200, [0, 2, 4, 6]] = left
    table[200:, [1, 3, 5]] = right
    table[0] = True  # one image has everything, or the graph falls apart
    first, second = bipartition(table)
    assert (first.tolist(), second.tolist()) == ([0, 2, 4, 6], [1, 3, 5])


def test_a_pack_without_attributes_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"annotation_columns in info\.json"):
        AttributePairs().check(POOL)


# Writers


def writer_pool(writers: int = 30) -> Pool:
    random = np.random.RandomState(5)
    labels = np.concatenate([np.arange(10), random.randint(0, 10, 1990)])
    pack = bare_pack(labels, "hands")
    column = Annotation.of([f"w{w:03}" for w in random.randint(0, writers, 2000)])
    return Pool([replace(pack, meta=pack.meta.model_copy(update={"annotations": {"WRITER": column}}))])


def test_a_task_is_one_writer_with_all_their_classes() -> None:
    pool = writer_pool()
    codes, labels = pool[0].annotations["WRITER"], pool[0].labels
    protocol = Writers(sizes=(20.0, 5.0, 5.0))
    writers = []
    for task in protocol.tasks(pool, 1, 5):
        (writer,) = set(codes[task.rows].tolist())
        writers.append(writer)
        counts = np.bincount(labels[codes == writer], minlength=10)
        assert sorted(task.classes.tolist()) == np.flatnonzero(counts >= 2).tolist()
        assert np.array_equal(task.classes[task.query_labels], labels[task.query])
        assert np.bincount(task.support_labels).tolist() == [1] * task.ways
        assert np.bincount(task.query_labels).tolist() == (counts[task.classes] - 1).tolist()
        assert not set(task.support) & set(task.query)
    assert sorted(writers) == split_writers(30, (20, 5, 5), 0)[2].tolist()  # each once before any comes again


def test_writers_are_split_as_femnist() -> None:
    parts = split_writers(3585, (2509, 538, 538), 0)
    assert [len(part) for part in parts] == [2509, 538, 538]
    assert len(np.unique(np.concatenate(parts))) == 3585


# Gaussians


def test_gaussian_classes_and_points_are_what_the_benchmark_says() -> None:
    benchmark = Gaussians(mean_of_means=2.0, sd_of_means=3.0, mean_of_sds=1.5, sd_of_sds=0.01)
    means, sds = benchmark.classes()
    assert abs(means.mean() - 2) < 4 * 3 / 10
    assert 2.3 < means.std() < 3.8
    assert abs(sds.mean() - 1.5) < 0.01
    points = benchmark.values().reshape(100, 1000)
    assert points.dtype == np.float32
    assert np.abs(points.mean(axis=1) - means).max() < 5 * 1.5 / np.sqrt(1000)
    assert np.abs(points.std(axis=1) / sds - 1).max() < 0.15
    assert not np.array_equal(benchmark.values(), replace(benchmark, part="meta_train").values())


def test_gaussian_tasks_point_into_their_classes() -> None:
    benchmark = Gaussians(query=7)
    for task in benchmark.tasks(1, 10):
        assert (task.ways, task.shots) == (5, 10)
        assert np.array_equal(task.support // 1000, task.classes[task.support_labels])
        assert np.array_equal(task.query // 1000, task.classes[task.query_labels])
        assert len(set(task.rows.tolist())) == 5 * 17


def test_gaussians_need_enough_classes() -> None:
    assert {task.ways for task in Gaussians().tasks(0, 3)} == {5}
    with pytest.raises(ProtocolError, match="fewer classes or points"):
        Gaussians(count=4)


def test_settings_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ProtocolError, match=r"shares must be three numbers .*found \[0.5, 0.5\]"):
        ClassSide(shares=(0.5, 0.5))
    with pytest.raises(ProtocolError, match="Shares must not be negative and not all zero"):
        cut(np.arange(4), (0.5, -0.5))
    endless, nothing_is_read = AttributePairs(), cast(Pool, None)
    with pytest.raises(ProtocolError, match="only for a finite number of training tasks"):
        unseen_pairs(nothing_is_read, endless, 0, endless, 0, 5)


def test_where_all_attributes_or_writers_are_left_the_tasks_are_of_all_of_them() -> None:
    assert AttributePairs(among="first").on_shown().among == "all"
    shown = Writers(part="meta_test").on_shown()
    assert (shown.part, shown.sizes) == ("meta_train", (1.0, 0.0, 0.0))
