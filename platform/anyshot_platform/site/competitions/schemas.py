"""What the API says about competitions."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.phases.states import PhaseKind, PhaseStatus


class CompetitionOut(BaseModel):
    """A competition in a list."""

    model_config = ConfigDict(from_attributes=True)

    slug: str
    title: str
    summary: str
    state: CompetitionState
    created_at: datetime


class PhaseOut(BaseModel):
    """A phase; its seeds are nobody's business."""

    slug: str
    name: str
    description: str
    kind: PhaseKind
    status: PhaseStatus
    starts_at: datetime
    ends_at: datetime | None
    time_zone: str
    deadline_rule: str = Field(
        description="what counts at its end, in one sentence; empty without an end or uploads"
    )
    accepts_uploads: bool
    tasks: int | None
    run_seconds: float | None
    task_seconds: float | None
    hardware_class: str | None
    seeded_runs: int | None
    ranking: str | None
    ranking_words: str | None
    quota_day: int | None
    quota_phase: int | None
    quota_concurrent: int | None
    commitment: str | None = Field(
        description="SHA-256 of the key that the tasks are drawn from, published when the phase opens"
    )
    key: str | None = Field(description="the key, once the organizers have published it")
    test_seeds: list[int] = Field(description="seeds of the tasks that were chosen, published with the key")
    split_seed: int | str | None = Field(description="the same of the split of classes")
    protocol: dict[str, Any] | None = Field(description="what draws the tasks, published with the key")
    run_settings: dict[str, Any] | None = Field(
        description="what else decides a run, published with the key: protocols of training and validation, limits"
    )


class LeagueOut(BaseModel):
    """A league as the API shows it: rules, prizes, who may enter."""

    model_config = ConfigDict(from_attributes=True)

    slug: str
    name: str
    description: str
    admission: str


class MembershipOut(BaseModel):
    """One's own standing in a competition."""

    role: Role
    status: MemberStatus
    team: str | None
    terms_version: int | None


class CompetitionDetail(CompetitionOut):
    """A competition with its phases and leagues."""

    terms: str
    terms_version: int
    registration: str
    team_size: int
    fact_sheet: list[Any]
    phases: list[PhaseOut]
    leagues: list[LeagueOut]
    membership: MembershipOut | None


class ReplyIn(BaseModel):
    """The answer to an invitation."""

    model_config = ConfigDict(extra="forbid")

    accept: bool
    accepts_terms: bool = False


class JoinIn(BaseModel):
    """A wish to take part."""

    model_config = ConfigDict(extra="forbid")

    accepts_terms: bool = False
    pseudonym: str | None = Field(default=None, max_length=64, description="The team's name on the board.")
