"""The baselines that ship with Anyshot, for participants to read and to begin with."""

import tempfile
from pathlib import Path

from anyshot_core.baselines import CONFIG, ExperimentBundle, NoBaseline, find_baselines, pack_baseline
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.standings.baselines.actions.service import BUILTIN


def list_shipped() -> list[ExperimentBundle]:
    """All of this installation, by name."""
    try:
        return find_baselines((), BUILTIN)
    except NoBaseline:  # a platform without that folder
        return []


def pack_shipped(name: str, settings: str = "") -> bytes:
    """The zip of a baseline; the same bytes each time. With `settings`, its file of that name lies over `config.json`.

    Raises `NotFound` and `Invalid` with the names that there are.
    """
    known = {one.name: one for one in list_shipped()}
    baseline = known.get(name.replace("-", "_"))
    if baseline is None:
        raise NotFound(f"There is no baseline {name}; there are {', '.join(known) or '-'}.")
    if settings and settings not in baseline.overlays():
        raise Invalid(
            (
                f"{baseline.name} has no settings {settings}; it has "
                f"{', '.join(sorted(baseline.overlays())) or CONFIG}."
            ),
            field="settings",
        )
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "baseline.zip"
        pack_baseline(baseline, target, settings)
        return target.read_bytes()
