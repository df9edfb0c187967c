"""Structured logs: one JSON object a line, with the ids of request, submission and run where they are known."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

request_id: ContextVar[str] = ContextVar("request_id", default="")
_STANDARD = frozenset(vars(logging.makeLogRecord({})))


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; what was passed as `extra` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if identity := request_id.get():
            fields["request_id"] = identity
        fields.update({key: value for key, value in vars(record).items() if key not in _STANDARD})
        fields.pop("color_message", None)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def configure_logging(form: Literal["json", "text"], level: int = logging.INFO) -> None:
    """Send all records to standard error in the form asked for; called once by a process's main function."""
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("botocore", "urllib3", "httpx", "httpcore", "kombu", "celery"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
