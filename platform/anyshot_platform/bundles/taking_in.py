"""From the description of a competition to its rows."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import null, select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.service import touch_blob
from anyshot_platform.artifacts.storage import Storage
from anyshot_platform.baselines.models import Baseline
from anyshot_platform.bundles.files import write_zip
from anyshot_platform.bundles.naming import key_from, unique
from anyshot_platform.bundles.reading import Bundle
from anyshot_platform.bundles.schema import BaselineSpec, CompetitionSpec, PhaseSpec
from anyshot_platform.competitions.models import Competition, CompetitionPage
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.leagues.models import Gate, League
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.pools.models import Pool, PoolVersion
from anyshot_platform.users.models import User
from anyshot_starting_kit.protocols import PROTOCOLS

MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}


def store_bytes(session: Session, storage: Storage, content: bytes) -> str:
    """Keep content in the storage; its digest."""
    digest = hashlib.sha256(content).hexdigest()
    touch_blob(session, digest, len(content))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "content"
        source.write_bytes(content)
        storage.put(digest, source)
    return digest


@dataclass
class Intake:
    """One import: what is being made, and what there is to say about it."""

    session: Session
    storage: Storage
    bundle: Bundle
    actor_id: str
    pools: dict[str, PoolVersion]
    notices: list[str]

    @property
    def spec(self) -> CompetitionSpec:
        return self.bundle.spec

    def make_competition(self, slug: str) -> Competition:
        """The competition with pages, terms, logo, leagues, baselines and phases; a draft."""
        spec = self.spec
        competition = Competition(
            slug=slug,
            title=spec.title,
            summary=spec.summary,
            contact_email=spec.contact,
            terms=self._text(spec.terms),
            registration=spec.registration,
            email_domains=spec.email_domains,
            team_size=spec.team_size,
            discussion_open=spec.discussion,
            prizes=spec.prizes,
            retention=spec.retention,
            fact_sheet=[question.model_dump() for question in spec.fact_sheet],
            created_by=self.actor_id,
        )
        self._add_logo(competition)
        self._add_pages(competition)
        self.session.add(competition)
        self.session.flush()
        leagues = self._add_leagues(competition)
        self._add_baselines(competition)
        self._add_phases(competition, leagues)
        add_member(self.session, competition, self.session.get_one(User, self.actor_id), Role.OWNER)
        self.session.flush()
        return competition

    def _text(self, file: str | None) -> str:
        content = self.bundle.files.get(file) if file else None
        return content.decode(errors="replace") if content else ""

    def _add_logo(self, competition: Competition) -> None:
        content = self.bundle.files.get(self.spec.logo) if self.spec.logo else None
        if content is None or self.spec.logo is None:
            return
        suffix = self.spec.logo.rpartition(".")[2].lower()
        if suffix not in MEDIA_TYPES:
            self.notices.append(f"The logo {self.spec.logo} is of a type that is not shown; left out.")
            return
        competition.logo_digest = store_bytes(self.session, self.storage, content)
        competition.logo_media_type = MEDIA_TYPES[suffix]

    def _add_pages(self, competition: Competition) -> None:
        taken = {"terms"}
        for position, page in enumerate(self.spec.pages):
            slug = unique(key_from(page.title, "page"), taken)
            taken.add(slug)
            body = self._text(page.file)
            competition.pages.append(
                CompetitionPage(slug=slug, title=page.title, body=body, position=position)
            )

    def _add_leagues(self, competition: Competition) -> dict[str, League]:
        leagues: dict[str, League] = {}
        for position, spec in enumerate(self.spec.leagues):
            leagues[spec.key] = League(
                competition_id=competition.id,
                slug=spec.key,
                name=spec.title,
                description=spec.description,
                prizes=spec.prizes,
                position=position,
                admission=spec.admission,
                every_member_qualifies=spec.every_member,
                columns=[column.model_dump() for column in spec.columns],
            )
        self.session.add_all(leagues.values())
        self.session.flush()
        return leagues

    def _add_baselines(self, competition: Competition) -> None:
        for position, spec in enumerate(self.spec.baselines):
            content = self._baseline_zip(spec)
            digest = store_bytes(self.session, self.storage, content) if content else None
            self.session.add(
                Baseline(
                    competition_id=competition.id,
                    slug=spec.key,
                    name=spec.title,
                    position=position,
                    digest=digest,
                    builtin=spec.builtin,
                    settings=spec.settings,
                    leagues=list(spec.leagues),
                )
            )

    def _baseline_zip(self, spec: BaselineSpec) -> bytes | None:
        if spec.file is None:
            return None
        whole = self.bundle.files.get(spec.file)
        if whole is not None:
            return whole
        prefix = spec.file.rstrip("/") + "/"
        inside = {
            name.removeprefix(prefix): data
            for name, data in self.bundle.files.items()
            if name.startswith(prefix)
        }
        return write_zip(inside) if inside else None

    def _add_phases(self, competition: Competition, leagues: dict[str, League]) -> None:
        phases: dict[str, Phase] = {}
        for position, spec in enumerate(self.spec.phases):
            phase = Phase(
                competition_id=competition.id, **phase_values(spec, spec.timezone or self.spec.timezone)
            )
            phase.position = position
            smoke = self.pools.get(spec.smoke.pool or "")
            phase.smoke_pool_version_id = smoke.id if smoke else None
            phase.versions.append(
                PhaseVersion(
                    number=1, created_by=self.actor_id, live_at=now(), **version_values(spec, self.pools)
                )
            )
            phases[spec.key] = phase
        self.session.add_all(phases.values())
        self.session.flush()
        for spec in self.spec.phases:
            if spec.entries is None:
                continue
            phases[spec.key].gate_phase_id = phases[spec.entries.phase].id
            for gate in spec.entries.gates:
                self.session.add(
                    Gate(
                        phase_id=phases[spec.key].id,
                        league_id=leagues[gate.league].id,
                        score=gate.score,
                        note=gate.note,
                        set_by=self.actor_id,
                    )
                )


def version_values(spec: PhaseSpec, pools: dict[str, PoolVersion]) -> dict[str, Any]:
    """The columns of a phase version; seeds that the description leaves out are drawn."""
    tasks, machine, runs = spec.tasks, spec.machine, spec.scoring.runs
    train, test = pools.get(tasks.meta_train or ""), pools.get(tasks.meta_test or "")
    return {
        "meta_train_pool_version_id": train.id if train else None,
        "meta_test_pool_version_id": test.id if test else None,
        "protocol": with_split_seed(tasks.protocol),
        "tasks": tasks.count,
        "train_seeds": tasks.train_seeds or draw_seeds(runs),
        "test_seeds": tasks.test_seeds or draw_seeds(runs, equal=tasks.same_test_tasks),
        "combine": spec.scoring.combine,
        "ranking_rule": spec.scoring.ranking,
        "run_seconds": spec.budget.run,
        "meta_train_seconds": spec.budget.meta_train,
        "task_seconds": spec.budget.task,
        "hardware_class": machine.hardware,
        "image": machine.image,
        "memory_bytes": machine.memory,
        "cpus": machine.cpus,
        "processes": machine.processes,
        "scratch_bytes": machine.scratch,
        "output_bytes": machine.output,
        "gpus": machine.gpus,
        "isolated_tasks": tasks.isolated,
        "keep_learner": tasks.keep_learner,
        "shards": tasks.shards,
    }


def with_split_seed(protocol: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """A protocol that splits datasets, with its secret: the one it names, else that of `old`, else a new one."""
    kind = PROTOCOLS.get(str(protocol.get("name", "")))
    if kind is None or "split_seed" not in kind.__dataclass_fields__ or "split_seed" in protocol:
        return protocol
    known = (old or {}).get("split_seed") if (old or {}).get("name") == protocol["name"] else None
    return {**protocol, "split_seed": secrets.randbelow(2**31) if known is None else known}


def draw_seeds(runs: int, *, equal: bool = False) -> list[int]:
    """Secret seeds, one a run; all the same where runs shall share their tasks."""
    first = secrets.randbelow(2**31)
    return [first if equal or run == 0 else secrets.randbelow(2**31) for run in range(runs)]


def _or_null(value: int | None) -> Any:
    """Unlimited must be written as NULL: for a plain None the table's default would be taken."""
    return null() if value is None else value


