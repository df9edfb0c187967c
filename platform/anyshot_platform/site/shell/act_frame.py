"""Acts on pages and over JSON: the form that asks first, and what a request says by itself."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from fastapi import Header, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Fields, Stale, unseal
from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts, S
from anyshot_platform.actions.service import ActOutcome, NeedsConsent, Preview, carry_out, warnings_of
from anyshot_platform.contest.phases.description import SETTINGS
from anyshot_platform.foundation.errors import Invalid, NotFound, PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.visibility.access import CompetitionAccess, require_role
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.schema.form import problems_of
from anyshot_platform.site.shell.manage_frame import carry_out_change, refused_in_form
from anyshot_platform.site.web.forms import SentForm
from anyshot_platform.site.web.rendering import redirect, render

_ANSWERS = frozenset({"csrf_token", "seen", "keep"})
_OWN = frozenset({"csrf_token", "confirm", "override", "reason"})


IfMatch = Annotated[
    str | None, Header(description="The ETag of what you read: 409 `stale` where somebody changed it since.")
]


class ConsentIn(BaseModel):
    """`confirm` is the name of the object, typed; `override` does it although something stands in the way."""

    model_config = ConfigDict(extra="forbid")

    confirm: Annotated[str, Field(max_length=320)] = ""
    override: bool = False
    reason: Annotated[str, Field(max_length=2000)] = ""

    def consent(self) -> Consent:
        """The confirmation and the override that the request carries."""
        return Consent(self.confirm, self.override)


class ManyIn(ConsentIn):
    """`confirm` is the name of the object; of several, the short name of the competition."""


class ActAnswer(BaseModel):
    """What the answer of every act carries beside its object."""

    warnings: list[str] = Field(
        default=[], description="what the act warned of, and what it was done in spite of"
    )


class ChangedOut(BaseModel):
    """What came of an act; `changed` is false where it was so already."""

    message: str
    changed: bool


def show_changed(session: Session, access: Any, subject: object, outcome: ActOutcome) -> ChangedOut:
    """The answer of an act that shows no object."""
    return ChangedOut(message=outcome.message, changed=outcome.changed)


@cache
def answer_model(shown: Any) -> type[ActAnswer]:
    """The answer of an act after which `shown` is what there is: that with the warnings; of a list, its `items`."""
    if get_origin(shown) is list:
        (item,) = get_args(shown)
        return create_model(f"{item.__name__}List", __base__=ActAnswer, items=(shown, ...))
    return create_model(f"{shown.__name__}AfterAct", __base__=(shown, ActAnswer))


def answer(shown: Any, found: Any, *outcomes: ActOutcome) -> ActAnswer:
    """What is there now, with what the acts warned of."""
    fields = {"items": found} if isinstance(found, list) else dict(found)
    return answer_model(shown).model_construct(**fields, warnings=list(warnings_of(outcomes)))


def perform_named(
    request: Request,
    session: Session,
    form: SentForm,
    acts: Mapping[str, Act[S, Any]],
    name: str,
    subject: S,
    access: CompetitionAccess | Viewer,
    target: str,
) -> Response:
    """Do the act of that name as the form says; what it asks for is read from the fields of the same names.

    `access` is who asks: to an object of no competition the door of the page has let them in, whatever the act's role.
    """
    if name not in acts:
        raise NotFound(f"There is no such act. There are: {', '.join(acts)}.")
    act = acts[name]
    if isinstance(access, CompetitionAccess):
        require_role(access, act.role)
    viewer = access if isinstance(access, Viewer) else access.viewer
    try:
        options = read_options(act, form)
    except Invalid as error:
        return redirect(target, flash=error.message, tone="bad")
    return perform(
        request,
        session,
        form,
        act,
        subject,
        ActRequest(viewer.id, form.text("reason"), options, viewer),
        target,
    )


def read_options(act: Act[S, Opts], form: SentForm) -> Opts:
    """What an act asks for, out of a form; raises `Invalid` with the first field that is wrong."""
    sent = {name: _sent(form, name, field) for name, field in act.options.model_fields.items()}
    try:
        return act.options.model_validate({name: value for name, value in sent.items() if value != ""})
    except ValidationError as error:
        field, words = next(iter(problems_of(error).items()))
        raise Invalid(words, field=field) from error


def _sent(form: SentForm, name: str, field: FieldInfo) -> str | list[str] | None:
    if get_origin(field.annotation) is list:
        return form.all(name)
    return form.text(name) or (None if field.is_required() else "")


def perform(
    request: Request,
    session: Session,
    form: SentForm,
    act: Act[S, Opts],
    subject: S,
    asked: ActRequest[Opts],
    target: str,
) -> Response:
    """Do it and go to `target`; ask first where the act asks; a refusal changes nothing and is shown there."""
    try:
        outcome = carry_out(session, act, subject, asked, consent_of(form))
        session.flush()
    except NeedsConsent as error:
        session.rollback()
        return ask(request, form, error, target)
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        session.rollback()
        return redirect(target, flash=error.message, tone="bad")
    unseen = () if form.text("confirm") else outcome.warnings  # who typed a name has read them
    return redirect(target, flash=join_texts((outcome.message, *unseen)))


def ask_which(request: Request, form: SentForm, error: Stale, back: str) -> Response:
    """The page with what somebody else changed meanwhile beside what the form says; nothing is saved yet."""
    kept = [(name, value) for name, value in form.data.multi_items() if name not in _ANSWERS]
    return render(
        request,
        "acts/conflict.html",
        section="competitions",
        error=error,
        title_of=_title_of,
        kept=[(name, value) for name, value in kept if isinstance(value, str)],
        back=back,
        status_code=409,
    )


def _title_of(field: str) -> str:
    """What a form calls a field: a phase's setting has its title, any other its name in words."""
    setting = next((one for one in SETTINGS if one.path == field), None)
    return field.replace("_", " ").capitalize() if setting is None else setting.title


