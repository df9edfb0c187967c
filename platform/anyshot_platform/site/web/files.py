"""Sends a stored file: from here in the parts that `Range` asks for, or by a signed address of the storage."""

from collections.abc import Mapping

from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse

from anyshot_platform.foundation.artifacts.service import read_chunks
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import FolderStorage

BINARY = "application/octet-stream"
# The content security policy of what strangers made: opened by itself it gets no scripts, no origin and no network.
HARMLESS = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox"


def send_stored(
    services: Services,
    digest: str,
    name: str | None,
    media_type: str = BINARY,
    headers: Mapping[str, str] | None = None,
    *,
    from_here: bool = False,
) -> Response:
    """A file to be kept under a name, or to be shown where it has none; raises `NotFound` if it is no longer kept.

    `from_here` is for what our pages show: they take pictures from no other site, and its headers are ours.
    """
    storage = services.storage
    if not from_here:
        direct = storage.direct_url(digest, services.settings.blob_url_seconds, name, media_type)
        if direct is not None:
            return RedirectResponse(direct, status_code=303)
    if not storage.exists(digest):
        raise NotFound("This file is no longer kept.")
    if isinstance(storage, FolderStorage):
        return FileResponse(storage.path(digest), filename=name, media_type=media_type, headers=headers)
    return StreamingResponse(read_chunks(storage.open(digest)), media_type=media_type, headers=headers)
