"""Fetch files over HTTP: resumed where they broke off, verified by size and digest, atomic."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx

from anyshot_core.data.problems import DataError
from anyshot_core.names import OutsideFolder, path_below

Progress = Callable[[int], None]  # bytes that came in since the last call
_ATTEMPTS = 5
_PAUSE = 0.5  # seconds before the second attempt; doubles


class DownloadError(DataError):
    """A file or listing could not be had; the message says why and what to do."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch; the digests are None where the server gives none of the content."""

    url: str
    path: str
    size: int
    md5: str | None = None
    sha256: str | None = None


def get_text(client: httpx.Client, url: str, params: dict[str, str] | None = None) -> str:
    """The body of an address.

    Raises:
        DownloadError: no network, or the server answers with an error.
    """
    try:
        answer = client.get(url, params=params)
    except httpx.HTTPError as error:
        raise no_network(url, error) from error
    if answer.status_code != HTTPStatus.OK:
        raise DownloadError(f"{url}: the server answers {answer.status_code} {answer.reason_phrase}.")
    return answer.text


def fetch(client: httpx.Client, file: RemoteFile, folder: Path, on_bytes: Progress) -> Path:
    """Fetch one file into `folder`; one that is there already is only verified, a part of it is continued.

    Raises:
        DownloadError: no network after several attempts, the content does not fit its digest, or the file's path leaves
            the folder.
    """
    try:
        target = path_below(folder, file.path)
    except OutsideFolder as error:
        raise DownloadError(f"{file.url}: refuses the file name {error}.") from error
    if target.exists() and _is_complete(target, file):
        on_bytes(file.size)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    on_bytes(part.stat().st_size if part.exists() else 0)
    for attempt in range(_ATTEMPTS):
        try:
            _continue(client, file, part, on_bytes)
            break
        except httpx.HTTPError as error:
            if attempt == _ATTEMPTS - 1:
                raise no_network(file.url, error) from error
            time.sleep(_PAUSE * 2**attempt)
    if not _is_complete(part, file):
        part.unlink()
        raise DownloadError(
            f"{file.url}: what came does not fit the size or digest that the server names. Call again; if it stays "
            "so, the server's copy is damaged."
        )
    part.replace(target)
    return target


def _continue(client: httpx.Client, file: RemoteFile, part: Path, on_bytes: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have > file.size:  # what is left of another file
        part.unlink()
        on_bytes(-have)
        have = 0
    if have == file.size:
        part.touch()
        return
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", file.url, headers=headers, follow_redirects=True) as answer:
        if answer.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise DownloadError(
                f"{file.url}: the server answers {answer.status_code} {answer.reason_phrase}."
            )
        resumed = answer.status_code == HTTPStatus.PARTIAL_CONTENT
        if have and not resumed:
            on_bytes(-have)  # the server starts from the beginning
        with part.open("ab" if resumed else "wb") as out:
            for chunk in answer.iter_bytes():  # as it comes: nothing is lost where it breaks off
                out.write(chunk)
                on_bytes(len(chunk))


def _is_complete(path: Path, file: RemoteFile) -> bool:
    if path.stat().st_size != file.size:
        return False
    if file.sha256 is not None:
        return _digest(path, hashlib.sha256) == file.sha256
    return file.md5 is None or _digest(path, lambda: hashlib.md5(usedforsecurity=False)) == file.md5


def _digest(path: Path, kind: Callable[[], Any]) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, kind).hexdigest()


def no_network(url: str, error: Exception) -> DownloadError:
    """What to say where a host cannot be reached."""
    host = httpx.URL(url).host
    return DownloadError(
        f"No network connection to {host} ({type(error).__name__}: {error}). Connect this machine, or download the "
        "dataset on another one and copy its folder here; what was fetched is kept, the same command continues."
    )
