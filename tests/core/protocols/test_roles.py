"""What may be trained, validated and tested on: never the same images, and no secret of a split where code runs."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import (
    PROTOCOLS,
    AnyWayAnyShot,
    AttributePairs,
    BaseNovel,
    ClassSide,
    FixedSupports,
    HeldOutDomains,
    Legacy,
    Protocol,
    ProtocolError,
    Range,
    Roles,
    WithinDomain,
    Writers,
    read_protocol,
)
from anyshot_core.protocols.cutting import Shown, cut_packs, write_cut
from anyshot_core.report.protocol_lines import write_protocol
from anyshot_starting_kit.runner.generators import apply_wishes, make_generators
from tests.core.tinydata import write_dataset

TWO, ONE = Range(2, 2), Range(1, 1)
WRITERS, ATTRIBUTES = 12, ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Two datasets of two domains, 14 classes of 14 images; each image has a writer and four attributes."""
    folder, made = tmp_path_factory.mktemp("roles"), []
    for seed, domain in enumerate(("Plants", "Vehicles")):
        source = write_dataset(folder / domain.upper(), classes=14, images=14, seed=seed)
        annotate(source, domain, np.random.default_rng(seed))
        made.append(pack_dataset(source, folder / f"{domain}.anyshot-pack").path)
    return tuple(made)


