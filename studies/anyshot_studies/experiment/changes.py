"""`--set KEY=VALUE` of the command line: values are JSON where they can be, else text."""

import json
from collections.abc import Iterable
from typing import Any

import click


def parse_changes(pairs: Iterable[str]) -> dict[str, Any]:
    """Keys of the object `method`. Raises click.UsageError."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--set {pair!r}: expected KEY=VALUE, such as iterations=500.")
        try:
            changes[key] = json.loads(value)
        except ValueError:
            changes[key] = value
    return changes
