"""A league as a part of the competition's file, and back: the one place that knows both."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from anyshot_platform.bundles.schema import (
    AwardsSpec,
    ColumnSpec,
    LeagueQuestionSpec,
    LeagueQuotaSpec,
    LeagueSpec,
)
from anyshot_platform.leagues.models import League
from anyshot_platform.leagues.states import AwardSplit


def league_values(spec: LeagueSpec) -> dict[str, Any]:
    """The columns of a league that a file's part decides, all but its key and place; a moment without a zone is UTC."""
    return {
        "name": spec.title,
        "description": spec.description,
        "prizes": spec.prizes,
        "awards": spec.awards.amounts if spec.awards else [],
        "currency": spec.awards.currency if spec.awards else "EUR",
        "award_split": spec.awards.split if spec.awards else AwardSplit.EQUALLY,
        "admission": spec.admission,
        "every_member_qualifies": spec.every_member,
        "questions": [question.model_dump() for question in spec.questions],
        "closed_to_newcomers": spec.closed_to_newcomers,
        "opens_at": spec.opens if spec.opens is None or spec.opens.tzinfo else spec.opens.replace(tzinfo=UTC),
        "quota_day": spec.quota.per_day if spec.quota else None,
        "quota_phase": spec.quota.total if spec.quota else None,
        "columns": [column.model_dump() for column in spec.columns],
    }


def describe_league(league: League) -> LeagueSpec:
    """The part of the file that makes this league."""
    limited = league.quota_day is not None or league.quota_phase is not None
    return LeagueSpec(
        key=league.slug,
        title=league.name,
        description=league.description,
        admission=league.admission,
        every_member=league.every_member_qualifies,
        questions=[LeagueQuestionSpec.model_validate(question) for question in league.questions],
        closed_to_newcomers=league.closed_to_newcomers,
        opens=league.opens_at,
        quota=LeagueQuotaSpec(per_day=league.quota_day, total=league.quota_phase) if limited else None,
        prizes=league.prizes,
        awards=AwardsSpec(amounts=league.awards, currency=league.currency, split=league.award_split)
        if league.awards
        else None,
        columns=[ColumnSpec.model_validate(column) for column in league.columns],
    )
