"""Submissions: from a checked zip to queued runs."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, true, update
from sqlalchemy.orm import Session

from anyshot_core.bundle.conditions import UNKNOWN, RunConditions
from anyshot_core.bundle.report import BundleReport, Check, CheckOutcome
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import require_participant, require_terms
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.competitions.teams import members_here
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version, require_taking, takes_late
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Forbidden, Invalid
from anyshot_platform.foundation.filters import decimal
from anyshot_platform.foundation.isolated_parsing.service import run_confined
from anyshot_platform.foundation.metrics import UPLOADS
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import as_file
from anyshot_platform.judging.execution.kinds.training_data import datasets_to_hold_out_of
from anyshot_platform.judging.execution.queueing import queue_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.quota import lock_team, read_quota, require_quota
from anyshot_platform.judging.submissions.states import HANDED_IN, SubmissionKind
from anyshot_platform.judging.visibility.smoke import require_smoke_pool
from anyshot_platform.judging.workers.inventories import inventory_of
from anyshot_platform.people.audit.service import record
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.webhooks.service import emit
from anyshot_platform.standings.entries.entering import chosen_leagues, enter, require_leagues
from anyshot_platform.standings.fact_sheets.service import keep_upload_answers, require_at_upload
from anyshot_platform.standings.leaderboards.service import note_history, refresh_team


class BadArchive(Invalid):
    """The zip fails a check; `checks` say which and what to do. Costs no quota."""

    code = "bad_archive"


class NotTrusted(Forbidden):
    """This site has no sandbox and takes only what its operator trusts."""

    code = "not_trusted"


@dataclass(frozen=True)
class Zip:
    """A zip that lies in the storage and passed its checks."""

    filename: str
    digest: str
    size: int
    checks: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Wishes:
    """What comes with a zip: the leagues (short names) it stands in; none: those open to all."""

    comment: str = ""
    leagues: tuple[str, ...] = ()
    fact_sheet: dict[str, Any] = field(default_factory=dict)  # answers, for the team's fact sheet
    smoke: bool = False


@dataclass(frozen=True)
class CountedMoment:
    """The moment that counts for a submission, and when its hand-in arrived."""

    counts: datetime
    at: datetime


def check_zip(path: Path, conditions: RunConditions = UNKNOWN) -> BundleReport:
    """Check a zip without unpacking, importing or running anything of it, in a confined process."""
    found = run_confined("check", path=str(path.absolute()), conditions=conditions.to_dict())
    return BundleReport(read_checks(found["checks"]), found["entries"], found["unpacked_bytes"])


def read_checks(checks: list[Any]) -> tuple[Check, ...]:
    """Checks as they are kept."""
    return tuple(Check(**{**one, "outcome": CheckOutcome(one["outcome"])}) for one in checks)


def check_upload(
    services: Services, upload: Upload, path: Path, digest: str, conditions: RunConditions = UNKNOWN
) -> BundleReport:
    """`check_zip` of an upload, counted; one that passed under these conditions is neither checked nor counted again.

    Raises `TooMany`.
    """
    passed_as = sha256(json.dumps([digest, conditions.to_dict()]).encode()).hexdigest()
    if upload.passed_as == passed_as:
        return BundleReport(read_checks(upload.checks))
    spend(services, "checks", upload.user_id)
    report = check_zip(path, conditions)
    if report.ok:
        with services.database.writing() as session:
            session.execute(
                update(Upload)
                .where(Upload.id == upload.id)
                .values(passed_as=passed_as, checks=report.to_dict()["checks"])
            )
    return report


def conditions_of(session: Session, phase: Phase, *, smoke: bool) -> RunConditions:
    """What `check_zip` has to know of a phase."""
    version = live_version(session, phase)
    inventory = inventory_of(session, version.hardware_class, version.image, version.image_digest)
    return RunConditions(
        train_datasets=datasets_to_hold_out_of(session, phase, version, smoke=smoke),
        importable=inventory and inventory.importable,
        gpus=version.gpus,
        awaited=() if inventory else tuple(version.packages.splitlines()),
    )


def store_zip(
    services: Services, path: Path, upload: Upload, digest: str, conditions: RunConditions = UNKNOWN
) -> Zip:
    """Check and store the zip of an upload; raises `BadArchive`, `NotTrusted` or `TooMany`."""
    require_trusted(services, digest)
    checks = _require_passed(check_upload(services, upload, path, digest, conditions))
    keep_file(services, path, digest)
    return Zip(filename=upload.filename, digest=digest, size=path.stat().st_size, checks=checks)


def check_again(services: Services, user_id: str, archive: Zip, conditions: RunConditions) -> Zip:
    """Check a zip that is stored, for a phase that may differ from its first; raises `BadArchive` or `TooMany`."""
    spend(services, "checks", user_id)
    with as_file(services.storage, archive.digest) as path:
        return replace(archive, checks=_require_passed(check_zip(path, conditions)))


def _require_passed(report: BundleReport) -> list[Any]:
    checks: list[Any] = report.to_dict()["checks"]
    if not report.ok:
        UPLOADS.labels("refused").inc()
        failure = report.failures[0]
        raise BadArchive(f"{failure.found} {failure.remedy}".strip(), checks=checks)
    return checks


def require_trusted(services: Services, digest: str) -> None:
    """Raise `NotTrusted` where a site without a sandbox does not know the zip."""
    trusted = services.settings.trusted_digests
    if trusted is not None and digest not in trusted:
        UPLOADS.labels("not_trusted").inc()
        raise NotTrusted(
            "This site runs without a sandbox and takes only submissions that its operator trusts."
        )


def submit(
    session: Session,
    competition: Competition,
    phase: Phase,
    membership: Membership | None,
    archive: Zip,
    wishes: Wishes,
    arrived: CountedMoment,
) -> Submission:
    """Make a submission of a stored zip and queue its runs, all in the caller's transaction.

    Raises `CannotJoin`, `PhaseNotOpen`, `NoSmokeTest`, `QuotaUsedUp`, `NotEvaluable` or `Invalid`.
    """
    membership = require_participant(membership)
    require_terms(competition, membership)
    if competition.state != CompetitionState.PUBLISHED or competition.deleted_at is not None:
        raise Conflict("This competition takes no submissions now.")
    require_taking(phase, arrived.counts, membership.team_id)
    if wishes.smoke:
        require_smoke_pool(session, phase)
    team = lock_team(session, membership.team_id or "")
    require_quota(read_quota(session, team, phase, arrived.counts.date()), smoke=wishes.smoke)
    if not wishes.smoke:
        require_at_upload(session, competition, team, wishes.fact_sheet)
        leagues = require_leagues(session, team, phase, wishes.leagues, arrived.counts)
        wishes = replace(wishes, leagues=tuple(league.slug for league in leagues))
    kind = (
        SubmissionKind.LATE if takes_late(phase, arrived.counts, membership.team_id) else SubmissionKind.ENTRY
    )
    submission = create_submission(
        session,
        phase,
        team_id=team.id,
        user_id=membership.user_id,
        archive=archive,
        kind=SubmissionKind.SMOKE if wishes.smoke else kind,
        wishes=wishes,
        arrived=arrived,
    )
    if arrived.counts != arrived.at:
        record(
            session,
            actor_id=membership.user_id,
            action="submission.counted_earlier",
            object_type="submission",
            object_id=submission.id,
            competition_id=competition.id,
            after={"counts": arrived.counts.isoformat(), "arrived": arrived.at.isoformat()},
        )
    if not wishes.smoke:
        keep_upload_answers(session, competition, membership, wishes.fact_sheet, submission.id)
    UPLOADS.labels("accepted").inc()
    return submission


def create_submission(
    session: Session,
    phase: Phase,
    *,
    team_id: str,
    user_id: str,
    archive: Zip,
    kind: SubmissionKind,
    wishes: Wishes,
    origin: Submission | None = None,
    arrived: CountedMoment | None = None,
) -> Submission:
    """Write a submission, its leagues and its runs; who may do this, and how often, the caller has checked.

    Its people are those of its `origin`, where it has one, else who is in the team now.
    """
    version = live_version(session, phase)
    moment = arrived.counts if arrived else now()
    own = select(func.max(Submission.number)).where(
        Submission.team_id == team_id, Submission.phase_id == phase.id
    )
    submission = Submission(
        competition_id=phase.competition_id,
        phase_id=phase.id,
        team_id=team_id,
        user_id=user_id,
        kind=kind,
        number=(session.scalar(own) or 0) + 1,
        filename=archive.filename,
        comment=wishes.comment,
        digest=archive.digest,
        size=archive.size,
        checks=archive.checks,
        origin_id=origin.id if origin else None,
        people=list(origin.people) if origin else _people_of_now(session, team_id),
        quota_day=moment.date(),
        created_at=moment,
        arrived_at=arrived.at if arrived and arrived.at != moment else None,
        counts_quota=kind in HANDED_IN,
    )
    session.add(submission)
    session.flush()
    if kind != SubmissionKind.SMOKE:
        enter(session, submission, chosen_leagues(session, phase.competition_id, wishes.leagues))
    queue_runs(session, submission, version, urgency_of(kind, phase))
    session.flush()
    emit(
        session,
        phase.competition_id,
        "submission.queued",
        {"submission": submission.id, "phase": phase.slug, "status": submission.status.value},
    )
    return submission


def _people_of_now(session: Session, team_id: str) -> list[str]:
    """The memberships of those who are in a team, the captain's first."""
    team = session.get_one(Team, team_id)
    members = sorted(members_here(session, team), key=lambda member: member.user_id != team.captain_id)
    return [member.id for member in members]


