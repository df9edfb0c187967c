"""What the members of a team write on a submission, and who wrote it last."""

from collections.abc import Iterable
from typing import Any

from anyshot_platform.actions.concurrency import Written
from anyshot_platform.judging.submissions.models import Submission


def note_fields(submission: Submission, tags: Iterable[str]) -> dict[str, Any]:
    """The note, and the tags in order."""
    return {"comment": submission.comment, "tags": " ".join(sorted(tags))}


def who_noted(submission: Submission) -> Written:
    """Who wrote the note or the tags last."""
    return Written(None, submission.noted_by, submission.noted_at)
