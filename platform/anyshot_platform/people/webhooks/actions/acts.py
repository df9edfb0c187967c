"""Acts on a webhook: switching it, a test message, a new secret, removing it."""

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import now
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery


def _target(session: Session, hook: Webhook) -> Target:
    where = (hook.competition_id,) if hook.competition_id else ()
    return Target("webhook", hook.id, hook.url, f"“{hook.url}”", where)


def _done(hook: Webhook, message: str) -> ActDone:
    after = {"url": hook.url, "events": hook.events, "active": hook.active}
    return ActDone(message, after=after)


def _look_on(session: Session, hook: Webhook, request: ActRequest) -> Findings:
    if hook.active:
        return Findings(done="The webhook is on already.")
    return Findings(does=["What happens from now on is posted to it; what happened meanwhile is not."])


def _switch_on(session: Session, hook: Webhook, request: ActRequest) -> ActDone:
    hook.active = True
    return _done(hook, "The webhook is on.")


def _look_off(session: Session, hook: Webhook, request: ActRequest) -> Findings:
    if not hook.active:
        return Findings(done="The webhook is off already.")
    return Findings(does=["Nothing that happens from now on is posted to it."])


def _switch_off(session: Session, hook: Webhook, request: ActRequest) -> ActDone:
    hook.active = False
    return _done(hook, "The webhook is off.")


def _look_renew(session: Session, hook: Webhook, request: ActRequest) -> Findings:
    return Findings(
        does=["Messages are signed with a new secret at once, those that wait included."],
        warnings=["The receiver refuses them until it knows the new secret."],
    )


def _renew(session: Session, hook: Webhook, request: ActRequest) -> ActDone:
    hook.secret_version += 1
    return _done(hook, "The webhook has a new secret: give it to who receives its messages.")


def _waiting_test(session: Session, hook: Webhook) -> bool:
    """Whether a test message waits to be posted."""
    query = select(func.count(WebhookDelivery.id)).where(
        WebhookDelivery.webhook_id == hook.id,
        WebhookDelivery.event == "test",
        WebhookDelivery.ended_at.is_(None),
    )
    return bool(session.scalar(query))


def _look_test(session: Session, hook: Webhook, request: ActRequest) -> Findings:
    if _waiting_test(session, hook):
        return Findings(done="A test message is on its way already; the list below says what becomes of it.")
    return Findings(
        does=["One message, of the event “test”, is posted to it, also where the webhook is off."]
    )


def _test(session: Session, hook: Webhook, request: ActRequest) -> ActDone:
    body = {"event": "test", "at": now().isoformat(), "competition": hook.competition_id}
    session.add(WebhookDelivery(webhook_id=hook.id, event="test", payload=body))
    mark_outbox(session)
    return _done(hook, "A test message is on its way; the list below says what becomes of it.")


def _look_remove(session: Session, hook: Webhook, request: ActRequest) -> Findings:
    if hook.deleted_at is not None:
        return Findings(done="The webhook is removed already.")
    return Findings(does=["Nothing is posted to it any more, and no list shows it."])


def _remove(session: Session, hook: Webhook, request: ActRequest) -> ActDone:
    hook.deleted_at, hook.active = now(), False
    waiting = WebhookDelivery.webhook_id == hook.id, WebhookDelivery.ended_at.is_(None)
    session.execute(update(WebhookDelivery).where(*waiting).values(ended_at=now()))
    return _done(hook, "The webhook is removed.")


TEST: Act[Webhook] = Act(
    key="webhook.test",
    title="Send a test to {}",
    target=_target,
    look=_look_test,
    do=_test,
    undo="A message that was posted cannot be called back.",
    button=Button("Send a test", "send"),
    danger=Danger.PROOF,
)
OFF: Act[Webhook] = Act(
    key="webhook.off",
    title="Switch off {}",
    target=_target,
    look=_look_off,
    do=_switch_off,
    undo="Switch it on again.",
    button=Button("Switch off", "pause", lambda hook: hook.active),
    danger=Danger.PROOF,
)
ON: Act[Webhook] = Act(
    key="webhook.on",
    title="Switch on {}",
    target=_target,
    look=_look_on,
    do=_switch_on,
    undo="Switch it off again.",
    button=Button("Switch on", "play", lambda hook: not hook.active),
    danger=Danger.PROOF,
)
RENEW: Act[Webhook] = Act(
    key="webhook.renew",
    title="Renew the secret of {}",
    target=_target,
    look=_look_renew,
    do=_renew,
    undo="The earlier secret does not come back; renew it again where the new one got into wrong hands.",
    button=Button("Renew the secret", "refresh-cw"),
    danger=Danger.PROOF,
)
REMOVE: Act[Webhook] = Act(
    key="webhook.remove",
    title="Remove {}",
    target=_target,
    look=_look_remove,
    do=_remove,
    undo="Add the address again; it then has another secret.",
    button=Button("Remove", "trash-2", group="last"),
    danger=Danger.PROOF,
)
ACTS = by_name(TEST, OFF, ON, RENEW, REMOVE)
