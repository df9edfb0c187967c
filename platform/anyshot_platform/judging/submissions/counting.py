"""How many submissions there are that are, or are to be, scored: all but smoke tests."""

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind


def count_uploads(session: Session, *of: ColumnElement[bool]) -> int:
    """The submissions of which all this holds, smoke tests left out."""
    query = select(func.count(Submission.id)).where(*of, Submission.kind != SubmissionKind.SMOKE)
    return session.scalar(query) or 0
