"""Which images two pools share, exactly: by a digest of the pixels of each image."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from anyshot_core.data.digests import digest_of
from anyshot_core.data.pack import Pack


@dataclass(frozen=True)
class SharedImages:
    """How many images of `first` (of its `images`) are also in `second`, by the names of the datasets."""

    first: str
    second: str
    shared: int
    images: int


def image_digests(pack: Pack) -> tuple[bytes, ...]:
    """BLAKE2b of the pixels of each image of a pack, in its order: equal for equal images and for no others."""
    return tuple(digest_of(memoryview(image).cast("B")) for image in pack.images)


def find_shared_images(first: Iterable[Pack], second: Iterable[Pack]) -> list[SharedImages]:
    """The pairs of datasets of two pools that have an image in common, however their files and labels differ."""
    theirs = [(pack.name, Counter(image_digests(pack))) for pack in second]
    found = []
    for pack in first:
        own = image_digests(pack)
        for name, known in theirs:
            if shared := sum(digest in known for digest in own):
                found.append(SharedImages(pack.name, name, shared, len(own)))
    return found
