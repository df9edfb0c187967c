"""The report of a name, and its settings as organizers give them."""

from collections.abc import Mapping

from anyshot_core.wire.reports import REPORTS, AskedSetting, ReportDescription
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.filters import decimal


def find_kind(name: str) -> type[ReportDescription]:
    """The report of that name; raises `NotFound`."""
    if name not in REPORTS:
        raise NotFound(f"There is no report {name[:40]!r}; there are {', '.join(REPORTS)}.")
    return REPORTS[name]


def read_settings(kind: type[ReportDescription], given: Mapping[str, float | None]) -> dict[str, float]:
    """Each setting that organizers choose, as given or its default; raises `Invalid` outside the bounds."""
    return {setting.name: _read(setting, given.get(setting.name)) for setting in kind.asked()}


def _read(setting: AskedSetting, value: float | None) -> float:
    if value is None:
        return setting.default
    asked = setting.asked
    if not asked.least <= value <= asked.most or (setting.whole and value != int(value)):
        kind = "a whole number" if setting.whole else "a number"
        bounds = f"from {decimal(asked.least)} to {decimal(asked.most)}"
        raise Invalid(f"{asked.label}: this must be {kind} {bounds}.", field=setting.name)
    return int(value) if setting.whole else value
