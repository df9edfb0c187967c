"""What operators are alerted to, over JSON."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import list_open
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.operations.alert_acts import ACTS, find_alert
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/admin/alerts", tags=["operations"])
AsAdmin = Annotated[Viewer, Depends(site_admin)]


class AlertOut(BaseModel):
    """An alert: `kind` like no_workers or run_lost, `subject` the class, worker or run that it is about."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    subject: str
    message: str
    since: datetime
    until: datetime | None


@router.get("")
def list_alerts(viewer: AsAdmin, session: SessionDep) -> list[AlertOut]:
    """The alerts that are open, oldest first."""
    return [AlertOut.model_validate(alert) for alert in list_open(session)]


def _alert(session: Session, viewer: Viewer, alert_id: Annotated[str, Path(max_length=32)]) -> Alert:
    return find_alert(session, alert_id)


def _show_alert(session: Session, viewer: Viewer, alert: Alert, outcome: ActOutcome) -> AlertOut:
    return AlertOut.model_validate(alert)


add_acts(router, ACTS, _alert, _show_alert, at="/{alert_id}", door=site_admin)
