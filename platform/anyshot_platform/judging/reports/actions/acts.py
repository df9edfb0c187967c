"""Acts on a report: stopping its computation, hiding it, bringing it back."""

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.actions.hiding import delete_and_restore
from anyshot_platform.judging.execution.service import cancel_run
from anyshot_platform.judging.reports.actions.catalogue import find_kind
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.runs.states import ENDED


def _target(session: Session, report: Report) -> Target:
    title = f"“{find_kind(report.analysis).title}” on {report.phase.name}"
    return Target("report", report.id, report.analysis, title, (report.competition_id,))


def _goes_on(report: Report) -> bool:
    return report.run.state not in ENDED


def _look_cancel(session: Session, report: Report, request: ActRequest) -> Findings:
    if not _goes_on(report):
        return Findings(done="This report has ended already.")
    if report.run.cancel_requested_at is not None:
        return Findings(done="It is being stopped already.")
    return Findings(does=["Its computation is stopped; nothing of it is kept."])


def _cancel(session: Session, report: Report, request: ActRequest) -> ActDone:
    cancel_run(session, report.run, by=request.actor_id)
    return ActDone("It is stopped.", after={"analysis": report.analysis})


def _can_be_stopped(report: Report) -> bool:
    return _goes_on(report) and report.run.cancel_requested_at is None


def _stop(session: Session, report: Report, request: ActRequest) -> None:
    if _goes_on(report):
        cancel_run(session, report.run, by=request.actor_id)


def _hides(session: Session, report: Report) -> list[str]:
    stops = ["Its computation is stopped."] if _goes_on(report) else []
    return ["It is taken off the list of reports.", *stops]


CANCEL: Act[Report] = Act(
    key="report.cancel",
    title="Cancel {}",
    target=_target,
    look=_look_cancel,
    do=_cancel,
    undo="Ask for it again.",
    button=Button("Cancel", "x", _can_be_stopped),
    danger=Danger.NONE,
)
DELETE, RESTORE = delete_and_restore("report", _target, _hides, "It is on the list again.", first=_stop)
ACTS = by_name(CANCEL, DELETE, RESTORE)
