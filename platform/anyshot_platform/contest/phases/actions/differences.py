"""What differs between two descriptions of a phase, and which of it decides what a score is."""

from typing import Any

from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.phases.description import SETTINGS, PhaseSpec, decides_scores
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.schema.settings import Elsewhere


def keep_secrets(spec: PhaseSpec, old: PhaseSpec) -> PhaseSpec:
    """The description with the secrets that it leaves out: key, seeds for as many runs, split of the same protocol."""
    tasks, known = spec.tasks, old.tasks
    kept: dict[str, Any] = {"key": tasks.key or known.key}
    for name in ("train_seeds", "test_seeds"):
        if not getattr(tasks, name) and len(getattr(known, name)) == spec.scoring.runs and tasks.key is None:
            kept[name] = getattr(known, name)
    secret = {name: known.protocol[name] for name in SEEDS if name in known.protocol}
    if secret and known.protocol.get("name") == tasks.protocol.get("name"):
        kept["protocol"] = {**secret, **tasks.protocol}
    return spec.model_copy(update={"tasks": tasks.model_copy(update=kept)})


def scoring_changes(old: PhaseSpec, new: PhaseSpec) -> list[str]:
    """The settings that decide what a score is and differ between two descriptions."""
    changed = [
        setting.path
        for setting in SETTINGS
        if decides_scores(setting)
        and setting.value(old) != setting.value(new)
        and (setting.path not in _SECRET or setting.value(new))  # left out: stays as it is
    ]
    shared = new.tasks.test_seeds or new.scoring.runs == old.scoring.runs == 1
    return [name for name in changed if name != "tasks.same_test_tasks" or not shared]


def other_changes(old: PhaseSpec, new: PhaseSpec) -> list[str]:
    """The settings that decide no score and differ between two descriptions, without gates, which are set elsewhere."""
    return [
        setting.path
        for setting in SETTINGS
        if not decides_scores(setting)
        and setting.mark(Elsewhere) is None
        and setting.value(old) != setting.value(new)
    ]


def pools_moved(old: PhaseVersion, new: PhaseVersion) -> list[str]:
    """The settings of pools that are other pools, or other versions of them, in `new`."""
    return [path for path, column in _POOLS.items() if getattr(old, column) != getattr(new, column)]


_POOLS = {"tasks.meta_train": "meta_train_pool_version_id", "tasks.meta_test": "meta_test_pool_version_id"}
_SECRET = ("tasks.train_seeds", "tasks.test_seeds", "tasks.key")


def secret_fields(spec: PhaseSpec) -> dict[str, Any]:
    """What `flatten` leaves out, by field."""
    return {name: getattr(spec.tasks, name.removeprefix("tasks.")) for name in _SECRET}


def new_secrets(spec: PhaseSpec, old: PhaseSpec) -> dict[str, str]:
    """By field, that what `flatten` leaves out is another one than in `old`: all that the audit log may say of it."""
    now, before = (
        secret_fields(one) | {f"tasks.protocol.{name}": one.tasks.protocol.get(name) for name in SEEDS}
        for one in (spec, old)
    )
    return {name: "another one" for name in now if now[name] != before[name]}


def flatten(spec: PhaseSpec) -> dict[str, Any]:
    """The settings of a phase by field, without its secrets and without gates, which are set elsewhere."""
    flat: dict[str, Any] = {}
    for part, value in spec.model_dump(mode="json").items():
        if part == "entries":
            flat["entries.phase"] = value["phase"] if value else None
        elif isinstance(value, dict):
            flat |= {f"{part}.{key}": one for key, one in value.items()}
        else:
            flat[part] = value
    flat["tasks.protocol"] = {k: v for k, v in flat["tasks.protocol"].items() if k not in SEEDS}
    return {name: value for name, value in flat.items() if name not in _SECRET}


def with_fields(spec: PhaseSpec, fields: dict[str, Any]) -> PhaseSpec:
    """The description with these fields, as `flatten` names them, set anew."""
    data = spec.model_dump()
    for name, value in fields.items():
        part, _, key = name.rpartition(".")
        if name == "entries.phase":
            gates = (data["entries"] or {}).get("gates", [])
            data["entries"] = {"phase": value, "gates": gates} if value else None
        elif part:
            data[part][key] = value
        else:
            data[name] = value
    return PhaseSpec.model_validate(data)


def keep_seconds(spec: PhaseSpec, old: PhaseSpec) -> PhaseSpec:
    """The description with the moments of `old` where a form, which knows minutes only, left them as they were."""
    kept = {
        name: before
        for name in ("start", "end", "late_until")
        if (before := getattr(old, name)) and getattr(spec, name) == before.replace(second=0, microsecond=0)
    }
    return spec.model_copy(update=kept)


def difference(one: PhaseSpec, other: PhaseSpec) -> dict[str, Any]:
    """The fields that are different in `one`, without secrets."""
    theirs = flatten(other)
    return {name: value for name, value in flatten(one).items() if theirs[name] != value}
