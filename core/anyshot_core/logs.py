"""Log lines of a process: one JSON object each, or text."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

LogForm = Literal["json", "text"]
_STANDARD = frozenset(vars(logging.makeLogRecord({})))


class JsonLines(logging.Formatter):
    """A record as one line of JSON; what was passed as `extra` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        fields.update({key: value for key, value in vars(record).items() if key not in _STANDARD})
        fields.pop("color_message", None)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """What every line begins with."""
        return {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }


def send_to_standard_error(formatter: logging.Formatter, level: int | str) -> None:
    """Send the records of all loggers to standard error; called once by a process's main function."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
