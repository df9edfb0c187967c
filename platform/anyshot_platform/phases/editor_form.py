"""The form of the phase editor, read into the description of a phase as a bundle has it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from anyshot_core.protocols import ProtocolError, protocol_from_dict
from anyshot_platform.bundles.crosschecks import is_zone
from anyshot_platform.described.quantities import parse_duration, parse_size
from anyshot_platform.errors import Invalid
from anyshot_platform.phases.description import PhaseSpec
from anyshot_platform.web.forms import SentForm

_NUMBERS = (
    "tasks.count",
    "scoring.runs",
    "quota.per_day",
    "quota.total",
    "quota.running",
    "smoke.tasks",
    "smoke.per_day",
)
_FLAGS = (
    "accepts_uploads",
    "tasks.isolated",
    "tasks.keep_learner",
    "tasks.same_test_tasks",
    "tasks.each_dataset",
    "budget.each_dataset",
    "scoring.team_chooses",
    "quota.cancelled_counts",
    "shown.scores",
    "shown.tasks",
    "shown.dataset_names",
    "shown.others",
    "shown.confusion",
    "shown.after_publishing",
)


def read_phase(form: SentForm, key: str | None = None) -> tuple[PhaseSpec | None, dict[str, str]]:
    """The phase that a form describes, or what is wrong with each field."""
    errors: dict[str, str] = {}
    zone = form.text("timezone") or "UTC"
    if not is_zone(zone):
        errors["timezone"] = f"There is no time zone {zone}; write one like Europe/Paris."
        zone = "UTC"
    raw: dict[str, Any] = {"key": key or form.text("key"), "title": form.text("title"), "timezone": zone}
    raw |= {name: form.text(name) for name in ("description", "kind")}
    for name in ("start", "end"):
        raw[name] = read_moment(form.text(name), zone, name, errors)
    for name in _NUMBERS:
        _put(raw, name, _number(form, name, errors))
    for name in _FLAGS:
        _put(raw, name, form.flag(name))
    for name in ("budget.run", "budget.meta_train", "budget.task", "smoke.budget"):
        _put(raw, name, _quantity(parse_duration, form.text(name), name, errors))
    for name in ("machine.memory", "machine.scratch", "machine.output"):
        _put(raw, name, _quantity(parse_size, form.text(name), name, errors))
    for name in ("tasks.meta_train", "tasks.meta_test", "smoke.pool", "machine.image"):
        _put(raw, name, form.text(name) or None)
    for name in ("scoring.ranking", "scoring.board_shows", "shown.logs", "shown.board"):
        _put(raw, name, form.text(name))
    for name in (
        "machine.hardware",
        "machine.cpus",
        "machine.gpus",
        "machine.processes",
        "tasks.shards",
        "priority",
    ):
        _put(raw, name, form.text(name) or None)
    _put(raw, "tasks.protocol", _protocol(form.text("tasks.protocol"), errors))
    source = form.text("entries.phase")
    raw["entries"] = {"phase": source} if source else None
    return _validate(_without_empty(raw), errors)


def _validate(raw: dict[str, Any], errors: dict[str, str]) -> tuple[PhaseSpec | None, dict[str, str]]:
    try:
        spec = PhaseSpec.model_validate(raw)
    except ValidationError as error:
        for details in error.errors():
            name = ".".join(str(part) for part in details["loc"])
            errors.setdefault(name, str(details["msg"]).removeprefix("Value error, "))
        return None, errors
    if spec.end is not None and spec.end <= spec.start:
        errors["end"] = "The phase ends before it starts."
    return (None, errors) if errors else (spec, {})


_UNLIMITED = {
    "quota.per_day",
    "quota.total",
    "quota.running",
    "smoke.per_day",
    "budget.meta_train",
    "budget.task",
}


def _put(raw: dict[str, Any], name: str, value: Any) -> None:
    part, _, key = name.rpartition(".")
    (raw.setdefault(part, {}) if part else raw)[key] = value


def _without_empty(raw: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not filled in, so that defaults hold; where empty means unlimited it stays."""
    kept: dict[str, Any] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and key != "protocol":
            kept[key] = {k: v for k, v in value.items() if v is not None or f"{key}.{k}" in _UNLIMITED}
        elif value is not None and value != "":
            kept[key] = value
    return kept


def read_moment(text: str, zone: str, name: str, errors: dict[str, str]) -> datetime | None:
    """A moment of a `datetime-local` field in UTC; None for an empty one, or a message in `errors`."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    except ValueError:
        errors[name] = f"This is no moment: {text}"
        return None


def _number(form: SentForm, name: str, errors: dict[str, str]) -> int | None:
    try:
        return form.number(name)
    except Invalid as error:
        errors[name] = error.message
        return None


def _quantity(parse: Any, text: str, name: str, errors: dict[str, str]) -> Any:
    if not text:
        return None
    try:
        return parse(text)
    except ValueError as error:
        errors[name] = str(error)
        return None


def _protocol(text: str, errors: dict[str, str]) -> dict[str, Any]:
    if not text:
        return {}
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("a JSON object is wanted")
        protocol_from_dict(data)
    except (ValueError, TypeError, ProtocolError) as error:
        errors["tasks.protocol"] = f"Not a task protocol: {error}"
        return {}
    return data
