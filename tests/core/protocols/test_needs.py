"""What tests need and no protocol checks itself: classes on each side, tasks of each dataset, a query."""

import pytest

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import read_evaluation
from anyshot_core.evaluations.needs import (
    divides_into_sides,
    require_drawn,
    require_scorable,
    require_sides,
    require_spread,
    require_trained_side,
)
from anyshot_core.exports import Asked, check_asked
from anyshot_core.protocols import ProtocolError, Roles, read_protocol
from anyshot_core.protocols.legacy import legacy_settings
from tests.core.tinydata import write_pack

FEW = "ways=1 shots=1 query=1"
NO_VALID = "shares=0.5,0,0.5"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    """Two datasets, of eight and of three classes: of three, by the usual shares, none is a validation class."""
    folder = tmp_path_factory.mktemp("needs")
    eight = write_pack(folder, "Eight", seed=1, classes=8, images=10)
    return Pool.open([eight, write_pack(folder, "Three", seed=2, classes=3, images=10)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fixed ways=1", "ways must be at least 2 in tasks that are scored; found 1"),
        ("any_way_any_shot ways=1-5", "ways must be at least 2"),
        ("legacy ways=1-5", "ways must be at least 2"),
        ("within_domain query=0", "query must be at least 1 in tasks that are scored; found 0"),
        ("attribute_pairs query=-1", "query must be at least 1"),
        ("attribute_pairs shots=0", "shots must be at least 1"),
    ],
)
def test_a_task_that_would_have_no_score_is_none_to_be_tested_on(text: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        require_scorable(read_protocol(text))


def test_what_a_submission_asks_for_in_training_stays_its_own() -> None:
    """`min_N: 1` of a config.json of 2022 goes on to make tasks; nobody scores them."""
    assert legacy_settings({"min_N": 1, "query_images_per_class": 0}).ways.low == 1
    require_scorable(read_protocol("writers"))  # whose tasks have no such numbers
    require_scorable(read_protocol("class_side ways=2 shots=1 query=1"))


@pytest.mark.parametrize(
    ("roles", "text"),
    [
        ("attribute_pairs", "shots numbers=0"),
        ("any_way_any_shot query=0", "domains"),
        ("class_side query=0 side=novel images=all", "base"),
    ],
)
def test_a_further_evaluation_has_a_score_too(roles: str, text: str) -> None:
    with pytest.raises(ProtocolError, match=r"must be at least 1 in tasks that are scored; found 0"):
        read_evaluation(text).points(Roles(read_protocol(roles)), ("Plants",))


def test_legacy_has_just_the_tasks_of_its_table() -> None:
    """With the defaults a run on ten datasets was tested on the first alone, and one of 6,000 tasks died at 1,000."""
    legacy = read_protocol("legacy tasks_per_dataset=100")
    for count in (100, 999, 6000):
        with pytest.raises(
            ProtocolError, match=f"makes 1000 tasks of this pool; found {count}. Set the number"
        ):
            require_spread(legacy, 10, count)
    require_spread(legacy, 10, 1000)
    require_drawn(legacy, 10, 5)  # of a smoke test
    with pytest.raises(ProtocolError, match="makes 200 tasks of this pool; found 201"):
        require_drawn(legacy, 2, 201)
    for other in ("any_way_any_shot", "within_domain"):
        require_spread(read_protocol(other), 10, 3)
        require_drawn(read_protocol(other), 10, 6000)


def test_each_dataset_that_has_a_learner_has_a_task() -> None:
    within = read_protocol("within_domain")
    require_spread(within, 3, 3, each_dataset=True)
    with pytest.raises(ProtocolError, match="each dataset needs a task: found 2 for 3 datasets"):
        require_spread(within, 3, 2, each_dataset=True)


def roles(test: str, train: str = "", validation: str = "") -> Roles:
    named = (read_protocol(text) if text else None for text in (train, validation))
    return Roles(read_protocol(test), *named)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            roles(f"class_side side=novel images=all {FEW}", validation=f"class_side side=valid {FEW}"),
            r"Three: found 0 valid classes among 3, by class_side with the shares 0\.5, 0\.25, 0\.25\. Leave",
        ),
        (
            roles(f"base_novel {NO_VALID} {FEW}", validation=f"class_side side=valid {NO_VALID} {FEW}"),
            "Eight: found 0 valid classes among 8, by class_side with the shares 0.5, 0, 0.5",
        ),
        (roles(f"class_side side=novel images=all shares=0,0,1 {FEW}"), "Eight: found 0 base classes"),
        (roles(f"base_novel shares=0,1,0 {FEW}", "any_way_any_shot"), "found 0 base or novel classes"),
        (roles("any_way_any_shot", "fixed_supports shares=0,0,1"), "found 0 base classes among 8, by fixed"),
    ],
)
def test_an_empty_side_of_a_split_is_said_in_words(small: Pool, asked: Roles, words: str) -> None:
    """It was NumPy's "need at least one array to concatenate", as an error page or as the platform's own failure."""
    assert divides_into_sides(asked)
    with pytest.raises(ProtocolError, match=words):
        require_sides(asked, small, small)


def test_sides_that_nobody_needs_may_be_empty(small: Pool) -> None:
    asked = roles(f"base_novel {NO_VALID} {FEW}", f"class_side side=base {NO_VALID} {FEW}")
    require_sides(asked, small, small)
    asked.require_no_leak(small, small)
    validated = roles(f"class_side side=novel images=all {FEW}", validation=f"class_side side=valid {FEW}")
    require_sides(validated, small, small, [small[0]])  # validation chooses from other packs
    require_trained_side(roles("base_novel shares=0,0,1"), small[0], tested=False)
    assert not divides_into_sides(roles("any_way_any_shot", "within_domain"))


@pytest.mark.parametrize(
    ("asked", "text", "words"),
    [
        (roles(f"base_novel {NO_VALID} ways=2 shots=1 query=1"), "validation", "found 0 valid classes"),
        (
            roles(
                f"base_novel {NO_VALID} ways=2 shots=1 query=1",
                validation=f"class_side side=valid {NO_VALID} {FEW}",
            ),
            "base",
            "found 0 valid classes among 8, by class_side",
        ),
    ],
)
def test_an_evaluation_of_no_class_is_refused_in_words(
    small: Pool, asked: Roles, text: str, words: str
) -> None:
    eight = small.subset([0])
    with pytest.raises(ProtocolError, match=words):
        read_evaluation(text).check(asked, eight, eight, eight)
    with pytest.raises(ProtocolError, match=words):
        check_asked(Asked(snapshots=2), asked, eight, eight)
