"""Retention: artifacts by age and kind, files that nothing refers to, and rows that were for their moment alone."""

import logging
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, and_, delete, exists, select, type_coerce, union_all, update
from sqlalchemy.orm import Session

from anyshot_core.exports.files import LAYERS, PROBABILITIES
from anyshot_platform.contest.competitions.models import Competition, CompetitionFile
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.background.isolation import each
from anyshot_platform.foundation.database import Json, now
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent, RunMeasure
from anyshot_platform.judging.runs.models import Run, RunCheckpoint
from anyshot_platform.judging.scores.verification import PREDICTIONS
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.users.models import LoginSession, OneTimeToken
from anyshot_platform.people.webhooks.models import WebhookDelivery
from anyshot_platform.standings.baselines.models import Baseline

log = logging.getLogger(__name__)
_TELL_LABELS = (LAYERS, PROBABILITIES)  # of hidden data, as predictions do: they go with them
_SPENT_AFTER = timedelta(days=30)
_BATCH = 2500  # files in an hour, within the seconds after which a background thread counts as stuck
_REFERENCES = (
    Submission.digest,
    CompetitionFile.digest,
    Pack.digest,
    Pack.fingerprints,
    Baseline.digest,
    Artifact.digest,
    RunCheckpoint.digest,
    Competition.logo_digest,
)


def collect_garbage(services: Services) -> int:
    """Let artifacts expire, then remove files without a reference; returns how many files went."""
    with services.database.reading() as session:
        competitions = session.scalars(select(Competition.id)).all()  # deleted ones, too, have their days
    each(services, "retention", competitions, lambda identity: _expire_of(services, identity))
    with services.database.writing() as session:
        drop_lost_artifacts(session)
    return collect_orphans(services, most=_BATCH)


def _expire_of(services: Services, competition_id: str) -> int:
    """Mark a competition's artifacts beyond their days as gone, and remove its old logs; returns how many."""
    with services.database.writing() as session:
        days = _days_of(session.get_one(Competition, competition_id), services.settings)
        expire_logs(session, competition_id, days["log.txt"])
        return sum(_expire(session, competition_id, name, limit) for name, limit in days.items())


def _days_of(competition: Competition, settings: PlatformSettings) -> dict[str, int]:
    """The days that a competition's artifacts are kept, by name: its own, or the site's."""
    days = site_days(settings)
    days |= {name: int(value) for name, value in competition.retention.items() if name in days}
    return days | dict.fromkeys(_TELL_LABELS, days[PREDICTIONS])


def site_days(settings: PlatformSettings) -> dict[str, int]:
    """The days that artifacts are kept on this site, by name."""
    return {
        PREDICTIONS: settings.keep_predictions_days,
        "learner.bin": settings.keep_learners_days,
        "log.txt": settings.keep_logs_days,
        "logger.zip": settings.keep_logs_days,
    }


def drop_lost_artifacts(session: Session) -> None:
    """Remove the artifacts of attempts that were lost."""
    lost = (
        select(Artifact.id)
        .join(Run, Run.id == Artifact.run_id)
        .where(~Artifact.final, Run.epoch > Artifact.epoch)
    )
    session.execute(delete(Artifact).where(Artifact.id.in_(lost)))


def drop_spent_rows(session: Session) -> None:
    """Remove messages that went out, log-ins and links that ended, a month after it.

    Workers that were not seen since keep their row for the attempts' sake, without what they said of themselves.
    """
    before = now() - _SPENT_AFTER
    for table, condition in (
        (Email, and_(Email.sent, Email.ended_at < before)),
        (WebhookDelivery, and_(WebhookDelivery.delivered, WebhookDelivery.ended_at < before)),
        (LoginSession, LoginSession.expires_at < before),
        (OneTimeToken, OneTimeToken.expires_at < before),
    ):
        session.execute(delete(table).where(condition))
    said = type_coerce(Worker.info, Json)["name"].as_string().is_not(None)
    session.execute(update(Worker).where(Worker.last_seen_at < before, said).values(info=None))


def _old_runs(competition_id: str, days: int) -> Select[str]:
    ended = Run.finished_at < now() - timedelta(days=days)
    return select(Run.id).where(Run.competition_id == competition_id, ended)


def _expire(session: Session, competition_id: str, name: str, days: int) -> int:
    old = Artifact.run_id.in_(_old_runs(competition_id, days))
    changed = session.execute(
        update(Artifact)
        .where(Artifact.name == name, Artifact.expired_at.is_(None), old)
        .values(expired_at=now())
        .execution_options(synchronize_session=False)
    )
    return changed.rowcount  # pyright: ignore[reportAttributeAccessIssue]


def expire_logs(session: Session, competition_id: str, days: int) -> None:
    """Remove log lines, their counts, and measures of a competition's runs that ended so many days ago."""
    for table in (RunEvent, EventCount, RunMeasure):
        session.execute(delete(table).where(table.run_id.in_(_old_runs(competition_id, days))))


def referenced() -> Select[str]:
    """All digests that something refers to."""
    return select(union_all(*(select(one).where(one.is_not(None)) for one in _REFERENCES)).subquery().c[0])


def _is_orphan(before: datetime) -> ColumnElement[bool]:
    """Files that nothing refers to; a look into an index for each, because there are millions of references."""
    return and_(Blob.touched_at <= before, *(~exists().where(one == Blob.digest) for one in _REFERENCES))


def collect_orphans(services: Services, *, most: int | None = None) -> int:
    """Remove files without a reference that nobody touched for `keep_orphans_hours`; `most` of them, or all."""
    before = now() - timedelta(hours=services.settings.keep_orphans_hours)
    with services.database.writing() as session:
        # Rows of expired artifacts still point at their files for the record's sake; the pointer has to go first.
        session.execute(delete(Artifact).where(Artifact.expired_at.is_not(None)))
    with services.database.reading() as session:
        orphans = session.scalars(select(Blob.digest).where(_is_orphan(before)).limit(most)).all()
    removed = each(services, "orphan", orphans, lambda digest: _remove_orphan(services, digest, before))
    if removed:
        log.info("removed unreferenced files", extra={"files": removed})
    return removed


def _remove_orphan(services: Services, digest: str, before: datetime) -> int:
    """Remove row and file under one lock: who stores the same content meanwhile waits, and stores it anew."""
    with services.database.writing() as session:
        gone = session.execute(delete(Blob).where(Blob.digest == digest, _is_orphan(before)))
        if gone.rowcount != 1:  # pyright: ignore[reportAttributeAccessIssue]
            return 0
        services.storage.delete(digest)
    return 1
