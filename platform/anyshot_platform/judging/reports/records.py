"""What a report was asked for with and is computed from, as it is stored."""

from pydantic import BaseModel, ConfigDict

# What the worker of a report hands in, and what browsers are told that it is.
FILES = {
    "page.html": "text/html; charset=utf-8",
    "result.json": "application/json",
    "table.parquet": "application/vnd.apache.parquet",
    "log.txt": "text/plain; charset=utf-8",
}


class ExportedFile(BaseModel):
    """A file of a run: of which submission, by its shown name, which run, the file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    submission: str
    run: int
    digest: str
    size: int


class RunTable(ExportedFile):
    """The table of tasks of a run, with its predictions (digest, size) where they are kept."""

    predictions: tuple[str, int] | None = None


class ReportInputs(BaseModel):
    """What a report on a board or on submissions is computed from; nothing for a report on pools.

    `subjects` are the shown names of the submissions that were chosen for it.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    runs: tuple[RunTable, ...] = ()
    exports: tuple[ExportedFile, ...] = ()
    subjects: tuple[str, ...] = ()
