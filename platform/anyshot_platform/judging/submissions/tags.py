"""A team's tags on its submissions."""

import re
from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.submissions.models import SubmissionTag

MOST_TAGS = 10
_TAG = re.compile(r"[\w][\w.+-]{0,29}")


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
