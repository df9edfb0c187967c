"""Memory is used again when nobody holds it, and never before."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch

from anyshot_core.episodes.memory import Memory
from anyshot_starting_kit.episodes.tensors import floats

SHAPE = (8, 3, 128, 128)


def addresses(memory: Memory, times: int) -> set[int]:
    return {floats(memory, SHAPE).data_ptr() for _ in range(times)}


def test_what_nobody_holds_is_used_again() -> None:
    assert len(addresses(Memory(), 10)) == 1


KEPT: dict[str, Callable[[torch.Tensor], object]] = {
    "the tensor": lambda images: images,
    "a slice": lambda images: images[2:4],
    "one number": lambda images: images[0, 0, 0, 0],
    "a reshaped slice of a view": lambda images: images.view(8, -1)[1:].reshape(-1)[5:],
    "an array": lambda images: images.numpy(),
    "a view of an array": lambda images: images.numpy()[3:].reshape(-1)[7:],
    "the storage": lambda images: images.untyped_storage(),
    "detached": lambda images: images.detach(),
    "a tuple in a list in an object": lambda images: [(images, {"y": images[1:]})],
    "a graph": lambda images: (images * torch.ones(1, requires_grad=True)).sum(),
    "a memoryview": lambda images: images.numpy().data,
    "a shallow copy": lambda images: copy.copy(images),
}


@pytest.mark.parametrize("keep", KEPT)
def test_what_is_held_in_any_form_is_left_alone(keep: str) -> None:
    memory = Memory()
    images = floats(memory, SHAPE)
    images.fill_(0.25)
    address, held = images.data_ptr(), KEPT[keep](images)
    del images
    assert address not in addresses(memory, 20)
    del held
    assert address in addresses(memory, 20)


def test_many_may_be_kept_and_only_a_few_wait_for_their_next_use() -> None:
    memory = Memory(keep=2)
    kept = [floats(memory, SHAPE).fill_(number) for number in range(12)]
    assert all((images == number).all() for number, images in enumerate(kept))
    were = {images.data_ptr() for images in kept}
    assert len(were) == 12
    del kept
    floats(memory, SHAPE)
    assert len(memory._pieces) <= 3


def test_a_larger_piece_serves_smaller_ones_and_arrays_of_bytes_too() -> None:
    memory = Memory()
    large = memory.array((400, 3, 128, 128))
    address = large.ctypes.data
    del large
    small = memory.array((1, 3, 128, 128))
    assert small.ctypes.data == address
    assert small.dtype == np.uint8 and small.shape == (1, 3, 128, 128) and small.flags.writeable


def test_an_empty_array_is_possible() -> None:
    assert floats(Memory(), (0, 3, 128, 128)).shape == (0, 3, 128, 128)
