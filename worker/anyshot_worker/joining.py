"""How this machine becomes a worker of a site: it shows a code, waits for its token, and keeps it."""

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from pydantic import BaseModel, ValidationError

from anyshot_core.wire.joining import (
    JOIN_PATH,
    SLOWER_SECONDS,
    JoinCodes,
    JoinProblem,
    JoinRequest,
    JoinToken,
    TokenRequest,
)
from anyshot_core.wire.worker_api import WorkerInfo

JOINED = "worker.json"  # in the state folder: what `WorkerSettings` reads where the environment says nothing


class NotJoined(Exception):
    """The site did not take this machine; the text says why."""


def ask_to_join(http: httpx.Client, worker: WorkerInfo) -> JoinCodes:
    """Ask the site for codes; raises `NotJoined`."""
    try:
        return JoinCodes.model_validate_json(_accepted(_send(http, JOIN_PATH, JoinRequest(worker=worker))))
    except httpx.HTTPError as error:
        raise NotJoined(f"The site at {http.base_url} cannot be reached: {error}") from error
    except ValidationError as error:
        raise NotJoined(f"What answers at {http.base_url} is no site of this release.") from error


def wait_for_token(http: httpx.Client, codes: JoinCodes, sleep: Callable[[float], None] = time.sleep) -> str:
    """Ask for the token until the code was entered; raises `NotJoined` when it is over, or revoked."""
    interval, deadline = codes.interval, time.monotonic() + codes.expires_in
    while time.monotonic() < deadline:
        sleep(interval)
        try:
            answer = _send(http, f"{JOIN_PATH}/token", TokenRequest(device_code=codes.device_code))
        except httpx.TransportError:
            continue
        problem = _problem(answer)
        if problem == JoinProblem.SLOW_DOWN:
            interval += SLOWER_SECONDS
        elif problem != JoinProblem.PENDING and answer.status_code < 500:
            return JoinToken.model_validate_json(_accepted(answer)).access_token
    raise NotJoined("Nobody entered the code in time. Run the command again for a new one.")


def keep(folder: Path, **settings: str) -> Path:
    """Write what a worker needs into `folder`, readable by its owner alone; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=folder)  # mode 0600; a full disk leaves the token of before
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    return Path(fresh).replace(folder / JOINED)


def _send(http: httpx.Client, path: str, message: BaseModel) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    return http.post(path, content=message.model_dump_json(exclude_unset=True), headers=headers)


def _accepted(answer: httpx.Response) -> bytes:
    if not answer.is_success:
        raise NotJoined(_words(answer, "message") or f"The site answered {answer.status_code}.")
    return answer.content


def _problem(answer: httpx.Response) -> str:
    return "" if answer.is_success else _words(answer, "error")


def _words(answer: httpx.Response, key: str) -> str:
    try:
        return str(answer.json()[key])
    except (ValueError, KeyError, TypeError):
        return ""
