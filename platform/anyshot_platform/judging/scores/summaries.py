"""What a run scores whose parts, shards or datasets, were put together."""

from dataclasses import replace

from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable


def summarize_whole(table: TaskTable, tasks: int) -> RunSummary:
    """The summary of the whole; where the code failed on a dataset, its tasks count as guessed (0) in the mean.

    By dataset they are missing, which is the worst rank there. The groups are of the tasks that were answered. Other
    metrics have no figure: over the easier datasets alone they would be better than those of who answered all.
    """
    if len(table) == tasks:
        return summarize(table, tasks)
    found = summarize(table, table.task.tolist())
    share = len(table) / tasks
    half_width = None if found.half_width is None else found.half_width * share
    return replace(found, mean=found.mean * share, half_width=half_width, tasks=tasks, metrics=())
