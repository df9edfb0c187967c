"""Conclusion flips over draws of *base* classes: would other classes to learn from have turned the order round?"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.episodes import BadEpisodes, draw_episodes, prototype_hits
from anyshot_analysis.features import Features
from anyshot_analysis.flips.novel_classes import FEWEST_DRAWS, ClassDraws, class_sets
from anyshot_analysis.flips.whitening import Change
from anyshot_scoring.reliability import count_flips

Learn = Callable[[NDArray[np.int64]], Change]
"""Learns from the base classes of these numbers how to change features."""


def flip_over_base_draws(
    methods: dict[str, Learn],
    base_classes: int,
    novel: Features,
    size: int,
    *,
    shape: tuple[int, int, int] = (5, 5, 10),
    draws: int = FEWEST_DRAWS,
    tasks: int = 100,
    seed: int = 0,
) -> ClassDraws:
    """Flips between two methods that learn from `size` of `base_classes` classes, on the same novel tasks always.

    The lead eps is the one on all base classes. Population: other sets of `size` base classes out of these; tasks and
    novel classes are the same in every draw, so that they add no noise.
    """
    if draws < FEWEST_DRAWS:
        raise BadEpisodes(f"{draws} class draws are too few: the share of flips needs {FEWEST_DRAWS}")
    if len(methods) != 2:
        raise BadEpisodes(f"a flip is between two methods, found {len(methods)}")
    episodes = draw_episodes(novel, *shape, tasks, seed + 1)
    values = np.asarray(novel.values, np.float64)

    def scores(classes: NDArray[np.int64]) -> list[float]:
        return [float(prototype_hits(learn(classes)(values), episodes).mean()) for learn in methods.values()]

    names, overall = list(methods), scores(np.arange(base_classes))
    sign = 1.0 if overall[0] >= overall[1] else -1.0
    sets = class_sets(np.random.default_rng(seed), np.arange(base_classes), size, draws)
    found = np.array([scores(own) for own in sets])
    differences = sign * (found[:, 0] - found[:, 1])
    lead = sign * (overall[0] - overall[1])
    flip, exaggeration = count_flips(differences, lead)
    first, second = names if sign > 0 else names[::-1]
    return ClassDraws(first, second, lead, size, differences, tasks, flip, exaggeration)