def annotate(source: Path, domain: str, random: np.random.Generator) -> None:
    """Give each image a writer and attributes, and the dataset its domain."""
    rows = list(csv.reader((source / "labels.csv").read_text().splitlines()))
    extra = [["WRITER", *ATTRIBUTES]]
    extra += [[f"w{random.integers(WRITERS)}", *(int(x) for x in random.random(4) < 0.7)] for _ in rows[1:]]
    with (source / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(row + more for row, more in zip(rows, extra, strict=True))
    info = json.loads((source / "info.json").read_text())
    info |= {"annotation_columns": ["WRITER", *ATTRIBUTES], "domain": domain}
    (source / "info.json").write_text(json.dumps(info))


def side(role: str, images: str) -> ClassSide:
    return ClassSide(ways=TWO, shots=ONE, query=2, side=role, images=images)


def within(part: str) -> WithinDomain:
    return WithinDomain(ways=TWO, shots=ONE, query=2, split="70/15/15", part=part)


SIZES = (6.0, 3.0, 3.0)
FREE = AnyWayAnyShot(TWO, ONE, 2)
DIVIDED: dict[str, Roles] = {
    "within_domain": Roles(within("meta_test"), within("meta_train"), within("meta_valid")),
    "class_side": Roles(side("novel", "all"), side("base", "trained"), side("valid", "all")),
    "base_gen": Roles(side("base", "held_back"), side("base", "trained")),
    "mixture": Roles(BaseNovel(ways=TWO, shots=ONE, query=2), side("base", "trained")),
    "fixed_supports": Roles(side("novel", "all"), FixedSupports(ways=TWO, shots=1, query=2)),
    "writers": Roles(
        Writers(sizes=SIZES), Writers(sizes=SIZES, part="meta_train"), Writers(sizes=SIZES, part="meta_valid")
    ),
    "held_out_domains": Roles(
        HeldOutDomains(TWO, ONE, 2, domains=("Plants",)),
        HeldOutDomains(TWO, ONE, 2, domains=("Plants",), part="meta_train"),
    ),
}


def cut(roles: Roles, packs: tuple[Path, ...], folder: Path) -> Shown:
    roles.require_no_leak(Pool.open(packs), Pool.open(packs))
    return cut_packs(roles, packs, lambda _: True, write_cut(folder))


def pictures(pool: Pool, rows: list[tuple[int, int]]) -> set[bytes]:
    return {pool[dataset].images[row].tobytes() for dataset, row in rows}


def drawn(pool: Pool, protocol: Protocol, tasks: int = 12) -> set[bytes]:
    """The images of some tasks."""
    specs = protocol.tasks(pool, 5, tasks)
    return pictures(pool, [(spec.dataset, int(row)) for spec in specs for row in spec.rows])


@pytest.mark.seconds("draws thousands of tasks")
@pytest.mark.parametrize("name", DIVIDED)
def test_what_is_shown_can_be_trained_on_and_is_never_tested(
    name: str, packs: tuple[Path, ...], tmp_path: Path
) -> None:
    """The cut packs hold no image of any test task; tasks are drawn from them without the secret of the split."""
    roles = DIVIDED[name]
    shown = cut(roles, packs, tmp_path)
    tested = drawn(Pool.open(packs), roles.test, 60)
    for paths, protocol in ((shown.train, roles.train), (shown.validation, roles.validation)):
        if protocol is None:
            continue
        pool, own = Pool.open(paths), protocol.on_shown()
        every = pictures(pool, [(d, row) for d in range(len(pool)) for row in range(len(pool[d]))])
        assert every and not every & tested
        assert drawn(pool, own) <= every
        assert own.to_dict().get("split_seed", 0) == 0
    if roles.validation is not None:
        assert not drawn(Pool.open(shown.train), roles.train.on_shown()) & drawn(  # type: ignore[union-attr]
            Pool.open(shown.validation), roles.validation.on_shown()
        )


@pytest.mark.parametrize("part", ["meta_train", "meta_test"])
def test_a_held_out_domain_is_trained_on_by_nobody(
    part: str, packs: tuple[Path, ...], tmp_path: Path
) -> None:
    """Also where the phase names no training protocol, and where its dataset is not among those tested."""
    test = HeldOutDomains(TWO, ONE, 2, domains=("Plants",))
    train = None if part == "meta_test" else HeldOutDomains(TWO, ONE, 2, domains=("Plants",), part=part)
    for tested in (True, False):
        shown = cut_packs(Roles(test, train), packs, lambda _, t=tested: t, write_cut(tmp_path))
        assert [Pack.open(path).domain for path in shown.train] == ["Vehicles"]
    with pytest.raises(ProtocolError, match="nothing is left to train on"):
        cut_packs(Roles(test), packs[:1], lambda _: True, write_cut(tmp_path))


def test_unseen_attributes_stay_unseen(packs: tuple[Path, ...], tmp_path: Path) -> None:
    """Pairs of one half are trained on: of the other half's attributes the packs hold nothing."""
    roles = Roles(AttributePairs(1, 2, "second", 5), AttributePairs(1, 2, "first", 5, distinct_tasks=3))
    shown = cut(roles, packs, tmp_path)
    for path, whole in zip(shown.train, packs, strict=True):
        hidden = roles.test.shown_annotations(Pack.open(whole))
        kept = set(Pack.open(path).annotations)
        assert kept and hidden and not kept & hidden and "WRITER" not in kept
    pool, own = Pool.open(shown.train), roles.train.on_shown()  # type: ignore[union-attr]
    tasks = list(own.tasks(pool, 1, 6))
    assert all(task.ways == 2 for task in tasks) and tasks[0].rows.tolist() == tasks[3].rows.tolist()


@pytest.mark.parametrize("seed", [0, 93])
def test_pairs_of_the_same_attributes_are_other_tasks_in_training_validation_and_test(
    seed: int, packs: tuple[Path, ...]
) -> None:
    """In distribution all three have the same images: with one number as seed they would be the same tasks."""
    protocol, pool = AttributePairs(2, 3, "all", 5), Pool.open(packs)
    data = make_generators(
        pool, SubmissionConfig(), seed, hide_names=True, protocol=protocol, validation=(pool, protocol)
    )
    assert data.valid is not None
    first, second = (
        [task.support_set[0].numpy().tobytes() for task in own(6)] for own in (data.train, data.valid)
    )
    tested = [
        np.divide(pool[task.dataset].images[task.support], 255, dtype=np.float32).tobytes()
        for task in protocol.tasks(pool, seed, 6)
    ]
    assert len({*first, *second, *tested}) == 18
    assert first == [task.support_set[0].numpy().tobytes() for task in data.train(6)]


@pytest.mark.parametrize(
    "roles",
    [
        Roles(FREE),
        Roles(FREE, FREE),
        Roles(within("meta_test"), FREE),
        Roles(within("meta_test"), within("meta_test")),
        Roles(within("meta_test"), WithinDomain(TWO, ONE, 2, "70/15/15", "meta_train", split_seed=1)),
        Roles(within("meta_test"), within("meta_train"), FREE),
        Roles(side("base", "held_back"), side("base", "all")),
    ],
)
def test_a_leak_is_refused(roles: Roles, packs: tuple[Path, ...]) -> None:
    """One pool for training and test without a split, or with another one: by name, with what to do."""
    with pytest.raises(ProtocolError, match=r"PLANTS: \d+ of its images would be (trained|validated) on"):
        roles.require_no_leak(Pool.open(packs), Pool.open(packs))
    roles.require_no_leak(Pool.open(packs[:1]), Pool.open(packs[1:]))


def test_every_protocol_has_each_role_or_says_why_not(packs: tuple[Path, ...]) -> None:
    """Mixtures of base and novel classes are for the test alone."""
    for kind in PROTOCOLS.values():
        made = kind(domains=("Plants",)) if kind is HeldOutDomains else kind()
        if kind is BaseNovel:
            with pytest.raises(ProtocolError, match=r"To train or validate take class_side"):
                made.on_shown()
        else:
            assert isinstance(made.on_shown(), Protocol)
    assert Legacy().on_shown() == Legacy()


def test_protocols_are_written_in_a_line() -> None:
    """Ranges, lists, numbers; JSON too; a wrong word says what there is."""
    found = read_protocol("within_domain split=70/15/15 part=meta_train ways=2-5 shots=1 query=7")
    assert found == WithinDomain(Range(2, 5), ONE, 7, "70/15/15", "meta_train")
    assert read_protocol("held_out_domains domains=Plants").to_dict()["domains"] == ["Plants"]
    assert read_protocol("class_side shares=0.6,0.2,0.2 held_back=0.1").to_dict()["shares"] == [0.6, 0.2, 0.2]
    assert read_protocol(json.dumps(found.to_dict())) == found
    for line in (
        "within_domain ways=2-5 shots=1 query=7 split=70/15/15",
        "class_side shares=0.6,0.2,0.2 held_back=0.1",
        "held_out_domains domains=Plants",
        "any_way_any_shot",
    ):
        assert write_protocol(read_protocol(line)) == line
    for text, words in (
        ("nothing", "Unknown protocol 'nothing'; there are"),
        ("fixed ways", "'ways' is no setting of fixed: write KEY=VALUE"),
        ("fixed ways=a", "'a' is no range"),
        ("fixed depth=3", "has no setting depth; it has ways, shots, query"),
        ("{", "is no JSON object"),
    ):
        with pytest.raises(ProtocolError, match=words):
            read_protocol(text)


def test_wishes_count_within_what_the_phase_offers() -> None:
    """A wish for ways and shots narrows the phase's ranges and never leaves them."""
    offered = AnyWayAnyShot(Range(2, 6), Range(1, 4), 8)

    def wished(**wishes: int) -> tuple[Range, Range, int]:
        made = apply_wishes(offered, EpisodeConfig(**wishes))
        assert isinstance(made, AnyWayAnyShot)
        return made.ways, made.shots, made.query

    inside = wished(ways=4, min_shots=2, max_shots=20, query_images_per_class=5)
    assert inside == (Range(4, 4), Range(2, 4), 5)
    outside = wished(ways=9, min_shots=7, max_shots=9, query_images_per_class=20)
    assert outside == (Range(2, 6), Range(1, 4), 8)


def test_wishes_count_in_training_on_one_side_of_the_classes(packs: tuple[Path, ...], tmp_path: Path) -> None:
    """As a worker has it: packs cut to the base classes, and the ways and shots that config.json asks for."""
    free = {"shots": Range(1, 3), "query": 2}
    roles = Roles(
        side("novel", "all"),
        ClassSide(ways=Range(2, 5), side="base", images="trained", **free),
        ClassSide(ways=Range(2, 3), side="valid", images="all", **free),
    )
    shown, tested = cut(roles, packs, tmp_path), drawn(Pool.open(packs), roles.test, 60)
    train, validation = Pool.open(shown.train), Pool.open(shown.validation)
    assert roles.train is not None and roles.validation is not None
    config = SubmissionConfig(
        train=EpisodeConfig(ways=4, shots=2, query_images_per_class=1),
        valid=EpisodeConfig(ways=9, shots=3, query_images_per_class=9),
    )
    made = make_generators(
        train,
        config,
        7,
        hide_names=False,
        protocol=roles.train.on_shown(),
        validation=(validation, roles.validation.on_shown()),
    )
    assert made.valid is not None and made.train_classes == 4
    trained, validated = list(made.train(12)), list(made.valid(12))
    assert {(t.num_ways, t.num_shots, len(t.query_set[0])) for t in trained} == {(4, 2, 4)}
    assert {(t.num_shots, len(t.query_set[0]) // t.num_ways) for t in validated} == {(3, 2)}
    assert {t.num_ways for t in validated} == {2, 3}  # nine are more than the phase offers
    assert {t.dataset for t in trained} == {t.dataset for t in validated} == {pack.name for pack in train}
    assert len(train[0].classes) == 7 and not pictures(train, [(0, r) for r in range(len(train[0]))]) & tested
