"""Tables as files: CSV that no spreadsheet runs, JSON, Parquet."""

import csv
import io
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class Form(StrEnum):
    """How a table is written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
MEDIA = {
    Form.CSV: "text/csv; charset=utf-8",
    Form.JSON: "application/json",
    Form.PARQUET: "application/vnd.apache.parquet",
}


def write(rows: Sequence[dict[str, Any]], columns: Sequence[str], form: Form) -> bytes:
    """Rows in one of the forms; an empty table keeps its columns."""
    if form == Form.JSON:
        return json.dumps(list(rows), ensure_ascii=False, indent=1).encode()
    if form == Form.PARQUET:
        return write_parquet(pa.table({name: pa.array([row[name] for row in rows]) for name in columns}))
    target = io.StringIO()
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return target.getvalue().encode()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; a text that is a number stays one."""
    begins_one = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if begins_one and not _NUMBER.fullmatch(value) else value


def write_parquet(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd")
    return target.getvalue()
