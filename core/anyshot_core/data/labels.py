"""`labels.csv` of a dataset, and the image files that it names."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from anyshot_core.data.images import READABLE_ENDINGS
from anyshot_core.data.metadata import DatasetInfo
from anyshot_core.data.problems import PackProblem

FILE = "labels.csv"


@dataclass(frozen=True)
class ImageRow:
    """One line of `labels.csv`."""

    line: int
    file: str
    category: str
    super_category: str
    annotations: tuple[str, ...] = ()


def read_rows(path: Path, dataset: str, info: DatasetInfo) -> tuple[list[ImageRow] | None, list[PackProblem]]:
    """The rows, or None where the table itself cannot be read; and what is wrong."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        found = f"text that is not UTF-8 (byte 0x{data[error.start]:02x})"
        remedy = "Save the file as UTF-8; spreadsheets offer it as 'CSV UTF-8'."
        return None, [PackProblem(dataset, FILE, line, found, "UTF-8", remedy)]
    table = csv.DictReader(io.StringIO(text, newline=""))
    try:
        problems = _missing_columns(dataset, table.fieldnames or [], info)
        if problems:
            return None, problems
        return _rows(table, info), []
    except csv.Error as error:
        remedy = "Correct the quotes and separators of this line."
        return None, [PackProblem(dataset, FILE, table.line_num, f"a broken line ({error})", "CSV", remedy)]


def row_problems(
    rows: Sequence[ImageRow], images: Path, dataset: str
) -> tuple[list[ImageRow], list[PackProblem]]:
    """The rows whose image can be used, and what is wrong: duplicates, absent and unlisted images."""
    present = _image_files(images)
    seen: dict[str, ImageRow] = {}
    problems = []
    for row in rows:
        problem = _row_problem(row, seen, present, dataset)
        if problem is None:
            seen[row.file] = row
        else:
            problems.append(problem)
    listed = {row.file for row in rows}
    problems += [_unlisted(file, dataset) for file in sorted(present - listed)]
    return list(seen.values()), problems


def _row_problem(
    row: ImageRow, seen: dict[str, ImageRow], present: set[str], dataset: str
) -> PackProblem | None:
    if not row.file or not row.category:
        empty = "category" if row.file else "file name"
        remedy = "Fill the cell, remove the line, or leave it out with --skip-bad."
        return PackProblem(dataset, FILE, row.line, f"no {empty}", "both cells filled", remedy)
    if _leaves_folder(row.file):
        remedy = "Name files relative to images/, without '..'."
        return PackProblem(dataset, FILE, row.line, f"path {row.file!r}", "a file inside images/", remedy)
    if row.file in seen:
        found = f"{row.file!r} again (first on line {seen[row.file].line})"
        remedy = "Remove one of the two lines; an image has one category."
        return PackProblem(dataset, FILE, row.line, found, "each file name once", remedy)
    if row.file not in present:
        found = f"{row.file!r}, which is not in images/"
        remedy = "Add the image, remove the line, or leave it out with --skip-bad."
        return PackProblem(dataset, FILE, row.line, found, "an image that exists", remedy)
    return None


def _missing_columns(dataset: str, found: Sequence[str], info: DatasetInfo) -> list[PackProblem]:
    if not found:
        return [
            PackProblem(
                dataset, FILE, 1, "an empty file", "a header line", "Write the column names on line 1."
            )
        ]
    wanted = {"image_column_name": info.image_column_name, "category_column_name": info.category_column_name}
    if info.has_super_categories and info.super_category_column_name:
        wanted["super_category_column_name"] = info.super_category_column_name
    wanted |= {f"one of annotation_columns ({column})": column for column in info.annotation_columns}
    return [
        PackProblem(
            dataset,
            FILE,
            1,
            f"the columns {', '.join(found)}",
            f"a column {column!r}",
            f"Add the column, or name the one that there is as {key} in info.json.",
        )
        for key, column in wanted.items()
        if column not in found
    ]


def _rows(table: csv.DictReader[str], info: DatasetInfo) -> list[ImageRow]:
    def cell(cells: dict[str, str], column: str | None) -> str:
        return (cells.get(column or "") or "").strip()

    return [
        ImageRow(
            line=table.line_num,
            file=cell(cells, info.image_column_name),
            category=cell(cells, info.category_column_name),
            super_category=cell(cells, info.super_category_column_name),
            annotations=tuple(cell(cells, column) for column in info.annotation_columns),
        )
        for cells in table
    ]


def _image_files(images: Path) -> set[str]:
    """Names relative to `images`, with forward slashes, of all image files, in sub-folders too."""
    found = set()
    for folder, folders, files in os.walk(images):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(folder).relative_to(images).as_posix()
        prefix = "" if below == "." else f"{below}/"
        found |= {prefix + name for name in files if not name.startswith(".")}
    return found


def _leaves_folder(file: str) -> bool:
    return file.startswith("/") or ".." in file.split("/") or "\\" in file or "\0" in file


def _unlisted(file: str, dataset: str) -> PackProblem:
    is_image = PurePosixPath(file).suffix.lower() in READABLE_ENDINGS
    found = "an image that labels.csv does not list" if is_image else "a file that labels.csv does not list"
    remedy = "Add a line for it to labels.csv, remove the file, or leave it out with --skip-bad."
    return PackProblem(dataset, f"images/{file}", None, found, "listed images only", remedy)
