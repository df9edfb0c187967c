"""Reports: asked for, computed once for the same inputs, read, cancelled, deleted."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.reports import ANALYSIS_VERSION, REPORTS, ReportDescription, ReportParameters, Subject
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.execution.kinds import REPORT
from anyshot_platform.judging.execution.queueing import enqueue
from anyshot_platform.judging.reports.actions.catalogue import read_settings
from anyshot_platform.judging.reports.actions.inputs import pack_digests
from anyshot_platform.judging.reports.actions.sources import SOURCES, ReportRequest
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.reports.records import FILES, ReportInputs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.people.audit import service as audit


def request_report(
    session: Session,
    competition: Competition,
    phase: Phase,
    kind: type[ReportDescription],
    actor_id: str,
    *,
    league: League | None = None,
    submissions: Sequence[str] = (),
    settings: Mapping[str, float | None] | None = None,
) -> tuple[Report, bool]:
    """The report on a phase's live version, and whether it had to be queued.

    One that was asked for before with the same inputs is given again, unless it failed. Raises `Invalid` for
    settings out of bounds or other `submissions` than it is of, and `NothingToReport` where there is nothing to
    compute from.
    """
    version = live_version(session, phase)
    league = league if kind.subject == Subject.BOARD else None
    request = ReportRequest(session, version, kind, league, submissions, read_settings(kind, settings or {}))
    inputs, parameters = SOURCES[kind].gather(request)
    key = _key(session, kind, version, parameters, inputs)
    earlier = _find_earlier(session, competition, phase, key)
    if earlier is not None:
        return earlier, False
    run = REPORT.plan_report(session, phase, version, actor_id)
    enqueue(session, [run])
    report = Report(
        competition_id=competition.id,
        phase_id=phase.id,
        phase_version_id=version.id,
        league_id=league.id if league else None,
        analysis=kind.name,
        parameters=parameters,
        results=inputs,
        digest=key,
        run_id=run.id,
        requested_by=actor_id,
    )
    session.add(report)
    _record(session, report, actor_id, "report.request")
    return report, True


def _key(
    session: Session,
    kind: type[ReportDescription],
    version: PhaseVersion,
    parameters: ReportParameters,
    inputs: ReportInputs,
) -> str:
    pools = [version.meta_train_pool_version_id, version.meta_test_pool_version_id]
    about = {
        "analysis": kind.name,
        "version": ANALYSIS_VERSION,
        "packs": [pack_digests(session, pool) for pool in pools] if kind.subject == Subject.POOL else [],
        "results": [row.model_dump(mode="json") for row in inputs.runs],
        "exports": [row.model_dump(mode="json") for row in inputs.exports],
        "parameters": parameters.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _find_earlier(session: Session, competition: Competition, phase: Phase, key: str) -> Report | None:
    dead = [state for state in ENDED if state != RunState.FINISHED]
    return session.scalars(
        select(Report)
        .join(Run, Run.id == Report.run_id)
        .where(
            Report.competition_id == competition.id,
            Report.phase_id == phase.id,
            Report.digest == key,
            Report.deleted_at.is_(None),
            Run.state.not_in(dead),
        )
        .order_by(Report.created_at.desc())
        .limit(1)
    ).first()


def list_reports(
    session: Session, competition: Competition, phase: Phase | None = None, *, deleted: bool = False
) -> list[Report]:
    """The newest 200 reports of a competition, or of one phase, newest first."""
    query = select(Report).where(
        Report.competition_id == competition.id,
        Report.deleted_at.is_not(None) if deleted else Report.deleted_at.is_(None),
    )
    if phase is not None:
        query = query.where(Report.phase_id == phase.id)
    return list(session.scalars(query.order_by(Report.created_at.desc(), Report.id.desc()).limit(200)))


def list_pool_reports(session: Session, pool_version_ids: list[str]) -> list[tuple[Report, Competition]]:
    """Finished reports on the pools of phases that test on one of these pool versions, newest first."""
    query = (
        select(Report, Competition)
        .join(Competition, Competition.id == Report.competition_id)
        .join(PhaseVersion, PhaseVersion.id == Report.phase_version_id)
        .join(Run, Run.id == Report.run_id)
        .where(
            PhaseVersion.meta_test_pool_version_id.in_(pool_version_ids),
            Report.analysis.in_([kind.name for kind in REPORTS.values() if kind.subject == Subject.POOL]),
            Report.deleted_at.is_(None),
            Competition.deleted_at.is_(None),
            Run.state == RunState.FINISHED,
        )
        .order_by(Report.created_at.desc())
        .limit(50)
    )
    return [(report, competition) for report, competition in session.execute(query)]


def find_report(session: Session, competition: Competition, report_id: str) -> Report:
    """A report of this competition, deleted or not; raises `NotFound`."""
    report = session.get(Report, report_id)
    if report is None or report.competition_id != competition.id:
        raise NotFound("There is no such report.")
    return report


def find_file(session: Session, report: Report, name: str) -> Artifact:
    """A file of a finished report; raises `NotFound`."""
    file = session.scalars(
        select(Artifact).where(
            Artifact.run_id == report.run_id,
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    ).first()
    if file is None or name not in FILES:
        raise NotFound("There is no such file.")
    return file


def _record(session: Session, report: Report, actor_id: str, action: str) -> None:
    session.flush()
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="report",
        object_id=report.id,
        competition_id=report.competition_id,
        after={"analysis": report.analysis},
    )
