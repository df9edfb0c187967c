"""Several datasets, one after the other, and no core idle in between."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from anyshot_core.data.block_workers import BlockWorkers
from anyshot_core.data.packing import pack_folder

_TOGETHER = (
    2  # the second is decoded while the first is put on the disk and the next one's files are looked at
)
Progress = Callable[[Path, int, int], None]  # dataset, images done, images in all


def pack_series(
    folders: Sequence[Path],
    target: Path,
    workers: BlockWorkers,
    *,
    skip_bad: bool = False,
    domain: str | None = None,
    convert: bool = False,
    on_progress: Progress = lambda folder, done, total: None,
) -> Iterator[tuple[Path, Future[Path]]]:
    """Each folder with its pack, or with what `pack_folder` raised, in the order given; two are under way at a time.

    `target` is the folder for the packs. `on_progress` is called from two threads.
    """

    def pack(folder: Path) -> Path:
        return pack_folder(
            folder,
            target,
            skip_bad=skip_bad,
            domain=domain,
            convert=convert,
            workers=workers,
            on_progress=lambda done, total: on_progress(folder, done, total),
        )

    executor = ThreadPoolExecutor(_TOGETHER, thread_name_prefix="pack")
    try:
        for folder, packed in [(folder, executor.submit(pack, folder)) for folder in folders]:
            packed.exception()  # wait
            yield folder, packed
    finally:
        executor.shutdown(cancel_futures=True)
