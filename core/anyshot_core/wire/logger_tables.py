"""The tables of what a submission logs while it trains, as both sides of the stream write them."""

import math

from anyshot_core.wire.messages import LoggerRow

COLUMNS = ("step", "iteration", "dataset", "ways", "shots", "loss", "accuracy", "normalized_accuracy")
TABLES = {False: "meta_train.csv", True: "meta_validation.csv"}


def cells(row: LoggerRow) -> list[str]:
    """The row as CSV cells in the order of `COLUMNS`; empty where there is no value."""
    numbers = (row.loss, row.accuracy, row.normalized_accuracy)
    sizes = ["" if size < 0 else str(size) for size in (row.ways, row.shots)]
    return [
        str(row.step),
        str(row.iteration),
        row.dataset,
        *sizes,
        *("" if math.isnan(n) else f"{n:.6g}" for n in numbers),
    ]
