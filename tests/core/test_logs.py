"""What a process writes into its log, and where its packages lie."""

import json
import logging
import sys

import pytest

from anyshot_core.installation import package_files, package_folder
from anyshot_core.logs import JsonLines


def test_a_line_of_a_log_has_what_was_passed_with_it_and_the_traceback() -> None:
    try:
        raise ValueError("seven")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "x.py", 1, "it %s", ("broke",), sys.exc_info())
    vars(record)["run_id"] = "r1"
    line = json.loads(JsonLines().format(record))
    assert (line["message"], line["level"], line["run_id"]) == ("it broke", "error", "r1")
    assert "ValueError: seven" in line["exception"] and line["at"].endswith("+00:00")
    record.exc_info = None
    assert "exception" not in json.loads(JsonLines().format(record))


def test_a_package_that_is_not_there_is_named() -> None:
    assert package_folder("anyshot_core") / "logs.py" in package_files("anyshot_core")
    with pytest.raises(ModuleNotFoundError, match="no_such_package is not installed here"):
        package_folder("no_such_package")
