"""What site administrators do with an alert that no condition closes: close it, once it is dealt with."""

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
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import close_alert
from anyshot_platform.people.alerts.titles import title_of
from anyshot_platform.running.operations.watch import is_watched


def find_alert(session: Session, alert_id: str) -> Alert:
    """An alert, open or closed; raises `NotFound`."""
    alert = session.get(Alert, alert_id)
    if alert is None:
        raise NotFound("There is no such alert.")
    return alert


def _target(session: Session, alert: Alert) -> Target:
    return Target("alert", alert.id, str(title_of(alert.kind)), f"“{title_of(alert.kind)}”")


def _look(session: Session, alert: Alert, request: ActRequest) -> Findings:
    if alert.until is not None:
        return Findings(done="It is closed already.")
    if is_watched(alert):
        return Findings(refused=["It closes by itself, as soon as its condition is over."])
    return Findings(does=["It is no longer among what is open, and operators are told that it is over."])


def _close(session: Session, alert: Alert, request: ActRequest) -> ActDone:
    close_alert(session, alert.kind, alert.subject)
    return ActDone("The alert is closed.", before={"kind": alert.kind, "message": alert.message})


CLOSE: Act[Alert] = Act(
    key="alert.close",
    title="Close the alert {}",
    target=_target,
    look=_look,
    do=_close,
    undo="It opens again when the same happens again.",
    button=Button("Close", "check", fits=lambda alert: not is_watched(alert), style="btn--small"),
    danger=Danger.NONE,
)
ACTS = by_name(CLOSE)
