"""An archive that somebody sent becomes a competition: by page or over JSON."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from anyshot_platform.kernel.filters import decimal
from anyshot_platform.organizers.transfers.arriving import check_results, keep_files, open_archive, receive
from anyshot_platform.services import Services
from anyshot_platform.users.viewer import Viewer


def take_in(
    services: Services, viewer: Viewer, write: Callable[[Path], None], slug: str
) -> tuple[str, list[str]]:
    """The short name of the new competition, and what its organizer should know; `write` brings the archive's bytes.

    No transaction is open while the archive is unpacked and its results are scored again.
    """
    with tempfile.TemporaryDirectory(prefix="anyshot-transfer-") as name:
        folder = Path(name)
        write(folder / "archive.zip")
        archive = open_archive(services.settings, folder / "archive.zip", folder)
        unsupported = check_results(archive)
        files = keep_files(services, archive)
        with services.database.writing() as session:
            made = receive(services, session, archive, files, viewer, slug=slug or None)
            notices = list(made.notices)
            if unsupported:
                words = (
                    "1 run has no files any more: its scores are as the archive says them."
                    if unsupported == 1
                    else (
                        f"{decimal(unsupported)} runs have no files any more: their scores are as "
                        "the archive says them."
                    )
                )
                notices.append(words)
            return made.competition.slug, notices
