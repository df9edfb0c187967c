"""The random numbers of Python, NumPy and torch: seeded, remembered, put back."""

import random
from typing import Any

import numpy as np
import torch

RandomState = tuple[Any, Any, Any, Any]


def seed_all(seed: int) -> None:
    """Let the generators of Python, NumPy and torch start from `seed`, a number of at most 64 bits."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_state() -> RandomState:
    """Where the generators of Python, NumPy and torch stand; those of GPUs only where code uses one by now."""
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), gpus


def restore_random_state(state: RandomState) -> None:
    """Put them back to where they stood."""
    python, numpy, cpu, gpus = state
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(cpu)
    if gpus is None:
        torch.cuda.manual_seed_all(torch.initial_seed())
    else:
        torch.cuda.set_rng_state_all(gpus)
