"""Tells who asked for a report that it is ready."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.judging.domain_events import RunEnded
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.people.notifications.service import notify


def announce_report(session: Session, ended: RunEnded) -> None:
    """Tell who asked that a report is ready, or that it failed."""
    run = ended.run
    if run.submission_id is not None:
        return
    report = session.scalars(select(Report).where(Report.run_id == run.id)).one_or_none()
    if report is None or report.requested_by is None or run.state not in (RunState.FINISHED, RunState.FAILED):
        return
    competition = session.get_one(Competition, report.competition_id)
    ended_as = "is ready" if run.state == RunState.FINISHED else "failed"
    notify(
        session,
        [report.requested_by],
        kind="report",
        title=f"{competition.title}: the report “{report.analysis}” on {report.phase.name} {ended_as}",
        body=run.message,
        url=f"/competitions/{competition.slug}/manage/reports/{report.id}",
    )
