"""Per-task results and predictions of a run as versioned Parquet files (see `docs/science/result-files.md`)."""

from anyshot_core.results.formats import FORMAT_VERSION, BadResultsFile, read_kind
from anyshot_core.results.identity import Identity, Maker, digest_code
from anyshot_core.results.predictions import PredictionsFile, read_predictions, write_predictions
from anyshot_core.results.runs import FoundRun, find_runs, is_archive
from anyshot_core.results.tasks import ResultsFile, read_results, write_results

__all__ = [
    "FORMAT_VERSION",
    "BadResultsFile",
    "FoundRun",
    "Identity",
    "Maker",
    "PredictionsFile",
    "ResultsFile",
    "digest_code",
    "find_runs",
    "is_archive",
    "read_kind",
    "read_predictions",
    "read_results",
    "write_predictions",
    "write_results",
]