def phase_values(spec: PhaseSpec, zone: str) -> dict[str, Any]:
    """The columns of a phase that may change at any time."""
    return {
        "slug": spec.key,
        "name": spec.title,
        "description": spec.description,
        "kind": spec.kind,
        "starts_at": spec.start,
        "ends_at": spec.end,
        "time_zone": zone,
        "accepts_uploads": spec.accepts_uploads,
        "quota_day": _or_null(spec.quota.per_day),
        "quota_phase": _or_null(spec.quota.total),
        "quota_concurrent": _or_null(spec.quota.running),
        "cancelled_counts": spec.quota.cancelled_counts,
        "priority": spec.priority,
        "board_shows": spec.scoring.board_shows,
        "board_audience": spec.shown.board,
        "scores_visible": spec.shown.scores,
        "log_policy": spec.shown.logs,
        "hide_dataset_names": not spec.shown.dataset_names,
        "show_confusion": spec.shown.confusion,
        "submissions_visible": spec.shown.others,
        "needs_publishing": spec.shown.after_publishing,
        "smoke_tasks": spec.smoke.tasks,
        "smoke_seconds": spec.smoke.budget,
        "smoke_quota_day": _or_null(spec.smoke.per_day),
    }


def find_pools(
    session: Session, spec: CompetitionSpec, actor_id: str, *, any_owner: bool
) -> dict[str, PoolVersion]:
    """The pool version that each name of the bundle means; pools that are not there are made, without packs.

    A pool counts as there when it is the actor's own, or public, or the actor is a site administrator; a name alone
    must not open other people's hidden data.
    """
    found: dict[str, PoolVersion] = {}
    for wanted in spec.pools:
        pools = list(session.scalars(select(Pool).where(Pool.slug == wanted.name, Pool.deleted_at.is_(None))))
        mine = [p for p in pools if any_owner or p.owner_id == actor_id or p.published_at is not None]
        version = _version_of(session, mine[0], wanted.digest) if mine else None
        if version is None:
            version = _empty_pool(
                session, wanted.name, wanted.title, wanted.description, wanted.digest, actor_id
            )
            version.pool.combines = list(wanted.combines)
        found[wanted.name] = version
    return found


