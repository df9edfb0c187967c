"""What scoring refuses to do, as one tree of exceptions."""


class ScoringError(ValueError):
    """Base of everything that scoring refuses."""


class BadPrediction(ScoringError):
    """A participant's prediction is not one label in `[0, ways)` for each query image.

    `task` is the position of the task in the call, None when a single task was scored.
    """

    def __init__(self, message: str, task: int | None = None) -> None:
        super().__init__(message)
        self.task = task


class BadTask(ScoringError):
    """A task itself is wrong: the organizer's or the platform's fault, never the participant's."""

    def __init__(self, message: str, task: int | None = None) -> None:
        super().__init__(message)
        self.task = task


class BadTable(ScoringError):
    """Columns are missing, of unequal length or of a type that cannot be converted."""


class IncompleteRun(ScoringError):
    """A run lacks tasks, or tasks of it failed: it has no score.

    `missing` are the indices of expected tasks without a row, `failed` those whose score is not a number,
    `unexpected` those that nobody asked for or that occur twice.
    """

    def __init__(self, missing: list[int], failed: list[int], unexpected: list[int], expected: int) -> None:
        self.missing, self.failed, self.unexpected, self.expected = missing, failed, unexpected, expected
        parts = [
            f"{len(tasks):,} {word} (first: {tasks[0]})"
            for word, tasks in (
                ("missing", missing),
                ("failed", failed),
                ("unexpected or double", unexpected),
            )
            if tasks
        ]
        super().__init__(f"The run is incomplete: of {expected:,} expected tasks, {', '.join(parts)}.")


class NothingToRank(ScoringError):
    """A ranking rule was given runs that it cannot combine."""
