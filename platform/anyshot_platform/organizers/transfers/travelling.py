"""Which tables travel with a competition, how rows are found and typed, and why other tables stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from typing import Annotated, Any

from pydantic import AwareDatetime, Field, JsonValue, TypeAdapter
from sqlalchemy import JSON, Boolean, Date, Float, Integer, String, inspect
from sqlalchemy.sql.elements import ColumnElement

from anyshot_platform.announcements.models import Announcement
from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.competitions.models import Membership
from anyshot_platform.database import Base, Moment, TypedJson, Word
from anyshot_platform.discussion.models import Post, PostEdit, Thread
from anyshot_platform.entries.models import Entry, EntryChange, LeagueAnswer, TeamVerdict
from anyshot_platform.fact_sheets.models import FactSheet
from anyshot_platform.judging.kinds import counting_runs
from anyshot_platform.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.leagues.models import LeagueEntry
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.results.models import WinnerCheck
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.submissions.models import Submission, SubmissionTag
from anyshot_platform.submissions.states import SubmissionKind
from anyshot_platform.teams.models import Team

RESULTS, PREDICTIONS = "results.parquet", "predictions.parquet"
LONGEST = 1_000_000  # characters of a text without a limit of its own


@dataclass(frozen=True)
class Travelling:
    """A table that travels: rows whose `via` is among the travelling rows of the table that it refers to."""

    table: type[Base]
    via: str
    only: Callable[[], ColumnElement[bool]] | None = None
    left: frozenset[str] = field(default_factory=frozenset)  # attributes that stay at home

    @property
    def name(self) -> str:
        return self.table.__tablename__


def travels() -> ColumnElement[bool]:
    """Which files of runs travel: those by which scores are computed again."""
    return Artifact.final & Artifact.expired_at.is_(None) & Artifact.name.in_([RESULTS, PREDICTIONS])


_OF_THE_SITE = frozenset({"worker_id", "lease_expires_at", "rung_at", "private", "image"})
# In the order in which they refer to one another.
TRAVELLING = (
    Travelling(Team, "competition_id"),
    Travelling(Membership, "competition_id"),
    Travelling(Thread, "competition_id"),
    Travelling(Post, "thread_id"),
    Travelling(PostEdit, "post_id"),
    Travelling(Announcement, "competition_id"),
    Travelling(PhaseVersion, "phase_id", left=frozenset({"image"})),
    Travelling(Submission, "competition_id", lambda: Submission.kind != SubmissionKind.SMOKE),
    Travelling(SubmissionTag, "submission_id"),
    Travelling(LeagueEntry, "submission_id"),
    Travelling(LeagueAnswer, "membership_id"),
    Travelling(TeamVerdict, "team_id"),
    Travelling(Run, "submission_id", lambda: counting_runs() & Run.state.in_(ENDED), _OF_THE_SITE),
    Travelling(
        Artifact,
        "run_id",
        travels,
    ),
    Travelling(RunScore, "run_id"),
    Travelling(SubmissionScore, "submission_id"),
    Travelling(Entry, "phase_id"),
    Travelling(EntryChange, "entry_id"),
    Travelling(BoardRow, "submission_score_id"),
    Travelling(BoardChange, "submission_id"),
    Travelling(FactSheet, "team_id"),
    Travelling(WinnerCheck, "phase_id"),
)
_BUNDLE = "its description is in bundle.zip"
_ACCOUNT = "belongs to an account of the site"
_MACHINE = "is of this site's machines"
STAYING = {
    "competitions": _BUNDLE,
    "competition_pages": _BUNDLE,
    "competition_files": _BUNDLE,
    "phases": _BUNDLE,
    "leagues": _BUNDLE,
    "gates": _BUNDLE,
    "evaluation_pools": _BUNDLE,
    "phase_notices": "members are told of dates by the site where the competition goes on",
    "baselines": _BUNDLE,
    "users": "people travel as placeholders, without address and password",
    "placeholders": "whoever has not claimed a place travels as another placeholder",
    "blobs": "files travel by their digest where a travelling row names them",
    "pools": "data are uploaded anew: the bundle names them by their digest",
    "pool_versions": "data are uploaded anew: the bundle names them by their digest",
    "pool_packs": "data are uploaded anew: the bundle names them by their digest",
    "packs": "data are uploaded anew: the bundle names them by their digest",
    "pack_keepers": _ACCOUNT,
    "team_invitations": "a captain invites again on the other site",
    "audit_entries": "who did what on this site is kept on this site",
    "reports": "they are computed again from the results",
    "rehearsals": "a rehearsal is a competition of this site",
    "webhooks": "their addresses and secrets are this site's",
    "webhook_deliveries": "their addresses and secrets are this site's",
    "notifications": _ACCOUNT,
    "notification_choices": _ACCOUNT,
    "notification_mutes": _ACCOUNT,
    "emails": _ACCOUNT,
    "uploads": _ACCOUNT,
    "login_sessions": _ACCOUNT,
    "api_tokens": _ACCOUNT,
    "recovery_codes": _ACCOUNT,
    "one_time_tokens": _ACCOUNT,
    "oauth_identities": _ACCOUNT,
    "rate_hits": _ACCOUNT,
    "attempts": _MACHINE,
    "run_events": "logs hold what machines of this site wrote",
    "event_counts": "logs hold what machines of this site wrote",
    "run_measures": "curves hold what machines of this site measured",
    "further_tests": "the act says how many scores stay; a run that is run again tests its learner further there",
    "workers": _MACHINE,
    "worker_tokens": _MACHINE,
    "images": _MACHINE,
    "alerts": _MACHINE,
    "outbox_rings": _MACHINE,
    "loops": _MACHINE,
    "sweeps": _MACHINE,
    "troubles": _MACHINE,
}
# What is settled while a competition runs, which its description does not say.
PHASE_STATE = ("paused_at", "closed_at", "frozen_at", "published_at", "key_published_at", "live_version")
COMPETITION_STATE = ("terms_version", "code_published_at")
PERSON = ("username", "display_name", "affiliation", "country", "homepage")


@dataclass(frozen=True)
class Attribute:
    """One value of a row: how it is read and written, and which table it refers to."""

    name: str
    adapter: TypeAdapter[Any]
    refers_to: str | None
    nullable: bool

    def dump(self, value: Any) -> Any:
        """The value as JSON."""
        return None if value is None else self.adapter.dump_python(value, mode="json")

    def read(self, value: Any) -> Any:
        """The value from JSON; raises `ValidationError`."""
        return self.adapter.validate_python(value)


@cache
def attributes_of(table: type[Base]) -> Mapping[str, Attribute]:
    """The attributes of a table's rows, without counters that the database gives."""
    found: dict[str, Attribute] = {}
    for attribute in inspect(table).column_attrs:
        column = attribute.columns[0]
        if column.primary_key and isinstance(column.type, Integer):
            continue
        target = next((key.column.table.name for key in column.foreign_keys), None)
        nullable = bool(column.nullable) or isinstance(column.type, TypedJson)
        kind = _kind(table, attribute.key, column.type)
        found[attribute.key] = Attribute(
            attribute.key, TypeAdapter(kind | None if nullable else kind), target, nullable
        )
    return found


