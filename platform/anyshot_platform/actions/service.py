"""Carries acts out: looks first, asks where it has to, does nothing twice, writes the log."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    ALL_READ,
    Act,
    ActDone,
    ActRequest,
    Consent,
    Danger,
    Findings,
    Opts,
    S,
    Target,
)
from anyshot_platform.actions.on_results import do_on_results
from anyshot_platform.foundation.database import hold
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.visibility.phases import published_phases
from anyshot_platform.people.accounts.proving import require_proof
from anyshot_platform.people.audit import service as audit

NO_CONSENT = Consent()


@dataclass(frozen=True)
class Preview:
    """An act on its object, before it is done."""

    act: str
    title: str
    name: str  # to be typed; empty: nothing is asked
    done: str
    refused: tuple[str, ...]
    blocked: tuple[str, ...]
    warnings: tuple[str, ...]
    does: tuple[str, ...]
    told: int
    undo: str
    reason: str  # who reads the reason
    reasoned: bool = False  # whether it has to be given
    alone: bool = False  # it asks whether or not it changes public results: for one object at a time


class ActRefused(Conflict):
    """The act is impossible now; the details hold the preview."""

    code = "act_refused"


class NeedsConsent(Conflict):
    """The act asks for the name of its object, or for an override; the details hold the preview."""

    code = "confirm"

    def __init__(self, message: str, preview: Preview) -> None:
        super().__init__(message, preview=asdict(preview))
        self.preview = preview


@dataclass(frozen=True)
class JointConsent(Consent):
    """For each of several acts: what they change in public results is collected, and agreed to once all are done."""

    asked: list[Preview] = field(default_factory=list)


@dataclass(frozen=True)
class ActOutcome:
    """What came of an act; `changed` is false where it was so already.

    `warnings` are what it warned of, and what it was done in spite of: where nothing is asked, nobody has read them.
    """

    message: str
    changed: bool
    result: Any = None
    warnings: tuple[str, ...] = ()


def warnings_of(outcomes: Iterable[ActOutcome]) -> tuple[str, ...]:
    """What several acts warned of, each sentence once."""
    return tuple(dict.fromkeys(words for outcome in outcomes for words in outcome.warnings))


def preview(session: Session, act: Act[S, Opts], subject: S, request: ActRequest[Opts]) -> Preview:
    """What the act would do."""
    return _show(act, act.target(session, subject), act.look(session, subject, request))


def rehearse(session: Session, act: Act[S, Opts], subject: S, request: ActRequest[Opts]) -> Preview:
    """What the act would do, with what it would change in public results: where there are any it is tried, and undone.

    Raises `NeedsProof` as doing it would.
    """
    target = act.target(session, subject)
    shown = _show(act, target, act.look(session, subject, request))
    if shown.done or shown.refused or not published_phases(session, target.competitions):
        return shown
    trial = session.begin_nested()
    try:
        carry_out(session, act, subject, replace(request, reason=request.reason or "a trial"))
    except NeedsConsent as error:
        return error.preview
    except Conflict as error:
        return replace(shown, refused=(error.message,))
    finally:
        trial.rollback()
    return shown


def _show(act: Act[Any, Any], target: Target, found: Findings) -> Preview:
    name = target.name if (act.danger is Danger.NAME and found.asks) or found.blocked else ""
    return Preview(
        act=act.key,
        title=act.title.replace("{}", target.title),
        name=name,
        done=found.done,
        refused=tuple(found.refused),
        blocked=tuple(found.blocked),
        warnings=tuple(found.warnings),
        does=tuple(found.does),
        told=found.told,
        undo=act.undo,
        reason=act.reason,
        alone=bool(name),
    )


def carry_out(
    session: Session, act: Act[S, Opts], subject: S, request: ActRequest[Opts], consent: Consent = NO_CONSENT
) -> ActOutcome:
    """Do it in the caller's transaction, and note it in the log of every competition that it concerns.

    Of two at once the second looks when the first is done.

    Raises:
        NeedsProof: it is dangerous, or something is overridden, and it is long ago that whoever asks said password or
            code.
        ActRefused: it is impossible now.
        NeedsConsent: the name of the object was not given, or something stands in the way and is not overridden.
        Invalid: it changes public results, and no reason was given.
    """
    if act.danger is not Danger.NONE:
        require_proof(session)
    target = act.target(session, subject)
    _hold(session, target)
    shown = _show(act, target, act.look(session, subject, request))
    if shown.done:
        return ActOutcome(shown.done, changed=False)
    if shown.refused:
        raise ActRefused(join_texts(shown.refused), preview=asdict(shown))
    done, on_results = _do(session, act, subject, request, target, shown, consent)
    session.flush()
    overridden = (*shown.blocked, *on_results)
    _note(session, act.key, target, request, done, overridden)
    return ActOutcome(done.message, changed=True, result=done.result, warnings=overridden + shown.warnings)


def carry_out_by_clock(session: Session, act: Act[S, Opts], subject: S, request: ActRequest[Opts]) -> bool:
    """Do what somebody asked for in advance, by the same declaration as their button, and say whether it was done.

    Nobody is there to say that it be done all the same: whatever stands in the way leaves it undone.
    """
    target = act.target(session, subject)
    _hold(session, target)
    shown = _show(act, target, act.look(session, subject, request))
    if shown.done or shown.refused or shown.blocked:
        return False
    try:
        done, _ = _do(session, act, subject, request, target, shown, Consent(shown.name))
    except NeedsConsent:
        return False
    session.flush()
    noted = replace(done, after={**done.after, "by": "the clock"})
    _note(session, act.key, target, request, noted, ())
    return True


def _hold(session: Session, target: Target) -> None:
    """Let acts on one competition, or on things of one kind that belong to none, wait for each other."""
    hold(session, *[f"competition {one}" for one in target.competitions] or [f"every {target.kind}"])


def _do(
    session: Session,
    act: Act[S, Opts],
    subject: S,
    request: ActRequest[Opts],
    target: Target,
    shown: Preview,
    consent: Consent,
) -> tuple[ActDone, tuple[str, ...]]:
    """Do it, once somebody agreed to all that was shown and to what it changes in public results, which is returned."""

    def require_consent(changes: tuple[str, ...]) -> None:
        asked = shown
        if changes:
            blocked = (*shown.blocked, *changes)
            asked = replace(shown, name=target.name, blocked=blocked, reason=ALL_READ, reasoned=True)
        if asked.blocked:
            require_proof(session)
        if isinstance(consent, JointConsent) and not asked.alone:
            consent.asked.extend([asked] if changes else [])
        else:
            require_consent_to(asked, consent, request.reason)

    return do_on_results(session, target, request, lambda: act.do(session, subject, request), require_consent)


def require_consent_to(shown: Preview, consent: Consent, reason: str) -> None:
    """Raise `NeedsConsent` where nobody agreed to what was shown, and `Invalid` where it lacks the reason."""
    if shown.blocked and not consent.override:
        raise NeedsConsent(join_texts((*shown.blocked, "Override it by name to do it all the same.")), shown)
    if shown.name and consent.name != shown.name:
        if not consent.name:
            raise NeedsConsent(f"{shown.title}: type “{shown.name}” to confirm.", shown)
        words = f"{shown.title}: type “{shown.name}”, not “{consent.name[:64]}”, to confirm."
        raise NeedsConsent(words, shown)
    if shown.reasoned and not reason.strip():
        raise Invalid(
            "Give the reason: the page of the results shows it, and the teams that it concerns are told.",
            field="reason",
        )


def _note(
    session: Session,
    key: str,
    target: Target,
    request: ActRequest,
    done: ActDone,
    overridden: tuple[str, ...],
) -> None:
    after = {**done.after, **({"overridden": list(overridden)} if overridden else {})}
    for competition_id in target.competitions or (None,):
        audit.record(
            session,
            actor_id=request.actor_id or None,
            action=key,
            object_type=target.kind,
            object_id=target.id,
            competition_id=competition_id,
            reason=request.reason,
            before=dict(done.before),
            after=after,
        )
