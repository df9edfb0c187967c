"""One act on many objects: what it would do to how many, what is left out and why."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_core.words import count_of
from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts, S
from anyshot_platform.actions.service import (
    NO_CONSENT,
    JointConsent,
    NeedsConsent,
    Preview,
    carry_out,
    rehearse,
    require_consent_to,
    warnings_of,
)
from anyshot_platform.contest.competitions.models import Competition
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
    """What was done, by id; `skipped` says why not."""

    done: tuple[str, ...]
    skipped: dict[str, str]
    warnings: Annotated[
        tuple[str, ...], Field(description="what the act warned of, and what it was done in spite of")
    ]


def preview_many(
    session: Session, act: Act[S, Opts], subjects: Sequence[S], request: ActRequest[Opts]
) -> ManyPreview:
    """What the act would do to these objects now."""
    found = [rehearse(session, act, subject, request) for subject in subjects]
    why = Counter(words for one in found if (words := _left_out(one)))
    done = [one for one in found if not _left_out(one)]
    return ManyPreview(
        _distinct(line for one in done for line in one.does),
        _distinct(line for one in done for line in (*one.blocked, *one.warnings)),
        len(done),
        sum(one.told for one in done),
        dict(why.most_common()),
    )


def _left_out(shown: Preview) -> str:
    if shown.done or shown.refused:
        return shown.done or join_texts(shown.refused)
    return why_by_itself(shown) if shown.alone else ""


def why_by_itself(shown: Preview) -> str:
    """Why an act that asks for itself is not done together with others."""
    return join_texts((*shown.blocked, "It asks for the name: do it by itself."))


@contextmanager
def together(
    number: int, title: str, competition: Competition, consent: Consent, reason: str
) -> Iterator[Consent]:
    """What each of `number` acts gets as consent: of one what was said of it, of several a `JointConsent`.

    What several change in public results is asked once, when all are done, for the short name of the competition;
    `title` is that of all of them. The caller then takes them back, with the transaction.

    Raises:
        NeedsConsent, Invalid: at the end, as one act does at its beginning.
    """
    if number == 1 or isinstance(consent, JointConsent):
        yield consent
        return
    joint = JointConsent(consent.name, consent.override)
    yield joint
    if joint.asked:
        require_consent_to(_shown_together(title, competition.slug, joint.asked), consent, reason)


def _shown_together(title: str, name: str, asked: Sequence[Preview]) -> Preview:
    return replace(
        asked[0],
        title=title,
        name=name,
        blocked=_distinct(line for one in asked for line in one.blocked),
        warnings=_distinct(line for one in asked for line in one.warnings),
        does=_distinct(line for one in asked for line in one.does),
        told=sum(one.told for one in asked),
    )


def _distinct(lines: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))


def do_to_many(
    session: Session,
    act: Act[Any, Opts],
    subjects: Sequence[Any],
    request: ActRequest[Opts],
    consent: Consent = NO_CONSENT,
) -> ManyDone:
    """Do one thing to many objects; those to which it cannot be done are skipped with the reason.

    Of several, those that ask for themselves are skipped too.

    Raises:
        NeedsConsent: it asks for more than `consent` says, as in `together`.
    """
    if not subjects:
        return ManyDone((), {}, ())
    target = act.target(session, subjects[0])
    competition = session.get_one(Competition, target.competitions[0])
    title = act.title.replace("{}", count_of(len(subjects), target.kind))
    done, skipped, outcomes = [], {}, []
    with together(len(subjects), title, competition, consent, request.reason) as said:
        for subject in subjects:
            try:
                outcome = carry_out(session, act, subject, request, said)
            except NeedsConsent as error:
                if not isinstance(said, JointConsent):
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