def _version_of(session: Session, pool: Pool, digest: str | None) -> PoolVersion | None:
    query = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
    versions = list(session.scalars(query))
    matching = [version for version in versions if digest is None or version.digest == digest]
    return matching[0] if matching else None


def _empty_pool(
    session: Session, slug: str, title: str, description: str, digest: str | None, actor_id: str
) -> PoolVersion:
    """A pool with a first version that waits for its packs."""
    taken = set(session.scalars(select(Pool.slug).where(Pool.slug.startswith(slug))))
    pool = Pool(slug=unique(slug, taken), name=title or slug, description=description, owner_id=actor_id)
    session.add(pool)
    session.flush()
    version = PoolVersion(
        pool_id=pool.id, number=1, digest=digest or "", note="waits for its packs", created_by=actor_id
    )
    session.add(version)
    session.flush()
    version.pool = pool
    return version


def shifted(spec: CompetitionSpec, start: datetime) -> CompetitionSpec:
    """The same competition with its first phase starting at `start` and all others as much later as before."""
    by = start - min(phase.start for phase in spec.phases)
    phases = [
        phase.model_copy(update={"start": phase.start + by, "end": phase.end + by if phase.end else None})
        for phase in spec.phases
    ]
    return spec.model_copy(update={"phases": phases})
