"""Carries acts out: looks first, asks where it has to, does nothing twice, writes the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from anyshot_platform.accounts.proving import require_proof
from anyshot_platform.acts.declaration import Act, ActDone, ActRequest, Consent, Danger, Findings, Target
from anyshot_platform.acts.on_results import do_on_results
from anyshot_platform.audit import service as audit
from anyshot_platform.database import hold
from anyshot_platform.errors import Conflict
from anyshot_platform.kernel.filters import join_texts

S = TypeVar("S")
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


def preview(session: Session, act: Act[S], subject: S, request: ActRequest) -> Preview:
    """What the act would do."""
    return _show(act, act.target(session, subject), act.look(session, subject, request))


def _show(act: Act[Any], target: Target, found: Findings) -> Preview:
    return Preview(
        act=act.key,
        title=act.title.replace("{}", target.title),
        name=target.name if (act.danger is Danger.NAME and found.asks) or found.blocked else "",
        done=found.done,
        refused=tuple(found.refused),
        blocked=tuple(found.blocked),
        warnings=tuple(found.warnings),
        does=tuple(found.does),
        told=found.told,
        undo=act.undo,
        reason=act.reason,
    )


def carry_out(
    session: Session, act: Act[S], subject: S, request: ActRequest, consent: Consent = NO_CONSENT
) -> ActOutcome:
    """Do it in the caller's transaction, and note it in the log of every competition that it concerns.

    Of two at once the second looks when the first is done.

    Raises:
        NeedsProof: it is dangerous, or something is overridden, and it is long ago that whoever asks said password or
            code.
        ActRefused: it is impossible now.
        NeedsConsent: the name of the object was not given, or something stands in the way and is not overridden.
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
    if shown.blocked:
        require_proof(session)
    _require_consent(shown, consent)
    done, on_results = do_on_results(
        session,
        target,
        request,
        lambda: act.do(session, subject, request),
        lambda changes: _require_consent_to(session, shown, target, consent, changes),
    )
    session.flush()
    overridden = (*shown.blocked, *on_results)
    _note(session, act.key, target, request, done, overridden)
    return ActOutcome(done.message, changed=True, result=done.result, warnings=overridden + shown.warnings)


def carry_out_by_clock(session: Session, act: Act[S], subject: S, request: ActRequest) -> bool:
    """Do what somebody asked for in advance, by the same declaration as their button, and say whether it was done.

    Nobody is there to say that it be done all the same: whatever stands in the way leaves it undone.
    """
    _hold(session, act.target(session, subject))
    found = act.look(session, subject, request)
    if found.done or found.refused or found.blocked:
        return False
    target, shown = act.target(session, subject), _show(act, act.target(session, subject), found)
    try:
        done, _ = do_on_results(
            session,
            target,
            request,
            lambda: act.do(session, subject, request),
            lambda changes: _require_consent_to(session, shown, target, NO_CONSENT, changes),
        )
    except NeedsConsent:
        return False
    session.flush()
    noted = replace(done, after={**done.after, "by": "the clock"})
    _note(session, act.key, target, request, noted, ())
    return True


def _hold(session: Session, target: Target) -> None:
    """Let acts on one competition, or on things of one kind that belong to none, wait for each other."""
    hold(session, *[f"competition {one}" for one in target.competitions] or [f"every {target.kind}"])


def _require_consent(shown: Preview, consent: Consent) -> None:
    if shown.blocked and not consent.override:
        raise NeedsConsent(join_texts((*shown.blocked, "Override it by name to do it all the same.")), shown)
    if shown.name and consent.name != shown.name:
        if not consent.name:
            raise NeedsConsent(f"{shown.title}: type “{shown.name}” to confirm.", shown)
        words = f"{shown.title}: type “{shown.name}”, not “{consent.name[:64]}”, to confirm."
        raise NeedsConsent(words, shown)


def _require_consent_to(
    session: Session, shown: Preview, target: Target, consent: Consent, changes: tuple[str, ...]
) -> None:
    """Ask as for anything that stands in the way: the act changes what is public."""
    asked = replace(shown, name=target.name, blocked=(*shown.blocked, *changes))
    require_proof(session)
    _require_consent(asked, consent)


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
