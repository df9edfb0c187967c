"""How a competition is begun, for pages and JSON: empty, from a bundle, or from one that ships with Anyshot."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.contest.bundles.actions.data import take_data
from anyshot_platform.contest.bundles.actions.service import export_competition, import_competition
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.reading import CompetitionBundle
from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import create_competition
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer

ReadBundle = Callable[[Path], CompetitionBundle]


def find_ready_made(name: str) -> CompetitionBundle:
    """A competition that ships with Anyshot; raises `NotFound`."""
    try:
        return read_ready_made(name)
    except KeyError:
        raise NotFound("There is no such ready-made competition.") from None


def take_bundle(
    services: Services, viewer: Viewer, read: ReadBundle, slug: str = "", start: datetime | None = None
) -> str:
    """Make a draft of the viewer's of the bundle that `read` gives, a folder for its datasets being passed to it.

    A `start` without a zone is UTC. No transaction is open while it is read and its datasets are packed.

    Returns the short name of the draft.
    """
    if start is not None and start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    with tempfile.TemporaryDirectory(prefix="anyshot-import-") as folder:
        bundle, packs = take_data(services, read(Path(folder)), viewer.id)
        with services.database.writing() as session:
            wanted = {"slug": slug or None, "start": start, "packs": packs}
            made = import_competition(session, services.storage, bundle, viewer, **wanted)
            return made.competition.slug


def begin_draft(session: Session, viewer: Viewer, title: str, slug: str = "") -> Competition:
    """An empty draft of the viewer's; without a short name it gets a free one from its title."""
    owner = session.get_one(User, viewer.id)
    named = slug or _free_slug(session, key_from(title, "competition"))
    made = create_competition(session, owner, slug=named, title=title or named)
    session.flush()
    return made


def _free_slug(session: Session, key: str) -> str:
    """The short name, or the first with a number that no competition has."""
    alike = select(Competition.slug).where(Competition.slug.startswith(key[:56], autoescape=True))
    return unique(key, set(session.scalars(alike)))


def bundle_response(
    services: Services, session: Session, competition: Competition, *, secrets: bool
) -> Response:
    """The competition as the zip of a bundle, to be kept as a file."""
    content = export_competition(session, services.storage, competition, secrets=secrets)
    headers = {"Content-Disposition": f'attachment; filename="{competition.slug}.zip"'}
    return Response(content, media_type="application/zip", headers=headers)
