"""The members of a team change their note and tags on a submission."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Written, changes_upon
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.submissions.models import Submission, SubmissionTag
from anyshot_platform.judging.submissions.tags import read_tags, tags_of
from anyshot_platform.judging.visibility.access import SubmissionAccess, require_own

LONGEST_NOTE = 500


def note_fields(submission: Submission, tags: Iterable[str]) -> dict[str, Any]:
    """The note, and the tags in order."""
    return {"comment": submission.comment, "tags": " ".join(sorted(tags))}


def annotate(
    session: Session,
    found: SubmissionAccess,
    comment: str | None,
    tags: Iterable[str] | None,
    version: str | None,
) -> None:
    """Change the note, the tags, or both; None leaves as it is. Raises `Forbidden` for others than the team, `Invalid`.

    `version` and `Stale` are as in `changes_upon`.
    """
    require_own(found)
    submission = found.submission
    current = note_fields(submission, tags_of(session, [submission.id]).get(submission.id, []))
    sent = {} if comment is None else {"comment": comment}
    if tags is not None:
        sent["tags"] = " ".join(read_tags(tags))
    who = Written(None, submission.noted_by, submission.noted_at)
    wanted = changes_upon(session, who, version, sent, current)
    if len(wanted.get("comment", "")) > LONGEST_NOTE:
        words = f"A note has at most {LONGEST_NOTE} characters; this one has {len(wanted['comment'])}."
        raise Invalid(words, field="comment")
    if "comment" in wanted:
        submission.comment = wanted["comment"].strip()
    if "tags" in wanted:
        session.execute(delete(SubmissionTag).where(SubmissionTag.submission_id == submission.id))
        tagged = wanted["tags"].split()
        session.add_all(SubmissionTag(submission_id=submission.id, tag=tag) for tag in tagged)
    if wanted:
        submission.noted_by, submission.noted_at = found.viewer.id, now()
    session.flush()
