"""One act on many rows of a table: the page that says what it would do to how many, and the one with the undo."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.declaration import LOG_HOLDS, Act, ActRequest, S
from anyshot_platform.actions.many import do_to_many, preview_many
from anyshot_platform.actions.service import NeedsConsent, preview, rehearse
from anyshot_platform.foundation.errors import Invalid, PlatformError
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import ask, consent_of, kept_of, show_preview
from anyshot_platform.site.shell.manage_frame import render_manage
from anyshot_platform.site.web.forms import SentForm
from anyshot_platform.site.web.rendering import redirect


@dataclass(frozen=True)
class Menu(Generic[S]):
    """What a table does to its ticked rows; `words` of an act stand before their number."""

    section: str  # of the page, and of its address
    heading: str
    noun: tuple[str, ...]
    acts: Mapping[str, Act[S]]
    words: Mapping[str, str]
    undo: Mapping[str, str]  # the act that takes one back
    name: Callable[[S], tuple[str, str]]  # of a row that is left out, and its address
    stern: frozenset[str] = frozenset()  # acts with a red button
    reasoned: frozenset[str] = frozenset()  # acts that are not done without a reason


@dataclass(frozen=True)
class Sent(Generic[S]):
    """What somebody sent from a table."""

    request: Request
    session: Session
    access: CompetitionAccess
    form: SentForm
    menu: Menu[S]
    back: str

    def render(self, template: str, **context: Any) -> Response:
        """A page of the table's section."""
        menu = {"menu": self.menu, "heading": self.menu.heading, "back": self.back}
        frame = self.request, self.session, self.access, template, self.menu.section
        return render_manage(*frame, **menu, **context)


def offered(session: Session, menu: Menu[S], subject: S, actor_id: str) -> list[str]:
    """The acts that would do something to one object now, by name, for the page of that object."""
    found = {name: preview(session, act, subject, ActRequest(actor_id)) for name, act in menu.acts.items()}
    return [name for name, shown in found.items() if not shown.done and not shown.refused]


def act_on_many(sent: Sent[S], pick: Callable[[], Sequence[S]]) -> Response:
    """Say what will happen to how many; then, confirmed, do it, and offer the undo."""
    try:
        name = sent.form.text("act")
        if name not in sent.menu.acts:
            raise Invalid("Choose what to do.")
        chosen = pick()
        if not chosen:
            raise Invalid("Tick rows of the table first.")
        return _do(sent, name, chosen) if sent.form.flag("confirmed") else _ask(sent, name, chosen)
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        sent.session.rollback()
        return redirect(sent.back, flash=error.message, tone="bad")


def _ask(sent: Sent[S], name: str, chosen: Sequence[S]) -> Response:
    act, asked = sent.menu.acts[name], ActRequest(sent.access.viewer.id)
    if len(chosen) == 1 and (alone := rehearse(sent.session, act, chosen[0], asked)).name:
        kept = [*kept_of(sent.form), ("confirmed", "1")]
        return show_preview(sent.request, alone, sent.back, kept=kept)
    shown = preview_many(sent.session, act, chosen, asked)
    ids = [row.id for row in chosen]  # type: ignore[attr-defined]
    return sent.render("many_confirm.html", name=name, act=act, shown=shown, ids=ids)


def _do(sent: Sent[S], name: str, chosen: Sequence[S]) -> Response:
    reason = sent.form.text("reason").strip()
    if name in sent.menu.reasoned and not reason:
        raise Invalid("Give the reason: whom it concerns reads it.", field="reason")
    asked = ActRequest(sent.access.viewer.id, reason)
    try:
        outcome = do_to_many(sent.session, sent.menu.acts[name], chosen, asked, consent_of(sent.form))
    except NeedsConsent as error:
        sent.session.rollback()
        return ask(sent.request, sent.form, error, sent.back)
    rows = {row.id: sent.menu.name(row) for row in chosen if row.id in outcome.skipped}  # type: ignore[attr-defined]
    undo = sent.menu.undo.get(name, "") if outcome.done else ""
    at_once = bool(undo) and sent.menu.acts[undo].reason == LOG_HOLDS  # else it asks what others read
    return sent.render(
        "many_done.html", name=name, outcome=outcome, rows=rows, undo=undo, undo_at_once=at_once
    )
