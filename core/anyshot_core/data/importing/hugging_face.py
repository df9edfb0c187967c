"""Datasets of the Hugging Face Hub: their Parquet files, read without the package `datasets`.

An image is stored as {bytes, path}; the names of classes stand in the file's schema, under the key `huggingface`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, UnidentifiedImageError

from anyshot_core.data.importing.images import CannotImport, Source, SourceImage

if TYPE_CHECKING:
    import pyarrow.parquet as parquet

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
    """A Parquet file, or a folder downloaded from the Hub: all its Parquet files, and the licence of its card.

    Raises:
        CannotImport: no Parquet files, no such columns, or pyarrow is missing.
    """
    files = _files(path)
    opened = _open(files[0])
    columns = _columns(files[0], opened, image, label, super_label)
    joined = (f"{len(files)} files were joined: tasks are drawn from all images of a class.",)
    return Source(
        _images(files, columns),
        licence=_licence(path),
        notes=joined if len(files) > 1 else (),
    )


def _files(path: Path) -> list[Path]:
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise CannotImport(
            f"{path}: found no Parquet files. Download the dataset with `huggingface-cli download --repo-type dataset"
            " NAME --local-dir FOLDER`; one in another format has Parquet files in its branch refs/convert/parquet."
        )
    return files


def _open(file: Path) -> parquet.ParquetFile:
    try:
        import pyarrow.lib
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise CannotImport(
            "Parquet files need pyarrow: pip install 'anyshot-core[results]' brings it."
        ) from error
    try:
        return parquet.ParquetFile(file)
    except (pyarrow.lib.ArrowInvalid, OSError) as error:
        raise CannotImport(f"{file}: this is no Parquet file ({error}).") from error


def _columns(
    file: Path, opened: parquet.ParquetFile, image: str | None, label: str | None, above: str | None
) -> _Columns:
    schema = opened.schema_arrow
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
        row = 0
        for batch in _open(file).iter_batches(_BATCH, columns=wanted):
            for cells in batch.to_pylist():
                name, row = f"{file.name}, row {row}", row + 1
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
        raise CannotImport(f"{where}: the file holds no bytes of the image, only a path: {cell!r:.80}.")
    try:
        return Image.open(io.BytesIO(content))
    except UnidentifiedImageError as error:
        raise CannotImport(f"{where}: the bytes are no image.") from error


def _licence(path: Path) -> str:
    """The licence that the card of a downloaded folder (`README.md`, YAML between two lines of dashes) names."""
    card = path / "README.md"
    if not card.is_file():
        return ""
    head = re.match(r"---\n(.*?)\n---", card.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    found = re.search(r"^license:\s*(?:\n\s*-\s*)?(\S+)", head[1], re.MULTILINE) if head else None
    return found[1].strip("\"'") if found else ""
