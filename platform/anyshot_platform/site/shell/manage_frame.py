"""The frame of the organizers' pages: who may see them, their navigation, acts that answer with a message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Stale
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


@dataclass(frozen=True)
class _Group:
    """An entry of the side navigation; of each of its pages the key, the label and the address below *Manage*."""

    key: str
    label: str
    icon: str
    pages: tuple[tuple[str, str, str], ...]


_GROUPS = (
    _Group("home", "Home", "house", (("overview", "Overview", ""),)),
    _Group(
        "setup",
        "Setup",
        "settings",
        (
            ("settings", "Settings", "/settings"),
            ("pages", "Pages and files", "/pages"),
            ("phases", "Phases", "/phases"),
            ("leagues", "Leagues", "/leagues"),
            ("baselines", "Baselines and gates", "/baselines"),
            ("rehearsals", "Rehearsal", "/rehearsals"),
        ),
    ),
    _Group(
        "people",
        "People",
        "users",
        (("people", "People and teams", "/people"), ("announcements", "Announcements", "/announcements")),
    ),
    _Group(
        "submissions",
        "Submissions",
        "layers",
        (("submissions", "Submissions", "/submissions"), ("entries", "Entries", "/entries")),
    ),
    _Group(
        "results",
        "Results",
        "award",
        (
            ("final", "Final phase", "/final"),
            ("fact-sheets", "Fact sheets", "/fact-sheets"),
            ("reports", "Reports", "/reports"),
        ),
    ),
    _Group(
        "more",
        "More",
        "list",
        (
            ("exports", "Exports", "/exports"),
            ("webhooks", "Webhooks", "/webhooks"),
            ("audit", "Audit log", "/audit"),
        ),
    ),
)


def manage_path(access: CompetitionAccess, rest: str = "") -> str:
    """The address of an organizers' page."""
    return f"/competitions/{access.competition.slug}/manage{rest}"


@dataclass(frozen=True)
class Navigation:
    """The items of the side navigation with what waits, which of them a page belongs to, and the pages of that one."""

    groups: list[dict[str, Any]]
    current: _Group
    pages: list[dict[str, Any]]


def navigation(session: Session, access: CompetitionAccess, current: str) -> Navigation:
    """Where the page of this key stands."""
    counts = {
        "leagues": count_waiting(session, access.competition),
        "people": count_pending(session, access.competition),
    }
    pages = {
        group.key: [
            {"key": key, "label": label, "href": manage_path(access, rest), "count": counts.get(key) or None}
            for key, label, rest in group.pages
            if key != "webhooks" or access.may(Role.ORGANIZER)  # their addresses may hold secrets
        ]
        for group in _GROUPS
    }
    groups = [
        {
            "key": group.key,
            "label": group.label,
            "href": pages[group.key][0]["href"],
            "icon": group.icon,
            "count": sum(page["count"] or 0 for page in pages[group.key]),
        }
        for group in _GROUPS
    ]
    chosen = next(group for group in _GROUPS if any(key == current for key, *_ in group.pages))
    return Navigation(groups, chosen, pages[chosen.key])


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
        nav=navigation(session, access, current),
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
