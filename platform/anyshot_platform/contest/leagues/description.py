"""A league, described once: as a part of the competition's file, and as the columns of its row."""

from datetime import UTC
from typing import Annotated, Any, Literal

from pydantic import Field

from anyshot_core.metric_titles import METRIC_TITLES
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission, AwardSplit
from anyshot_platform.foundation.schema.parts import MOST, Key, Part, Title
from anyshot_platform.foundation.schema.quantities import Moment
from anyshot_platform.foundation.schema.settings import Effect, Triggers

_CONDITION = Triggers(Effect.CONDITIONS)
METRIC_WORDS = {
    **METRIC_TITLES,
    "duration": "Duration",
}
Metric = Literal[
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "duration",
]


class ColumnSpec(Part):
    """A further column of a league's board."""

    metric: Metric
    title: str = ""
    decimals: int = Field(default=3, ge=0, le=6)


class LeagueQuestionSpec(Part):
    """What a league asks those who want an entry in it."""

    key: Key
    label: Title
    answer: Literal["confirm", "text", "link"] = "confirm"
    required: bool = True
    shown_to: Literal["organizers", "team"] = "organizers"


class LeagueQuotaSpec(Part):
    """How many submissions of a team may enter the league, beside the phase's quota; null is unlimited."""

    per_day: int | None = Field(default=None, ge=0, le=MOST, description="a UTC day")
    total: int | None = Field(default=None, ge=0, le=MOST, description="in one phase")


class AwardsSpec(Part):
    """Money for a league's first places; in a tie the earlier submission has the better one."""

    amounts: list[Annotated[float, Field(gt=0, le=1e9)]] = Field(
        default=[], max_length=100, description="the first place's first"
    )
    currency: Annotated[str, Field(min_length=1, max_length=8)] = "EUR"
    split: AwardSplit = Field(
        default=AwardSplit.EQUALLY, description="between the members, or to the captain"
    )


class LeagueSpec(Part):
    key: Key
    title: Title
    description: str = ""
    admission: Annotated[Admission, _CONDITION] = Admission.ALL
    every_member: Annotated[bool, _CONDITION] = Field(
        default=False, description="every member of a team must answer the questions"
    )
    questions: Annotated[list[LeagueQuestionSpec], _CONDITION] = Field(default=[], max_length=20)
    closed_to_newcomers: bool = Field(default=False, description="teams without an entry cannot get one")
    opens: Moment | None = Field(default=None, description="when the league takes its first entries")
    quota: LeagueQuotaSpec | None = None
    prizes: str = Field(default="", description="in words, beside the awards")
    awards: AwardsSpec | None = None
    columns: list[ColumnSpec] = Field(default=[])


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
