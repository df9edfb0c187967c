"""A team's note and tags on a submission: for its members alone, and changed at any time."""

import re
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.submissions.models import Submission, SubmissionTag

LONGEST_NOTE = 500
MOST_TAGS = 10
_TAG = re.compile(r"[\w][\w.+-]{0,29}")


def annotate(
    session: Session,
    submission: Submission,
    by: str,
    *,
    comment: str | None = None,
    tags: Sequence[str] | None = None,
) -> None:
    """Change the note, the tags, or both, as the user `by`; None leaves as it is. Raises `Invalid`."""
    if comment is not None:
        if len(comment) > LONGEST_NOTE:
            raise Invalid(
                f"A note has at most {LONGEST_NOTE} characters; this one has {len(comment)}.",
                field="comment",
            )
        submission.comment = comment.strip()
    if tags is not None:
        wanted = read_tags(tags)
        session.execute(delete(SubmissionTag).where(SubmissionTag.submission_id == submission.id))
        session.add_all(SubmissionTag(submission_id=submission.id, tag=tag) for tag in wanted)
    if comment is not None or tags is not None:
        submission.noted_by, submission.noted_at = by, now()
    session.flush()


def plain_tag(word: str) -> str:
    """A tag as it is kept, whatever the case, and with or without its #."""
    return word.strip().lstrip("#").lower()


def read_tags(words: Iterable[str]) -> list[str]:
    """Tags as they are kept: in small letters, each once, in order. Raises `Invalid`."""
    tags = sorted({plain_tag(word) for word in words} - {""})
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise Invalid(
                (f"“{tag}” cannot be a tag: a tag has at most 30 letters, digits, and . _ + - inside."),
                field="tags",
            )
    if len(tags) > MOST_TAGS:
        raise Invalid(
            f"A submission has at most {MOST_TAGS} tags; these are {len(tags)}.",
            field="tags",
        )
    return tags


def tags_of(session: Session, submission_ids: Iterable[str]) -> dict[str, list[str]]:
    """The tags of submissions, by their ids; those without any are left out."""
    found: dict[str, list[str]] = {}
    rows = session.scalars(
        select(SubmissionTag)
        .where(SubmissionTag.submission_id.in_(list(submission_ids)))
        .order_by(SubmissionTag.tag)
    )
    for row in rows:
        found.setdefault(row.submission_id, []).append(row.tag)
    return found
