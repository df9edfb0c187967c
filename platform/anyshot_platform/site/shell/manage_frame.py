"""The frame of the organizers' pages: who may see them, their navigation, acts that answer with a message."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.merging import Stale
from anyshot_platform.actions.service import NeedsConsent
from anyshot_platform.contest.competitions.actions.people import count_pending
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.actions.waiting import count_waiting
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.alerts.service import list_open
from anyshot_platform.site.web.access import competition_role, proved
from anyshot_platform.site.web.forms import SentForm
from anyshot_platform.site.web.rendering import redirect, render

AsReviewer = Annotated[CompetitionAccess, Depends(competition_role(Role.REVIEWER))]
AsOrganizer = Annotated[CompetitionAccess, Depends(competition_role(Role.ORGANIZER))]
ProvedOrganizer = Annotated[CompetitionAccess, Depends(proved(competition_role(Role.ORGANIZER)))]
AsOwner = Annotated[CompetitionAccess, Depends(competition_role(Role.OWNER))]

_ITEMS = (
    ("overview", "Overview", "", "house"),
    ("settings", "Settings", "/settings", "settings"),
    ("pages", "Pages and files", "/pages", "file-text"),
    ("phases", "Phases", "/phases", "calendar-clock"),
    ("leagues", "Leagues", "/leagues", "trophy"),
    ("baselines", "Baselines and gates", "/baselines", "gauge"),
    ("people", "People and teams", "/people", "users"),
    ("submissions", "Submissions", "/submissions", "layers"),
    ("entries", "Entries", "/entries", "award"),
    ("final", "Final phase", "/final", "flag"),
    ("fact-sheets", "Fact sheets", "/fact-sheets", "file-text"),
    ("reports", "Reports", "/reports", "chart-column"),
    ("announcements", "Announcements", "/announcements", "megaphone"),
    ("webhooks", "Webhooks", "/webhooks", "link"),
    ("rehearsals", "Rehearsal", "/rehearsals", "play"),
    ("exports", "Exports", "/exports", "download"),
    ("audit", "Audit log", "/audit", "list"),
)


def manage_path(access: CompetitionAccess, rest: str = "") -> str:
    """The address of an organizers' page."""
    return f"/competitions/{access.competition.slug}/manage{rest}"


def navigation(session: Session, access: CompetitionAccess) -> list[dict[str, Any]]:
    """The items of the side navigation, with what waits."""
    counts = {
        "leagues": count_waiting(session, access.competition),
        "people": count_pending(session, access.competition),
    }
    return [
        {
            "key": key,
            "label": label,
            "href": manage_path(access, rest),
            "icon": icon,
            "count": counts.get(key, 0),
        }
        for key, label, rest, icon in _ITEMS
        if key != "webhooks" or access.may(Role.ORGANIZER)  # their addresses may hold secrets
    ]


def render_manage(
    request: Request, session: Session, access: CompetitionAccess, template: str, current: str, **context: Any
) -> Response:
    """An organizers' page."""
    return render(
        request,
        f"manage/{template}",
        section="competitions",
        page_class="page--wide",
        competition=access.competition,
        base=manage_path(access),
        nav=navigation(session, access),
        alerts=list_open(session),
        current=current,
        may_change=access.may(Role.ORGANIZER),
        is_owner=access.may(Role.OWNER),
        **context,
    )


def refused_in_form(session: Session, error: PlatformError, form: SentForm) -> dict[str, Any]:
    """What a form is shown again with where a change is refused: all that was typed, and why; undoes the change."""
    session.rollback()
    if error.status not in (409, 422):
        raise error
    field = str(error.details.get("field", ""))
    return {"values": form.values(), "errors": {field: error.message}, "status_code": 422}


def carry_out_change(session: Session, target: str, message: str, change: Callable[[], Any]) -> Response:
    """Do something and go to `target` with a message; a refusal undoes it all and is shown there instead."""
    try:
        result = change()
        session.flush()
    except PlatformError as error:
        if isinstance(error, Stale | NeedsConsent) or error.status not in (409, 422):
            session.rollback()
            raise
        session.rollback()
        return redirect(target, flash=error.message, tone="bad")
    return redirect(target, flash=result if isinstance(result, str) else message)
