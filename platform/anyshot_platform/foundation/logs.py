"""Structured logs: one JSON object a line, with the ids of request, submission and run where they are known."""

import logging
from contextvars import ContextVar

from anyshot_core import logs
from anyshot_core.logs import LogForm, send_to_standard_error

request_id: ContextVar[str] = ContextVar("request_id", default="")


class JsonFormatter(logs.JsonLines):
    """A record as one line of JSON, with the request that it belongs to."""

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """What every line begins with."""
        identity = request_id.get()
        return super().fields(record) | ({"request_id": identity} if identity else {})


def configure_logging(form: LogForm, level: int = logging.INFO) -> None:
    """Send all records to standard error in the form asked for; called once by a process's main function."""
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    send_to_standard_error(JsonFormatter() if form == "json" else text, level)
    for noisy in ("botocore", "urllib3", "httpx", "httpcore", "kombu", "celery"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
