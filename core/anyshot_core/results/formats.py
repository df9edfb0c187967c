"""What both file formats share: the marks in the schema that name kind, version and what the run was."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT_VERSION = 1
Target = str | os.PathLike[str] | BinaryIO


class BadResultsFile(ValueError):
    """The file is not one of ours, of a newer version, or damaged."""


def write_marked(target: Target, table: pa.Table, kind: str, meta: Mapping[str, Any]) -> None:
    """Write a Parquet file whose schema carries kind, version and `meta` (JSON data).

    The same input gives the same bytes.
    """
    marks = {
        "anyshot.kind": kind,
        "anyshot.version": str(FORMAT_VERSION),
        "anyshot.meta": json.dumps(dict(meta), sort_keys=True, allow_nan=False, ensure_ascii=False),
    }
    sink = os.fspath(target) if isinstance(target, str | os.PathLike) else target
    pq.write_table(table.replace_schema_metadata(marks), sink, compression="zstd", version="2.6")


def read_marked(source: Target, kind: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read what `write_marked` wrote. Raises `BadResultsFile`, or `FileNotFoundError`."""
    if isinstance(source, str | os.PathLike) and not Path(source).is_file():
        raise FileNotFoundError(f"There is no file {os.fspath(source)}.")
    try:
        # ParquetFile and not read_table: the latter would look for a partitioned data set around the file.
        with pq.ParquetFile(os.fspath(source) if isinstance(source, os.PathLike) else source) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise BadResultsFile(f"The file is not readable as Parquet: {error}") from error
    return table, _read_marks(table.schema.metadata or {}, kind)


def read_kind(source: str | os.PathLike[str]) -> str:
    """Which kind a file on disk says it is: "results", "predictions", or "" for a foreign Parquet file.

    Raises `BadResultsFile` or `FileNotFoundError`.
    """
    if not Path(source).is_file():
        raise FileNotFoundError(f"There is no file {os.fspath(source)}.")
    try:
        marks = pq.read_schema(os.fspath(source)).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise BadResultsFile(f"The file is not readable as Parquet: {error}") from error
    return marks.get(b"anyshot.kind", b"").decode(errors="replace")


def require_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of `schema`, in its order and types. Raises `BadResultsFile`."""
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise BadResultsFile(f"The file lacks the columns {', '.join(missing)}.")
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        raise BadResultsFile(f"A column has the wrong type: {error}") from error


def _read_marks(marks: Mapping[bytes, bytes], kind: str) -> dict[str, Any]:
    found, version = marks.get(b"anyshot.kind", b"").decode(), marks.get(b"anyshot.version", b"").decode()
    if found != kind:
        raise BadResultsFile(f"The file holds {found or 'something unmarked'}, expected Anyshot {kind}.")
    if version != str(FORMAT_VERSION):
        raise BadResultsFile(
            f"The file has format version {version or 'none'}; this release reads version {FORMAT_VERSION}."
        )
    try:
        meta = json.loads(marks.get(b"anyshot.meta", b"{}"))
    except ValueError as error:
        raise BadResultsFile(f"The description of the run is not JSON: {error}") from error
    if not isinstance(meta, dict):
        raise BadResultsFile("The description of the run is not an object.")
    return meta
