"""One act on many objects: what it would do to how many, what is left out and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts, S
from anyshot_platform.actions.service import (
    NO_CONSENT,
    NeedsConsent,
    Preview,
    carry_out,
    rehearse,
    warnings_of,
)
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.foundation.filters import join_texts


@dataclass(frozen=True)
class ManyPreview:
    """What an act would do to many: its sentences, to how many, and how many are left out for which reason."""

    does: tuple[str, ...]
    warnings: tuple[str, ...]
    number: int
    told: int
    skipped: dict[str, int]


@dataclass(frozen=True)
class ManyDone:
    """What was done, by id, why the rest was left out, and what the act warned of."""

    done: tuple[str, ...]
    skipped: dict[str, str]
    warnings: tuple[str, ...] = ()


def preview_many(
    session: Session, act: Act[S, Opts], subjects: Sequence[S], request: ActRequest[Opts]
) -> ManyPreview:
    """What the act would do to these objects now."""
    found = [rehearse(session, act, subject, request) for subject in subjects]
    why = Counter(words for one in found if (words := _left_out(one)))
    done = [one for one in found if not _left_out(one)]
    does = tuple(dict.fromkeys(line for one in done for line in one.does))
    warnings = tuple(dict.fromkeys(line for one in done for line in one.warnings))
    return ManyPreview(does, warnings, len(done), sum(one.told for one in done), dict(why.most_common()))


def _left_out(shown: Preview) -> str:
    if shown.done or shown.refused:
        return shown.done or join_texts(shown.refused)
    return why_by_itself(shown) if shown.name else ""


def why_by_itself(shown: Preview) -> str:
    """Why an act that asks is not done together with others."""
    return join_texts((*shown.blocked, "It asks for the name: do it by itself."))


def do_to_many(
    session: Session,
    act: Act[Any, Opts],
    subjects: Sequence[Any],
    request: ActRequest[Opts],
    consent: Consent | None = None,
) -> ManyDone:
    """Do one thing to many objects; those to which it cannot be done are skipped with the reason.

    `consent` is about one object alone: where it asks for more, `NeedsConsent` is raised. Of several, those that ask
    are skipped.
    """
    done, skipped, outcomes = [], {}, []
    alone = consent if len(subjects) == 1 else None
    for subject in subjects:
        try:
            outcome = carry_out(session, act, subject, request, alone or NO_CONSENT)
        except NeedsConsent as error:
            if alone is not None:
                raise
            skipped[subject.id] = why_by_itself(error.preview)
            continue
        except Conflict as error:
            skipped[subject.id] = error.message
            continue
        if not outcome.changed:
            skipped[subject.id] = outcome.message
            continue
        outcomes.append(outcome)
        done.append(subject.id)
    return ManyDone(tuple(done), skipped, warnings_of(outcomes))
