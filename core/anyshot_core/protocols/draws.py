"""Random numbers that can be addressed: a stream is a pure function of its key.

The words are the output of SHAKE-256 (FIPS 202) on the key and a block counter. So they are the same on
every machine and with every version of Python and NumPy. Tasks that were seen tell nothing about a key of 32 bytes;
a small number as seed is found by trying all of them. Bounded draws reject instead of taking remainders, so they are
exactly uniform.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

_WORDS = 256  # 64-bit words in a block of the stream
_TOP = np.uint64((1 << 64) - 1)
_ONE = np.uint64(1)


class Draws:
    """The stream of one key. Draws follow one another; two streams of different keys are independent."""

    def __init__(self, *key: str | int | bytes) -> None:
        parts = [part if isinstance(part, bytes) else str(part).encode() for part in key]
        self._key = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        self._block = 0
        self._words = np.empty(0, dtype=np.uint64)

    def _take(self, count: int) -> np.ndarray:
        """The next words of the stream, uint64 `[count]`."""
        words = self._words
        if len(words) < count:
            last = self._block - (len(words) - count) // _WORDS
            digests = [self._digest(block) for block in range(self._block, last)]
            words = np.concatenate([words, np.frombuffer(b"".join(digests), dtype="<u8")])
            self._block = last
        self._words = words[count:]
        return words[:count]

    def _digest(self, block: int) -> bytes:
        return hashlib.shake_256(self._key + block.to_bytes(8, "big")).digest(8 * _WORDS)

    def below_each(self, bounds: np.ndarray) -> np.ndarray:
        """An integer of [0, bound) for each bound, uniform; uint64 `[n]`.

        A word from the incomplete last span of its bound is skipped, and the words after it move up.
        """
        bounds = bounds.astype(np.uint64)
        words = self._take(len(bounds))
        excess = (_TOP % bounds + _ONE) % bounds  # 2**64 modulo the bound
        bad = words > _TOP - excess
        while bad.any():
            first = int(np.argmax(bad))
            words = np.concatenate([words[:first], words[first + 1 :], self._take(1)])
            bad = words > _TOP - excess
        return words % bounds

    def below(self, bound: int) -> int:
        """An integer of [0, bound), uniform."""
        return int(self.below_each(np.array([bound], dtype=np.uint64))[0])

    def between(self, low: int, high: int) -> int:
        """An integer of [low, high], uniform, both ends included."""
        return low + self.below(high - low + 1)

    def unit(self) -> float:
        """A float of [0, 1) with 53 random bits."""
        return int(self._take(1)[0] >> np.uint64(11)) / (1 << 53)

    def normal(self, count: int) -> np.ndarray:
        """Standard normal numbers by Box and Muller, float64 `[count]`.

        The last bits depend on the machine's logarithm and cosine: round to float32 before comparing machines.
        """
        pairs = (self._take(2 * count) >> np.uint64(11)).astype(np.float64).reshape(2, count) / (1 << 53)
        return np.sqrt(-2.0 * np.log1p(-pairs[0])) * np.cos(2.0 * np.pi * pairs[1])

    def choose(self, count: int, size: int) -> np.ndarray:
        """`size` distinct numbers of [0, count) in random order; int64 `[size]`."""
        return self.choose_each([count], size)[0]

    def choose_each(self, counts: Sequence[int], size: int) -> np.ndarray:
        """For each count, `size` distinct numbers of [0, count) in random order; int64 `[len(counts), size]`."""
        if size > min(counts):
            raise ValueError(f"{size} of {min(counts)} cannot be chosen without replacement")
        places = np.arange(size)
        bounds = np.asarray(counts)[:, None] - places
        others = places + self.below_each(bounds.reshape(-1)).astype(np.int64).reshape(bounds.shape)
        chosen = [_swap(count, row) for count, row in zip(counts, others.tolist(), strict=True)]
        return np.array(chosen, dtype=np.int64)

    def permutation(self, count: int) -> np.ndarray:
        """All numbers of [0, count) in random order; int64 `[count]`."""
        return self.choose(count, count)

    def order(self, count: int) -> np.ndarray:
        """A random order of [0, count) for large counts, by sorting one word each; int64 `[count]`."""
        data = hashlib.shake_256(self._key + b"order" + self._block.to_bytes(8, "big")).digest(8 * count)
        self._block += 1
        return np.argsort(np.frombuffer(data, dtype="<u8"), kind="stable").astype(np.int64)

    def pick(self, values: np.ndarray, size: int) -> np.ndarray:
        """`size` distinct ones of `values` in random order; int64 `[size]`."""
        return values[self.choose(len(values), size)].astype(np.int64, copy=False)

    def pick_each(self, values: Sequence[np.ndarray], size: int) -> np.ndarray:
        """`size` distinct ones of each array, in random order; int64 `[len(values), size]`."""
        chosen = self.choose_each([len(own) for own in values], size)
        return np.stack([own[places] for own, places in zip(values, chosen, strict=True)])


def _swap(count: int, others: list[int]) -> list[int]:
    """The start of [0, count) after swapping place i with place `others[i]`, for each i (Fisher and Yates)."""
    if count <= 16 * len(others):
        numbers = list(range(count))
        for place, other in enumerate(others):
            numbers[place], numbers[other] = numbers[other], numbers[place]
        return numbers[: len(others)]
    moved: dict[int, int] = {}  # only the places that are not what they were
    chosen = []
    for place, other in enumerate(others):
        chosen.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return chosen
