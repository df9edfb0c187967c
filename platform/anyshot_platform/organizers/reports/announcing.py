"""Tells who asked for a report that it is ready."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition
from anyshot_platform.judging.happenings import RunEnded
from anyshot_platform.notifications.service import notify
from anyshot_platform.reports.models import Report
from anyshot_platform.runs.states import RunState


def announce_report(session: Session, ended: RunEnded) -> None:
    """Tell who asked that a report is ready, or that it failed."""
    run = ended.run
    if run.submission_id is not None:
        return
    report = session.scalars(select(Report).where(Report.run_id == run.id)).one_or_none()
    if report is None or report.requested_by is None or run.state not in (RunState.FINISHED, RunState.FAILED):
        return
    competition = session.get_one(Competition, report.competition_id)
    about = {"title": competition.title, "report": report.analysis, "phase": report.phase.name}
    ready = "%(title)s: the report “%(report)s” on %(phase)s is ready" % about
    failed = "%(title)s: the report “%(report)s” on %(phase)s failed" % about
    notify(
        session,
        [report.requested_by],
        kind="report",
        title=ready if run.state == RunState.FINISHED else failed,
        body=run.message,
        url=f"/competitions/{competition.slug}/manage/reports/{report.id}",
    )
