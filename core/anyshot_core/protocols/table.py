"""Tasks drawn once and kept: for protocols whose tasks cannot be drawn one by one."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.data.digests import digest_of
from anyshot_core.protocols.task import TaskSpec

_DIGEST_BYTES = 32


@dataclass(frozen=True)
class DrawnTasks:
    """Tasks as flat columns: about 1.5 KiB for a task of 335 images.

    Attributes:
        heads: int32 `[tasks, 3]`: dataset, ways, shots.
        ends: int64 `[tasks, 3]`: where the task's classes, support and query end in the flat columns.
        classes: int32, flat; rows: int32, support then query of each task, flat; labels: int16, likewise.
    """

    heads: np.ndarray
    ends: np.ndarray
    classes: np.ndarray
    rows: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, tasks: Iterable[TaskSpec]) -> DrawnTasks:
        """Keep tasks, which must come in the order of their index from 0 on."""
        heads, sizes, classes, rows, labels = [], [], [], [], []
        for task in tasks:
            heads.append((task.dataset, task.ways, task.shots))
            sizes.append((len(task.classes), len(task.support), len(task.query)))
            classes.append(task.classes.astype(np.int32))
            rows += [task.support.astype(np.int32), task.query.astype(np.int32)]
            labels += [task.support_labels.astype(np.int16), task.query_labels.astype(np.int16)]
        lengths = np.array(sizes, dtype=np.int64)
        images = np.cumsum(lengths[:, 1:].reshape(-1)).reshape(-1, 2)
        ends = np.column_stack([np.cumsum(lengths[:, 0]), images])
        flat = (np.concatenate(classes), np.concatenate(rows), np.concatenate(labels))
        return cls(np.array(heads, dtype=np.int32), ends, *flat)

    def task(self, index: int) -> TaskSpec:
        """One task; the cost does not depend on which."""
        first_class, start = (
            (0, 0) if index == 0 else (int(self.ends[index - 1, 0]), int(self.ends[index - 1, 2]))
        )
        last_class, middle, end = (int(value) for value in self.ends[index])
        dataset, ways, shots = (int(value) for value in self.heads[index])
        return TaskSpec(
            index=index,
            dataset=dataset,
            ways=ways,
            shots=shots,
            classes=self.classes[first_class:last_class].astype(np.int64),
            support=self.rows[start:middle].astype(np.int64),
            support_labels=self.labels[start:middle].astype(np.int64),
            query=self.rows[middle:end].astype(np.int64),
            query_labels=self.labels[middle:end].astype(np.int64),
        )

    def to_bytes(self) -> bytes:
        """The table as an `npz` archive behind its digest."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.__dict__)
        return digest_of(buffer.getvalue()) + buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> DrawnTasks | None:
        """The table, or None if the bytes do not fit their digest."""
        digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if digest_of(body) != digest:
            return None
        with np.load(io.BytesIO(body), allow_pickle=False) as columns:
            return cls(**{name: columns[name] for name in columns.files})


class TableStore:
    """Tables by the digest of what they were drawn from: in memory, and in a folder where one is given.

    A file that does not fit its digest is drawn again. Safe to use from several threads.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._tables: dict[str, DrawnTasks] = {}
        self._lock = threading.Lock()

    def table(self, key: str, draw: Callable[[], Iterable[TaskSpec]]) -> DrawnTasks:
        """The table of `key`, drawn if it is neither in memory nor in the folder."""
        digest = hashlib.sha256(key.encode()).hexdigest()
        with self._lock:
            if digest not in self._tables:
                self._tables[digest] = self._read(digest) or self._write(digest, DrawnTasks.of(draw()))
            return self._tables[digest]

    def _path(self, digest: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{digest}.anyshot-tasks"

    def _read(self, digest: str) -> DrawnTasks | None:
        path = self._path(digest)
        return DrawnTasks.from_bytes(path.read_bytes()) if path is not None and path.exists() else None

    def _write(self, digest: str, table: DrawnTasks) -> DrawnTasks:
        path = self._path(digest)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.name}.{os.getpid()}")
            unfinished.write_bytes(table.to_bytes())
            unfinished.replace(path)
        return table
