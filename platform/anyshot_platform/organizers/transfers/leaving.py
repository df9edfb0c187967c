"""A competition leaves: its description, its rows and its files as one archive."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition
from anyshot_platform.database import Base, now
from anyshot_platform.kernel.signing import digest_secret
from anyshot_platform.leagues.models import League
from anyshot_platform.organizers.bundles.service import export_competition
from anyshot_platform.organizers.transfers.archive import BLOBS, BUNDLE, ROWS, ArchiveWriter
from anyshot_platform.organizers.transfers.claims import claim_code
from anyshot_platform.organizers.transfers.travelling import (
    COMPETITION_STATE,
    PERSON,
    PHASE_STATE,
    TRAVELLING,
    Travelling,
    attributes_of,
)
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import list_phases
from anyshot_platform.services import Services
from anyshot_platform.users.models import User

_AT_ONCE = 5_000  # ids in one question


def write_archive(
    services: Services, session: Session, competition: Competition, target: Path, *, emails: bool
) -> None:
    """Write the archive of a competition; `emails` puts people's confirmed addresses into it."""
    rows, blobs = collect(services, session, competition, emails=emails)
    made = now().isoformat(timespec="seconds")
    writer = ArchiveWriter(target, services.settings.base_url, competition.slug, made)
    bundle = export_competition(session, services.storage, competition, secrets=True)
    writer.add(BUNDLE, io.BytesIO(bundle))
    writer.add(ROWS, io.BytesIO(json.dumps(rows, ensure_ascii=False).encode()))
    for digest in sorted(blobs):
        with services.storage.open(digest) as stream:
            writer.add(f"{BLOBS}{digest}", stream)
    writer.close()


def collect(
    services: Services, session: Session, competition: Competition, *, emails: bool = False
) -> tuple[dict[str, Any], set[str]]:
    """The rows that travel, by table, and the digests of the files that they name."""
    phases = list_phases(session, competition)
    leagues = session.scalars(
        select(League).where(League.competition_id == competition.id, League.deleted_at.is_(None))
    ).all()
    ids: dict[str, set[str]] = {
        "competitions": {competition.id},
        "phases": {phase.id for phase in phases},
        "leagues": {league.id for league in leagues},
        "phase_versions": {phase.live.id for phase in phases},
        "pool_versions": {id_ for phase in phases for id_ in _pools_of(phase)},
        "users": set(),
    }
    rows: dict[str, Any] = {
        "competition": {"id": competition.id, **_state(competition, COMPETITION_STATE)},
        "phases": [_phase(phase) for phase in phases],
        "leagues": [{"id": league.id, "slug": league.slug} for league in leagues],
    }
    blobs: set[str] = set()
    for travelling in TRAVELLING:
        rows[travelling.name] = _rows(session, travelling, ids, blobs)
    rows["users"] = [
        _person(services, competition, user, emails) for user in _people(session, sorted(ids["users"]))
    ]
    return rows, blobs


def _pools_of(phase: Phase) -> list[str]:
    version = phase.live
    ids = (version.meta_train_pool_version_id, version.meta_test_pool_version_id)
    return [id_ for id_ in ids if id_ is not None]


def _state(row: Base, names: Sequence[str]) -> dict[str, Any]:
    found = {name: getattr(row, name) for name in names}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in found.items()
    }


def _phase(phase: Phase) -> dict[str, Any]:
    version = phase.live
    return {
        "id": phase.id,
        "slug": phase.slug,
        "live": version.id,
        "live_at": version.live_at.isoformat() if version.live_at else None,
        "meta_train": version.meta_train_pool_version_id,
        "meta_test": version.meta_test_pool_version_id,
        **_state(phase, PHASE_STATE),
    }


def _rows(
    session: Session, travelling: Travelling, ids: dict[str, set[str]], blobs: set[str]
) -> list[dict[str, Any]]:
    """The rows of a table, by id; one that needs a row which stays at home stays there too."""
    table, attributes = travelling.table, attributes_of(travelling.table)
    parent = attributes[travelling.via].refers_to or ""
    found = list(_find(session, travelling, sorted(ids[parent])))
    if travelling.name == "phase_versions":
        found = [row for row in found if row.id not in ids["phase_versions"]]
    if "id" in attributes:
        ids.setdefault(travelling.name, set()).update(row.id for row in found)
    kept: list[dict[str, Any]] = []
    for row in found:
        values = {
            name: attribute.dump(getattr(row, name))
            for name, attribute in attributes.items()
            if name not in travelling.left
        }
        if not _fits(values, table, ids):
            if "id" in values:
                ids[travelling.name].discard(values["id"])
            continue
        for name, value in values.items():
            target = attributes[name].refers_to
            if value is not None and target == "users":
                ids["users"].add(value)
            elif value is not None and target == "blobs":
                blobs.add(value)
        kept.append(values)
    return sorted(kept, key=lambda row: str(row.get("id", "")))


def _find(session: Session, travelling: Travelling, parents: Sequence[str]) -> Iterator[Any]:
    via = getattr(travelling.table, travelling.via)
    for first in range(0, len(parents), _AT_ONCE):
        query = select(travelling.table).where(via.in_(parents[first : first + _AT_ONCE]))
        yield from session.scalars(query.where(travelling.only()) if travelling.only else query)


def _fits(values: dict[str, Any], table: type[Base], ids: dict[str, set[str]]) -> bool:
    """Whether all that a row needs travels; what it can do without is emptied."""
    for name, attribute in attributes_of(table).items():
        target, value = attribute.refers_to, values.get(name)
        if value is None or target in (None, "users", "blobs") or value in ids.get(target, ()):
            continue
        if not attribute.nullable:
            return False
        values[name] = None
    return True


def _people(session: Session, ids: Sequence[str]) -> Iterator[User]:
    for first in range(0, len(ids), _AT_ONCE):
        yield from session.scalars(select(User).where(User.id.in_(ids[first : first + _AT_ONCE])))


def _person(services: Services, competition: Competition, user: User, emails: bool) -> dict[str, Any]:
    """What is told of somebody: what boards and pages show; a digest of the code by which they claim their place."""
    code = claim_code(services.signer, competition.id, user.id)
    return {
        "id": user.id,
        **{name: getattr(user, name) for name in PERSON},
        "claim": None if user.deleted_at else digest_secret(code),
        "email": user.email if emails and user.email_verified_at and not user.deleted_at else None,
    }
