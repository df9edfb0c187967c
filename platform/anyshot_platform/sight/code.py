"""Whose code is public: the winners' whose publication stands."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_

from anyshot_platform.competitions.models import Competition
from anyshot_platform.phases.models import Phase
from anyshot_platform.sight.standing import counting
from anyshot_platform.submissions.models import Submission


def code_is_public() -> ColumnElement[bool]:
    """Submissions whose zip everybody may have: published with their phase, and still standing."""
    return and_(
        Submission.code_published_at.is_not(None),
        Phase.published_at.is_not(None),
        Phase.deleted_at.is_(None),
        counting(),
    )


def has_code_page(competition: Competition) -> bool:
    """Whether the competition has a page of published code."""
    return competition.code_published_at is not None
