"""Which routes use which budgets. Met before anything else of a request is looked up or read."""

from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from anyshot_platform.foundation.budgets import BUDGETS, ORGANIZER
from anyshot_platform.foundation.errors import NotSignedIn
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.budgets.totals import receivers, require_total
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import find_viewer

_API, _IN = "/api/v1", "/competitions/{slug}"
_BEGIN = ("imports", "drafts", "competitions")
_REHEARSE = ("rehearsals", "competitions")  # its copy is no draft, and stays until it is deleted
_PACK, _TELL = ("packs", "pack_bytes"), ("announcements", "mails")

# Log-ins, sign-ups and links that are sent are counted by `people.accounts.limiting`: their actors are no viewers.
# So are checks where a zip is checked, and the file of an upload form where it is kept: a hand-in may need neither.
SPENDING: dict[str, tuple[str, ...]] = {
    # The bytes of an upload in parts are counted where its row is written: one that is gone on with has its own.
    f"POST {_API}/uploads": ("uploads",),
    f"POST {_IN}/phases/{{phase_slug}}/submit": ("upload_bytes",),
    "POST /organize/import": _BEGIN,
    "POST /organize/new": _BEGIN,
    f"POST {_IN}/manage/clone": _BEGIN,
    f"POST {_API}{_IN}/manage/clone": _BEGIN,
    f"POST {_IN}/manage/rehearsals": _REHEARSE,
    f"POST {_API}{_IN}/manage/rehearsals": _REHEARSE,
    f"POST {_API}/pools": ("pools",),
    "POST /organize/pools": ("pools",),
    f"PUT {_API}/pools/{{pool_slug}}/packs": _PACK,
    "POST /organize/pools/{slug}/packs": _PACK,
    f"POST {_API}/pools/{{pool_slug}}/uploads": ("uploads",),
    f"POST {_API}/pools/{{pool_slug}}/uploads/{{upload_id}}/pack": _PACK,
    f"POST {_API}{_IN}/manage/announcements/acts/add": _TELL,
    f"POST {_IN}/manage/announcements": _TELL,
    f"POST {_API}{_IN}/manage/people": ("invitations",),
    f"POST {_IN}/manage/people/add": ("invitations",),
    f"POST {_IN}/team/invite": ("invitations",),
    f"POST {_IN}/discussion/new": ("posts",),
    f"POST {_IN}/discussion/{{thread_id}}/reply": ("posts",),
    f"POST {_IN}/discussion/{{thread_id}}/posts/{{post_id}}/edit": ("posts",),
    f"POST {_API}{_IN}/discussion": ("posts",),
    f"POST {_API}{_IN}/discussion/{{thread_id}}/posts": ("posts",),
    f"PATCH {_API}{_IN}/discussion/{{thread_id}}/posts/{{post_id}}": ("posts",),
    f"POST {_API}{_IN}/manage/webhooks/{{webhook_id}}/acts/test": ("webhook_tests",),
    f"POST {_IN}/manage/webhooks/{{webhook_id}}/{{act}}": ("webhook_tests",),
    f"POST {_API}/tokens": ("tokens",),
    "POST /account/tokens": ("tokens",),
    f"GET {_API}/admin/worker-requests/{{code}}": ("worker_codes",),
    f"POST {_API}/admin/worker-requests/{{code}}/acts/join": ("worker_codes",),
    "GET /admin/worker-requests": ("worker_codes",),
    "POST /admin/worker-requests/{code}/{act}": ("worker_codes",),
}


async def meet_budgets(request: Request, services: ServicesDep) -> None:
    """Count what the request's route uses; raises `TooMany` or `OverBudget`. A dependency of the whole application."""
    route: Any = request.scope.get("route")
    names = SPENDING.get(f"{request.method} {getattr(route, 'path', '')}")
    if names is not None:
        await run_in_threadpool(_meet, request, services, names)


def _meet(request: Request, services: Services, names: tuple[str, ...]) -> None:
    try:
        viewer = find_viewer(request, services)
    except NotSignedIn:
        return  # the route's policy refuses, in its words
    if viewer.is_signed_in:
        for name in names:
            _meet_one(request, services, viewer, name)


def _meet_one(request: Request, services: Services, viewer: Viewer, name: str) -> None:
    budget, slug = BUDGETS[name], request.path_params.get("slug", "")
    if budget.seconds is not None:
        # Of one person too: strangers, whom the route refuses, use nothing up but their own.
        who = f"{slug} {viewer.id}" if budget.actor == ORGANIZER else viewer.id
        spend(services, name, who, times=_receivers(services, slug) if name == "mails" else 1)
    elif not viewer.is_site_admin:
        require_total(services, name, viewer.id)


def _receivers(services: Services, slug: str) -> int:
    with services.database.glancing() as session:
        return receivers(session, slug)
