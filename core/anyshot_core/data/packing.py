"""Turn a dataset folder into one pack file: in parallel, resumable, atomic.

Worker processes decode a block of images each and write it straight into the unfinished file, so that no
pixels travel between processes. A journal beside that file says which blocks are done; a second call takes
up there. The header is written last and the file is renamed into place, so a pack is there whole or not at
all.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.data.block_worker import BadImage, BlockJob, BlockResult
from anyshot_core.data.block_workers import BlockWorkers
from anyshot_core.data.dataset import Dataset, inspect_dataset, keep_rows
from anyshot_core.data.digests import block_digest, block_hash, digest_of
from anyshot_core.data.domains import guess_domain
from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.journal import Journal
from anyshot_core.data.layout import (
    BLOCK_IMAGES,
    MOST_META,
    PAGE,
    SUFFIX,
    Annotation,
    Header,
    LeftOut,
    PackMeta,
    block_range,
    labels_offset,
    read_meta,
)
from anyshot_core.data.problems import BadDataset, BadPack, PackProblem, bad_image, errors

Progress = Callable[[int, int], None]  # images done, images in all
_HASH = block_hash()


@dataclass(frozen=True)
class _Work:
    """One dataset on its way into one file."""

    dataset: Dataset
    path: Path
    domain: str
    convert: bool
    left_out: tuple[LeftOut, ...]
    source: str

    @property
    def partial(self) -> Path:
        return self.path.with_name(f".{self.path.name}.partial")

    @property
    def journal(self) -> Path:
        return self.path.with_name(f".{self.path.name}.journal")

    @property
    def blocks(self) -> int:
        return -(-len(self.dataset.files) // BLOCK_IMAGES)


def pack_folder(
    folder: Path,
    target: Path,
    *,
    skip_bad: bool = False,
    domain: str | None = None,
    convert: bool = False,
    workers: BlockWorkers | None = None,
    on_progress: Progress = lambda done, total: None,
) -> Path:
    """Pack one dataset; returns the path of the pack. A pack that is up to date already is left as it is, and one
    that another process is writing is waited for.

    Args:
        target: the file to write, or a folder that gets `NAME.anyshot-pack`.
        skip_bad: leave out what cannot be used, and list it in the pack, instead of refusing the dataset.
        domain: the dataset's domain; by default `info.json`'s, else the one that Meta-Album gives the name.
        convert: accept grey, transparent and 16-bit images.
        workers: running worker processes to use; by default one a core is started.

    Raises:
        BadDataset: the folder breaks the format, or an image cannot be used; every problem is listed.
    """
    work = _prepare(folder, target, skip_bad, domain, convert)
    total = len(work.dataset.files)
    if _up_to_date(work, skip_bad):
        on_progress(total, total)
        return work.path
    work.path.parent.mkdir(parents=True, exist_ok=True)
    with _only_writer(work.partial):
        if _up_to_date(work, skip_bad):  # by the one that was waited for
            work.partial.unlink()
            on_progress(total, total)
        else:
            _pack(work, skip_bad, workers, on_progress)
    return work.path


def _pack(work: _Work, skip_bad: bool, workers: BlockWorkers | None, on_progress: Progress) -> None:
    with nullcontext(workers) if workers else _workers_for(work) as running:
        done = _write_blocks(work, running, on_progress)
    bad = dict(_bad_rows(work, done))
    if bad and not skip_bad:
        raise BadDataset(list(bad.values()))
    _finish(work, done, bad)


def _workers_for(work: _Work) -> BlockWorkers:
    """One process a core; for a single block, which takes less time than a process to start, none."""
    return BlockWorkers(0 if work.blocks == 1 else min(work.blocks, os.cpu_count() or 1))


def _prepare(folder: Path, target: Path, skip_bad: bool, domain: str | None, convert: bool) -> _Work:
    dataset, problems = inspect_dataset(folder)
    wrong = errors(problems)
    if dataset is None or (wrong and not skip_bad):
        raise BadDataset(wrong)
    path = target if target.suffix == SUFFIX else target / f"{dataset.name}{SUFFIX}"
    domain = domain if domain is not None else dataset.info.domain or guess_domain(dataset.name)
    left_out = tuple(
        LeftOut(file=p.file if p.line is None else f"{p.file}:{p.line}", reason=p.found) for p in wrong
    )
    return _Work(dataset, path, domain, convert, left_out, _source_digest(dataset, left_out, domain, convert))


def _source_digest(dataset: Dataset, left_out: tuple[LeftOut, ...], domain: str, convert: bool) -> str:
    """Identity of a folder's content and of the way it is packed; images count by name, size and time of
    change.
    """
    state = hashlib.blake2b(digest_size=32)
    for part in ("labels.csv", "info.json"):
        state.update((dataset.folder / part).read_bytes() + b"\0")
    state.update(repr(([left.file for left in left_out], domain, convert, BLOCK_IMAGES, _HASH)).encode())
    images = os.fspath(dataset.images)
    for file in dataset.files:
        stat = os.stat(f"{images}/{file}")  # noqa: PTH116 - a path object costs more than the call
        state.update(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return state.hexdigest()


def _up_to_date(work: _Work, skip_bad: bool) -> bool:
    if not work.path.exists():
        return False
    try:
        meta, _ = read_meta(work.path)
    except BadPack:
        return False
    return meta.source_digest == work.source and (skip_bad or not meta.left_out)


def _write_blocks(work: _Work, workers: BlockWorkers, on_progress: Progress) -> dict[int, BlockResult]:
    total = len(work.dataset.files)
    journal = Journal(work.journal, work.source)
    done = journal.done() if work.partial.stat().st_size else {}
    journal.start(done)
    with work.partial.open("r+b" if done else "wb") as file:
        file.truncate(labels_offset(total))
    images = sum(len(block_range(block, total)) for block in done)
    on_progress(images, total)
    with journal:
        for result in workers.run(_jobs(work, done)):
            journal.add(result)
            done[result.block] = result
            images += len(block_range(result.block, total))
            on_progress(images, total)
    return done


def _jobs(work: _Work, done: Mapping[int, BlockResult]) -> Iterator[BlockJob]:
    for block in range(work.blocks):
        if block not in done:
            rows = block_range(block, len(work.dataset.files))
            files = list(work.dataset.files[rows.start : rows.stop])
            offset = PAGE + rows.start * IMAGE_BYTES
            yield BlockJob(
                block, str(work.dataset.images), files, str(work.partial), offset, work.convert, _HASH
            )


def _bad_rows(work: _Work, done: Mapping[int, BlockResult]) -> Iterator[tuple[int, PackProblem]]:
    for block in sorted(done):
        for bad in done[block].bad:
            row = block * BLOCK_IMAGES + bad.position
            yield row, _problem(work.dataset, row, bad)


def _problem(dataset: Dataset, row: int, bad: BadImage) -> PackProblem:
    return bad_image(dataset.name, dataset.files[row], bad.reason, bad.wrong_mode)


def _finish(work: _Work, done: Mapping[int, BlockResult], bad: Mapping[int, PackProblem]) -> None:
    """Close gaps, append labels and metadata, write the header, and put the file in its place."""
    digests = [done[block].digest for block in range(work.blocks)]
    work.journal.unlink()  # from here on the unfinished file is no longer what the journal says
    dataset = work.dataset
    if bad:
        kept = np.setdiff1d(np.arange(len(dataset.files)), np.fromiter(bad, dtype=np.int64))
        dataset = keep_rows(dataset, kept)
        digests = _close_gaps(work.partial, kept, digests)
    labels = dataset.labels.astype("<i8").tobytes()
    text = _meta(work, dataset, digests, labels, bad).model_dump_json().encode()
    if len(text) > MOST_META:
        raise BadDataset([_too_much(dataset, len(text))])
    header = Header(
        len(dataset.files), labels_offset(len(dataset.files)) + len(labels), len(text), digest_of(text)
    )
    with work.partial.open("r+b") as file:
        file.truncate(labels_offset(len(dataset.files)))
        file.seek(0, os.SEEK_END)
        file.write(labels + text)
        file.seek(0)
        file.write(header.to_bytes())
        file.flush()
        os.fsync(file.fileno())
    work.partial.replace(work.path)


def _too_much(dataset: Dataset, octets: int) -> PackProblem:
    return PackProblem(
        dataset.name,
        "labels.csv",
        None,
        f"names and further columns that take {octets} bytes in the pack",
        f"at most {MOST_META}",
        "Name fewer annotation_columns in info.json, or split the dataset.",
    )


def _meta(
    work: _Work, dataset: Dataset, digests: list[str], labels: bytes, bad: Mapping[int, PackProblem]
) -> PackMeta:
    return PackMeta(
        name=dataset.name,
        domain=work.domain,
        description=dataset.info.dataset_description,
        licence=dataset.info.licence or dataset.info.license,
        source=dataset.info.source,
        classes=list(dataset.classes),
        super_classes=list(dataset.super_classes),
        images=len(dataset.files),
        block_hash=_HASH,
        block_digests=digests,
        labels_digest=digest_of(labels).hex(),
        source_digest=work.source,
        annotations={name: Annotation.of(cells) for name, cells in dataset.annotations.items()},
        left_out=[*work.left_out, *(LeftOut(file=p.file, reason=p.found) for p in bad.values())],
    )


def _close_gaps(path: Path, kept: np.ndarray, digests: list[str]) -> list[str]:
    """Move the kept images together, in place; digests of all blocks from the first gap on are new."""
    mapped = np.memmap(path, dtype=np.uint8, mode="r+", offset=PAGE)
    pixels = np.asarray(mapped).reshape(-1, IMAGE_BYTES)
    first = (
        int(np.argmax(kept != np.arange(len(kept)))) if (kept != np.arange(len(kept))).any() else len(kept)
    )
    for start in range(first, len(kept), BLOCK_IMAGES):
        rows = kept[start : start + BLOCK_IMAGES]
        pixels[start : start + len(rows)] = pixels[
            rows
        ]  # the right side is copied first; rows only move down
    sound = digests[: first // BLOCK_IMAGES]
    blocks = range(len(sound), -(-len(kept) // BLOCK_IMAGES))
    digest = block_digest(_HASH)
    ranges = [block_range(block, len(kept)) for block in blocks]
    fresh = [digest(pixels[rows.start : rows.stop].data).hex() for rows in ranges]
    mapped.flush()
    return sound + fresh


@contextmanager
def _only_writer(partial: Path) -> Iterator[None]:
    """Wait until no other thread or process writes this unfinished file; it exists, maybe empty, from then on.

    The lock is on the file itself: who waited for one that has been renamed since starts over with a new one.
    """
    while True:
        with partial.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_still(file.fileno(), partial):
                yield
                return


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
