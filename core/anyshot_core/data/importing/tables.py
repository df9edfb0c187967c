"""A CSV file with paths of images and their classes."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyshot_core.data.importing.images import CannotImport, Source, SourceImage

FILE_COLUMNS = ("FILE_NAME", "file_name", "filename", "file", "path", "image", "image_path", "img")
CLASS_COLUMNS = ("CATEGORY", "category", "class", "label", "target", "class_name")
SUPER_COLUMNS = ("SUPER_CATEGORY", "super_category", "super_class", "superclass")


@dataclass(frozen=True)
class Columns:
    """Names of the columns; None: the first known name that the header has."""

    file: str | None = None
    category: str | None = None
    super_category: str | None = None


def read_csv(path: Path, columns: Columns | None = None, images: Path | None = None) -> Source:
    """The images that a CSV file lists; paths are relative to `images`, or to the file's own folder.

    Raises:
        CannotImport: no such column, an empty cell, or a file that is not there (each with its line).
    """
    rows, header = _read(path)
    wanted = columns or Columns()
    file = _column(path, header, wanted.file, FILE_COLUMNS, "--file-column", "images")
    category = _column(path, header, wanted.category, CLASS_COLUMNS, "--class-column", "classes")
    above = _super_column(path, header, wanted.super_category)
    base = images or path.parent
    return Source(iter([_image(path, base, row, file, category, above) for row in rows]))


def read_super_classes(path: Path) -> dict[str, str]:
    """Super-class by class, of a CSV file with two columns and a header. Raises `CannotImport`."""
    rows, header = _read(path)
    if len(header) != 2:
        raise CannotImport(
            f"{path}: found {len(header)} columns; expected two: the class and its super-class."
        )
    return {cells[header[0]].strip(): cells[header[1]].strip() for _, cells in rows}


_Row = tuple[int, dict[str, str]]  # line of the file, cells by column


def _read(path: Path) -> tuple[list[_Row], Sequence[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=_delimiter(first), restval="")
            rows = [(reader.line_num, row) for row in reader]
            return rows, list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CannotImport(f"{path}: this is no CSV file in UTF-8 that can be read ({error}).") from error


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _column(
    path: Path, header: Sequence[str], wanted: str | None, known: Sequence[str], option: str, what: str
) -> str:
    found = [name for name in ([wanted] if wanted else known) if name in header]
    if found:
        return found[0]
    missing = f"no column “{wanted}”" if wanted else f"no column of {what}"
    raise CannotImport(
        f"{path}: found {missing}; its columns are {', '.join(header)}. Name it with {option}."
    )


def _super_column(path: Path, header: Sequence[str], wanted: str | None) -> str | None:
    if wanted is not None:
        return _column(path, header, wanted, (), "--super-column", "super-classes")
    return next((name for name in SUPER_COLUMNS if name in header), None)


def _image(path: Path, base: Path, row: _Row, file: str, category: str, above: str | None) -> SourceImage:
    line, cells = row
    name, label = cells[file].strip(), cells[category].strip()
    if not name or not label:
        raise CannotImport(f"{path}, line {line}: the cell of “{category if name else file}” is empty.")
    content = base / name
    if not content.is_file():
        raise CannotImport(
            f"{path}, line {line}: there is no file {content}. Say with --images where the paths begin."
        )
    return SourceImage(content, label, name, (cells[above] or "").strip() if above else "")