def _kind(table: type[Base], name: str, column_type: Any) -> Any:
    """The Pydantic type of a column, with the limits that the database has."""
    if isinstance(column_type, Word):
        return column_type.words
    if isinstance(column_type, TypedJson):
        return column_type.kind
    if isinstance(column_type, Moment):
        return AwareDatetime
    if isinstance(column_type, JSON):
        wanted = str(table.__annotations__[name])
        if "dict[str, float]" in wanted:
            return dict[str, Annotated[float, Field(allow_inf_nan=False)] | None]
        return list[JsonValue] if wanted.startswith("Mapped[list") else dict[str, JsonValue]
    simple: dict[type, Any] = {
        Boolean: bool,
        Date: date,
        Float: Annotated[float, Field(allow_inf_nan=False)],
        Integer: Annotated[int, Field(ge=-(2**31), lt=2**63)],
    }
    for kind, meant in simple.items():
        if isinstance(column_type, kind):
            return meant
    assert isinstance(column_type, String), f"{table.__tablename__}.{name} has a type that does not travel"
    return Annotated[str, Field(max_length=column_type.length or LONGEST)]


def moment_of(value: Any) -> datetime | None:
    """A moment of a state, or none; raises `ValidationError`."""
    return TypeAdapter(AwareDatetime | None).validate_python(value)
