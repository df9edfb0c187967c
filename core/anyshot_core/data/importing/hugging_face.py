"""Datasets of the Hugging Face Hub: their Parquet files, or the Arrow files that `save_to_disk` writes, read without
the package `datasets`.

An image is stored as {bytes, path}; the names of classes stand in the file's schema, under the key `huggingface`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, UnidentifiedImageError

from anyshot_core.data.importing.images import CannotImport, Source, SourceImage

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 256  # rows that are in memory at once


@dataclass(frozen=True)
class _Columns:
    image: str
    label: str
    above: str | None
    names: dict[str, list[str]]  # of the columns that are numbers with names


def read_parquet(
    path: Path, *, image: str | None = None, label: str | None = None, super_label: str | None = None
) -> Source:
    """A Parquet file, or a folder: all its Parquet files, else its Arrow files, and the licence that it names.

    Raises:
        CannotImport: no such files, no such columns, or pyarrow is missing.
    """
    files = _files(path)
    with _opened(files[0]) as opened:
        columns = _columns(files[0], opened.schema, image, label, super_label)
    joined = (f"{len(files)} files were joined: tasks are drawn from all images of a class.",)
    return Source(
        _images(files, columns),
        licence=_licence(path),
        notes=joined if len(files) > 1 else (),
    )


def _files(path: Path) -> list[Path]:
    files = (sorted(path.rglob("*.parquet")) or _saved(path)) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise CannotImport(
            f"{path}: found neither Parquet nor Arrow files. Download the dataset with `huggingface-cli download"
            " --repo-type dataset NAME --local-dir FOLDER`; one in another format has Parquet files in its branch"
            " refs/convert/parquet."
        )
    return files


def _saved(folder: Path) -> list[Path]:
    """The Arrow files that a `state.json` names: `datasets` leaves what it made of them later beside them."""
    try:
        named = [
            state.parent / file["filename"]
            for state in sorted(folder.rglob("state.json"))
            for file in json.loads(state.read_text(encoding="utf-8"))["_data_files"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise CannotImport(f"{folder}: a state.json names no files ({error!r}).") from error
    return named or sorted(folder.rglob("*.arrow"))


@dataclass(frozen=True)
class _Opened:
    """A file that is open: its schema, and its rows in batches, of the columns that are asked for."""

    schema: pa.Schema
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]


@contextmanager
def _opened(file: Path) -> Iterator[_Opened]:
    try:
        import pyarrow as pa
        import pyarrow.lib
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise CannotImport(
            "Parquet files need pyarrow: pip install 'anyshot-core[results]' brings it."
        ) from error
    try:
        if file.suffix != ".arrow":
            found = parquet.ParquetFile(file)
            yield _Opened(found.schema_arrow, lambda names: found.iter_batches(_BATCH, columns=names))
            return
        with pa.memory_map(str(file)) as source, pa.ipc.open_stream(source) as stream:
            yield _Opened(stream.schema, lambda names: (batch.select(names) for batch in stream))
    except (pyarrow.lib.ArrowInvalid, OSError) as error:
        kind = "Arrow stream" if file.suffix == ".arrow" else "Parquet file"
        raise CannotImport(f"{file}: this is no {kind} ({error}).") from error


def _columns(
    file: Path, schema: pa.Schema, image: str | None, label: str | None, above: str | None
) -> _Columns:
    features = _features(schema.metadata or {})
    pictures = [name for name in schema.names if _kind(features, name) == "Image"]
    numbered = [name for name in schema.names if _kind(features, name) == "ClassLabel"]
    chosen = {
        "--image-column": image or _only(pictures or [n for n in ("image", "img") if n in schema.names]),
        "--class-column": label or _only(numbered or [n for n in ("label", "labels") if n in schema.names]),
    }
    wanted = {**chosen, **({"--super-column": above} if above else {})}
    for option, name in wanted.items():
        if name is None or name not in schema.names:
            said = f"no column “{name}”" if name else "no column that is surely the one"
            raise CannotImport(
                f"{file}: found {said}; its columns are {', '.join(schema.names)}. Name it with {option}."
            )
    names = {name: features[name]["names"] for name in numbered}
    return _Columns(str(chosen["--image-column"]), str(chosen["--class-column"]), above, names)


def _only(names: Sequence[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def _features(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    try:
        return dict(json.loads(metadata[b"huggingface"])["info"]["features"])
    except (KeyError, ValueError, TypeError):
        return {}


def _kind(features: dict[str, Any], name: str) -> str:
    found = features.get(name)
    return str(found.get("_type", "")) if isinstance(found, dict) else ""


def _images(files: Sequence[Path], columns: _Columns) -> Iterator[SourceImage]:
    wanted = [columns.image, columns.label, *([columns.above] if columns.above else [])]
    for file in files:
        with _opened(file) as opened:
            rows = (cells for batch in opened.batches(wanted) for cells in batch.to_pylist())
            for row, cells in enumerate(rows):
                name = f"{file.name}, row {row}"
                above = _name(columns, columns.above, cells, name) if columns.above else ""
                category = _name(columns, columns.label, cells, name)
                yield SourceImage(_picture(cells[columns.image], name), category, name, above)


def _name(columns: _Columns, column: str, cells: dict[str, Any], where: str) -> str:
    value, names = cells[column], columns.names.get(column)
    if value is None or (isinstance(value, int) and names is not None and not 0 <= value < len(names)):
        raise CannotImport(f"{where}: found {value!r} in “{column}”; expected a class.")
    return names[value] if names is not None and isinstance(value, int) else str(value)


def _picture(cell: Any, where: str) -> Image.Image:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    if not isinstance(content, bytes):
        raise CannotImport(
            f"{where}: the file holds no bytes of the image, only a path: {cell!r:.80}. `save_to_disk` takes the bytes"
            " in; `to_parquet` does not."
        )
    try:
        return Image.open(io.BytesIO(content))
    except UnidentifiedImageError as error:
        raise CannotImport(f"{where}: the bytes are no image.") from error


def _licence(path: Path) -> str:
    """The licence that the card of a downloaded folder (`README.md`, YAML between two lines of dashes) names.

    A folder of `save_to_disk` has it in a `dataset_info.json`.
    """
    card = path / "README.md"
    if not card.is_file():
        return next((said for file in sorted(path.rglob("dataset_info.json")) if (said := _said(file))), "")
    head = re.match(r"---\n(.*?)\n---", card.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    found = re.search(r"^license:[ \t]*(?:\n\s*-\s*)?(\S+)", head[1], re.MULTILINE) if head else None
    return found[1].strip("\"'") if found else ""


def _said(info: Path) -> str:
    try:
        return str(json.loads(info.read_text(encoding="utf-8")).get("license") or "")
    except (ValueError, AttributeError):
        return ""
