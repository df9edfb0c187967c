"""Boards that are asked many times: known maxima, simulated competitions, and the attack of Blum and Hardt."""

import numpy as np
import pytest

from anyshot_scoring.adaptive import (
    GapCheck,
    check_gap,
    climb,
    expected_maximum,
    ladder,
    ladder_by_tasks,
    owed_to_repetition,
)
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.rankings import RankedEntry
from anyshot_scoring.undefined import Undefined


def test_expected_maxima_are_those_of_the_tables() -> None:
    known = {
        2: 1 / np.sqrt(np.pi),
        3: 1.5 / np.sqrt(np.pi),
        4: 1.0293753730,
        10: 1.5387527308,
        100: 2.5075936,
    }
    assert expected_maximum(1) == 0.0
    for count, value in known.items():
        assert expected_maximum(count) == pytest.approx(value, abs=1e-7)
    with pytest.raises(ScoringError):
        expected_maximum(0)


def test_what_teams_owe_is_what_equal_submissions_gain() -> None:
    rng, counts = np.random.default_rng(0), {"a": 1, "b": 5, "c": 40}
    gained = {
        team: np.mean([(0.5 + 0.02 * rng.standard_normal(k)).max() - 0.5 for _ in range(4000)])
        for team, k in counts.items()
    }
    found = owed_to_repetition({"a": 0.5, "b": 0.52, "c": 0.54}, counts, 0.02)
    assert [luck.team for luck in found] == ["c", "b", "a"]
    for luck in found:
        assert luck.owed == pytest.approx(gained[luck.team], abs=0.001)
    with pytest.raises(ScoringError, match="Each team"):
        owed_to_repetition({"a": 0.5}, {"b": 1}, 0.02)


def test_the_gap_between_feedback_and_final_shows_the_luck_and_only_the_luck() -> None:
    rng, held = np.random.default_rng(0), {True: 0, False: 0}
    counts = {f"t{i}": int(k) for i, k in enumerate(np.geomspace(1, 100, 25).astype(int))}
    best: dict[str, float] = {}
    final: dict[str, float] = {}
    for _ in range(200):
        for lucky in held:
            level = {team: 0.05 * rng.standard_normal() for team in counts}
            best = {
                team: level[team] + 0.02 * rng.standard_normal(k if lucky else 1).max()
                for team, k in counts.items()
            }
            final = {team: level[team] - 0.1 + 0.02 * rng.standard_normal() for team in counts}
            found = check_gap(best, final, counts)
            assert isinstance(found, GapCheck)
            held[lucky] += found.low <= (0.02 if lucky else 0.0) <= found.high
    assert min(held.values()) / 200 > 0.9
    few = dict.fromkeys(list(counts)[:5], 1.0)
    assert isinstance(check_gap(few, few, counts), Undefined)
    assert isinstance(check_gap(best, final, dict.fromkeys(counts, 3)), Undefined)


def test_a_ladder_shows_only_what_is_better_by_a_step() -> None:
    found = ladder([0.50, 0.506, 0.511, 0.49, 0.5209, 0.60], 0.01)
    assert found == pytest.approx([0.50, 0.50, 0.51, 0.51, 0.52, 0.60])
    with pytest.raises(ScoringError):
        ladder([0.5], 0.0)


@pytest.mark.parametrize("how", ["step", "tasks"])
def test_asking_a_ladder_teaches_nothing_about_the_hidden_tasks(how: str) -> None:
    """Their boosting attack: answer at random, keep what the board says is better than chance, take the majority."""
    rng, plain, guarded = np.random.default_rng(0), [], []
    better = np.empty(0, int)
    for _ in range(10):
        truth, guesses = rng.integers(0, 2, 2000), rng.integers(0, 2, (400, 2000))
        right = (guesses == truth).astype(float)
        shown = ladder(right.mean(axis=1), 0.02) if how == "step" else ladder_by_tasks(right)
        better = np.flatnonzero(np.diff(shown, prepend=0.5) > 0)
        for kept, into in ((np.flatnonzero(right.mean(axis=1) > 0.5), plain), (better, guarded)):
            vote = guesses[kept].mean(axis=0) > 0.5 if len(kept) else guesses[0]
            into.append((vote == truth).mean())
    assert np.mean(plain) > 0.58  # a board that says each score gives the hidden labels away
    assert np.mean(guarded) < 0.54
    assert len(better) < 10


def test_a_lead_within_its_standard_error_climbs_no_ladder() -> None:
    """By hand: .75 passes .5 by its standard error of .25 and no more; 1 passes it by .5, more than .29."""
    assert ladder_by_tasks([[0, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]]).tolist() == [0.5, 0.5, 1.0]


def test_a_truly_better_submission_climbs_the_ladder() -> None:
    rng = np.random.default_rng(1)
    scores = np.clip(np.array([0.5, 0.5, 0.6, 0.7])[:, None] + 0.1 * rng.standard_normal((4, 500)), 0, 1)
    found = ladder_by_tasks(scores)
    assert found[2] == pytest.approx(0.6, abs=0.02) and found[3] == pytest.approx(0.7, abs=0.02)
    assert (np.diff(found) >= 0).all()


def test_what_stands_on_a_ladder_is_the_last_that_moved_it():
    scores = [0.512, 0.549, 0.1, 0.5501, 0.573, 0.601, 0.599]
    own = [RankedEntry(str(i), float(i), score) for i, score in enumerate(scores)]
    stands = [climb(own[: i + 1], 0.05) for i in range(len(own))]
    assert [one.key for one in stands if one] == ["0", "0", "0", "3", "3", "5", "5"]
    assert climb([], 0.05) is None
    assert climb([RankedEntry("b", 1.0, 0.6), RankedEntry("a", 0.0, 0.6)], 0.05) == RankedEntry("a", 0.0, 0.6)