def urgency_of(kind: SubmissionKind, phase: Phase) -> Urgency:
    """How urgent the runs of a new submission are."""
    urgencies = {
        SubmissionKind.SMOKE: Urgency(priorities.SMOKE),
        SubmissionKind.LATE: Urgency(priorities.BULK),
        SubmissionKind.FINAL: Urgency(priorities.FINAL),
        SubmissionKind.BASELINE: Urgency(priorities.RERUN),
    }
    return urgencies.get(kind, Urgency(phase.priority))


def count_late(
    session: Session, phase: Phase, end: datetime | None, team_ids: Collection[str] | None = None
) -> None:
    """Make entries of the late submissions that came before a new end, which holds for these teams or for all."""
    late = session.scalars(select(Submission).where(_came_before(phase, end, team_ids))).all()
    for submission in late:
        submission.kind = SubmissionKind.ENTRY
        session.flush()
        refresh_boards(session, submission)
    waiting = Run.submission_id.in_([one.id for one in late])
    session.execute(update(Run).where(waiting, Run.state.not_in(ENDED)).values(priority=phase.priority))


def words_on_counting_late(
    session: Session, phase: Phase, end: datetime | None, team_ids: Collection[str] | None = None
) -> list[str]:
    """What `count_late` would do, in a sentence; none where it would do nothing."""
    late = session.scalar(select(func.count(Submission.id)).where(_came_before(phase, end, team_ids)))
    return [f"Late submissions that came before that count as in time: {decimal(late)}."] if late else []


def _came_before(phase: Phase, end: datetime | None, team_ids: Collection[str] | None) -> ColumnElement[bool]:
    before = true() if end is None else Submission.created_at < end
    theirs = true() if team_ids is None else Submission.team_id.in_(team_ids)
    return and_(Submission.phase_id == phase.id, Submission.kind == SubmissionKind.LATE, before, theirs)


def refresh_boards(session: Session, submission: Submission) -> None:
    """Bring the boards in line after a submission was withdrawn, disqualified, deleted, or restored."""
    for version in submission.phase.versions:
        refresh_team(session, version, submission.team_id)
    note_history(session, submission)
