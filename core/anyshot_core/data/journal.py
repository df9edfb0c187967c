"""Which blocks of an unfinished pack are written already."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO

from anyshot_core.data.block_worker import BlockResult


class Journal:
    """A file of JSON lines beside the unfinished pack: its source on the first line, then one line a block.

    A last line that was cut off by a crash is ignored: its block is done again.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        self._file: IO[str] | None = None

    def done(self) -> dict[int, BlockResult]:
        """The blocks that need not be done again; none if the journal belongs to another source."""
        results = {}
        for number, line in enumerate(self._lines()):
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                break
            if number == 0:
                if entry.get("source") != self.source:
                    return {}
                continue
            result = BlockResult.from_dict(entry)
            results[result.block] = result
        return results

    def _lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def start(self, done: dict[int, BlockResult]) -> None:
        """Write the journal anew with what is done."""
        lines = [
            json.dumps({"source": self.source}),
            *(json.dumps(asdict(result)) for result in done.values()),
        ]
        self.path.write_text("\n".join(lines) + "\n")

    def __enter__(self) -> Journal:
        self._file = self.path.open("a")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, result: BlockResult) -> None:
        """Note a block whose pixels are written."""
        assert self._file is not None
        self._file.write(json.dumps(asdict(result)) + "\n")
        self._file.flush()