def seen_in(form: SentForm) -> Fields:
    """What a form says that its reader saw of the things that it decides on."""
    return unseal(form.text("seen")) or {}


def save_form(
    request: Request, session: Session, form: SentForm, back: str, message: str, change: Callable[[], Any]
) -> Response:
    """Save a form that says what it was filled in upon; where somebody changed that meanwhile, show both."""
    try:
        return carry_out_change(session, back, message, change)
    except Stale as error:
        return ask_which(request, form, error, back)


def save_typed(
    request: Request,
    session: Session,
    form: SentForm,
    back: str,
    message: str,
    change: Callable[[], Any],
    show_again: Callable[[dict[str, Any]], Response],
) -> Response:
    """As `save_form`, but a refusal shows the form again with what was typed, as `refused_in_form` gives it."""
    try:
        change()
        session.flush()
    except Stale as error:
        session.rollback()
        return ask_which(request, form, error, back)
    except PlatformError as error:
        return show_again(refused_in_form(session, error, form))
    return redirect(back, flash=message)


def consent_of(form: SentForm) -> Consent:
    """What somebody said in a form."""
    return Consent(form.text("confirm"), form.flag("override"))


def ask(request: Request, form: SentForm, error: NeedsConsent, back: str) -> Response:
    """The page with the preview, what stands in the way, and the field for the name."""
    tried = bool(form.text("confirm"))
    return show_preview(
        request,
        error.preview,
        back,
        problem=error.message if tried else "",
        kept=kept_of(form),
        reason=form.text("reason"),
        status_code=409 if tried else 200,
    )


def kept_of(form: SentForm) -> list[tuple[str, object]]:
    """What a form says beside the answers to the page that asks, which sends it again."""
    return [(name, value) for name, value in form.data.multi_items() if name not in _OWN]


def show_preview(
    request: Request,
    preview: Preview,
    back: str,
    *,
    problem: str = "",
    kept: Sequence[tuple[str, object]] = (),
    reason: str = "",
    status_code: int = 200,
) -> Response:
    """The page that asks before an act; it sends to the address that it stands at."""
    return render(
        request,
        "acts/confirm.html",
        section="competitions",
        preview=preview,
        problem=problem,
        kept=kept,
        reason=reason,
        back=back,
        status_code=status_code,
    )
