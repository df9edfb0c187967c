"""The form of the phase editor: what is offered to choose from, and the description that was sent."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols import ProtocolError
from anyshot_core.wire.requirements import PACKAGES_IMAGE
from anyshot_platform.contest.bundles.consistency import not_a_protocol
from anyshot_platform.contest.phases.actions.checks import problems_of, usable_pools
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.schema.settings import settings_of
from anyshot_platform.foundation.zones import words_on_zone
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.workers.models import Image, Worker
from anyshot_platform.site.phases.protocol_form import ROLES, read_protocol
from anyshot_platform.site.schema.form import Card, Options, cards_of, read_form
from anyshot_platform.site.web.forms import SentForm
from anyshot_scoring.rules import RULES


def cards(session: Session, access: CompetitionAccess, phase: Phase | None, spec: PhaseSpec) -> list[Card]:
    """The form with the settings of `spec`; a phase that exists keeps its short name."""
    return cards_of(
        spec,
        title="Name and time",
        offered=_offered(session, access, phase, spec),
        zone=spec.timezone or "UTC",
        leave_out=("key",) if phase else (),
    )


def _offered(
    session: Session, access: CompetitionAccess, phase: Phase | None, spec: PhaseSpec
) -> dict[str, Options]:
    others = [p for p in list_phases(session, access.competition) if phase is None or p.id != phase.id]
    classes = {"cpu", spec.machine.hardware, *session.scalars(select(Worker.hardware_class).distinct())}
    enabled = session.scalars(select(Image.name).where(Image.enabled))
    images = {
        spec.machine.image or "",
        "",
        *(name for name in enabled if not PACKAGES_IMAGE.fullmatch(name)),  # such a one is had by its list
    }
    return {
        "pools": [("", "none yet"), *usable_pools(session, access.viewer, spec)],
        "phases": [("", "uploads only"), *((other.slug, other.name) for other in others)],
        "rules": [(name, rule.title) for name, rule in RULES.items()],
        "hardware": [(name, name) for name in sorted(classes)],
        "images": [(name, name or "the worker's default") for name in sorted(images)],
    }


def read_phase(form: SentForm, old: PhaseSpec | None = None) -> tuple[PhaseSpec | None, dict[str, str]]:
    """The phase that a form describes, None where it cannot be read, and what is wrong with each field.

    `old` is the phase as it is.
    """
    errors: dict[str, str] = {}
    zone = (old and form.unchanged("timezone") and old.timezone) or form.text("timezone") or "UTC"
    if words := words_on_zone(zone):
        errors["timezone"] = words
        zone = "UTC"
    given: dict[str, Any] = {"timezone": zone}
    for path in ROLES:
        if old and form.unchanged(f"{path}.name"):
            given[path] = getattr(old.tasks, path.removeprefix("tasks."))
            continue
        try:
            known = getattr(old.tasks, path.removeprefix("tasks.")) if old else {}
            given[path] = read_protocol(form, known, path)
        except ProtocolError as error:
            errors[path] = not_a_protocol(error)
    given |= {"key": old.key} if old else {}
    given |= {} if form.text("entries.phase") else {"entries.phase": None}
    if old:
        left = (setting for setting in settings_of(PhaseSpec) if form.unchanged(setting.path))
        given |= {setting.path: setting.value(old) for setting in left}
    spec, found = read_form(PhaseSpec, form, given, zone=zone)
    errors |= found
    return spec, errors | (dict(problems_of(spec)) if spec else {})
