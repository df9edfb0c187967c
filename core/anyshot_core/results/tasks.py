"""`results.parquet`: one row a task, the columns of `anyshot_scoring.table.TaskTable`."""

from typing import Any, NamedTuple

import pyarrow as pa

from anyshot_core.results.formats import Target, read_marked, require_columns, write_marked
from anyshot_core.results.identity import Description, Identity, describe
from anyshot_scoring.table import COLUMNS, INTEGERS, STRINGS, TaskTable

KIND = "results"


def _type(name: str) -> pa.DataType:
    if name in STRINGS:
        return pa.string()
    return pa.int64() if name in INTEGERS else pa.float64()


SCHEMA = pa.schema([pa.field(name, _type(name), nullable=False) for name in COLUMNS])


class ResultsFile(NamedTuple):
    """The per-task table and what the run was: `identity` says it in the one schema, `meta` as the file has it."""

    table: TaskTable
    meta: dict[str, Any]

    @property
    def identity(self) -> Identity:
        """Whose results of which run. Raises `BadResultsFile`."""
        return Identity.of(self.meta)


def write_results(target: Target, table: TaskTable, identity: Description) -> None:
    """Write a run's per-task results to a path or a binary file."""
    arrays = [pa.array(column, type=_type(name)) for name, column in table.columns().items()]
    write_marked(target, pa.Table.from_arrays(arrays, schema=SCHEMA), KIND, describe(identity))


def read_results(source: Target) -> ResultsFile:
    """Read a run's per-task results. Raises `BadResultsFile` or `FileNotFoundError`."""
    table, meta = read_marked(source, KIND)
    columns = require_columns(table, SCHEMA)
    return ResultsFile(TaskTable.from_columns({name: columns[name].to_numpy() for name in COLUMNS}), meta)
