"""What is set aside is put away, a removed webhook posts nothing, and an alert's end is told once."""

import threading
from collections.abc import Callable
from http.server import HTTPServer
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from sqlalchemy import select, update

from anyshot_platform import cli
from anyshot_platform.foundation.background.isolation import TRIES
from anyshot_platform.foundation.background.models import Sweep, Trouble
from anyshot_platform.foundation.database import now
from anyshot_platform.people.alerts import delivery as alerts
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import close_alert, open_alert
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.webhooks.delivery import send_due_deliveries
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.people.webhooks.service import emit
from anyshot_platform.running.operations.figures import collect_figures
from anyshot_platform.running.operations.watch import watch_conditions
from tests.platform.admin.test_guarded_acts import log
from tests.platform.core.test_loops import change_settings
from tests.platform.core.test_operations import Receiver, receiver  # noqa: F401 - a fixture
from tests.platform.site import SLUG, Person, Site

HTML = {"accept": "text/html"}
ASIDE = "/api/v1/admin/set-aside"
HOOKS = f"/api/v1/competitions/{SLUG}/manage/webhooks"


def operations(site: Site, root: Person) -> str:
    """The operations page after a sweep has looked for alerts."""
    with site.services.database.writing() as session:
        watch_conditions(session, site.services.settings)
    return root.call("GET", "/admin", headers=HTML).text


def counted(site: Site) -> float:
    """What Prometheus reads of it, of every kind."""
    with site.services.database.reading() as session:
        figures = collect_figures(session)
    kinds = ("email", "webhook", "row")
    return sum(figures.get_sample_value("anyshot_set_aside", {"kind": kind}) or 0 for kind in kinds)


def set_one_of_each_aside(site: Site) -> dict[str, str]:
    """An e-mail, a message of a webhook that is there and a row; their ids by kind."""
    failed = {"attempts": TRIES, "ended_at": now(), "error": "boom"}
    with site.services.database.writing() as session:
        hook = Webhook(url="https://example.org/hook", created_by=site.owner_id)
        mail = Email(to="ann@example.org", subject="Results", body="x", **failed)
        session.add_all([hook, mail])
        session.flush()
        message = WebhookDelivery(webhook_id=hook.id, event="test", payload={}, **failed)
        row = Trouble(duty="lease", subject="one", attempts=TRIES, error="boom", set_aside_at=now())
        session.add_all([message, row])
        session.flush()
        return {"email": mail.id, "webhook": message.id, "lease": "one"}


def test_what_is_given_up_is_set_aside_no_longer_and_its_alert_closes(site: Site) -> None:
    """It could be tried again only: one dead address kept the alert open for ever."""
    root, ids = site.person("root1", is_site_admin=True), set_one_of_each_aside(site)
    page = operations(site, root)
    assert "3 e-mails, webhook messages or rows were tried too often" in page and counted(site) == 3
    for kind, identity in ids.items():
        assert f"/admin/set-aside/{kind}/{identity}/give-up" in page
    sent = root.call("POST", f"/admin/set-aside/email/{ids['email']}/give-up", follow_redirects=False)
    assert sent.status_code == 303
    for kind in ("webhook", "lease"):
        given_up = root.call("POST", f"{ASIDE}/{kind}/{ids[kind]}/acts/give-up")
        assert given_up.json()["since"] is None, given_up.text
    page = operations(site, root)
    assert "tried too often" not in page and "boom" not in page and counted(site) == 0
    assert root.call("GET", ASIDE).json() == []
    assert [entry.object_type for entry in log(site, "set_aside.give_up")] == ["email", "webhook", "lease"]
    shell = CliRunner(env=site.environment)
    assert "0 to be" in shell.invoke(cli.admin, ["retry", "--all"]).output, "what is given up stays so"
    for kind, identity in ids.items():  # the way back that the act names
        assert "1 to be" in shell.invoke(cli.admin, ["retry", kind, identity]).output
    with site.services.database.reading() as session:
        for model in (Email, WebhookDelivery, Trouble):
            rows = session.scalars(select(model)).all()
            assert rows and all(row.next_at <= now() and row.attempts == 0 for row in rows)


def test_everything_is_tried_again_and_not_the_newest_200(site: Site) -> None:
    root = site.person("root1", is_site_admin=True)
    with site.services.database.writing() as session:
        session.add_all(
            Email(to="a@example.org", subject="s", body="b", attempts=TRIES, ended_at=now())
            for _ in range(230)
        )
    assert root.call("POST", "/admin/set-aside/retry-all", follow_redirects=False).status_code == 303
    assert root.call("GET", ASIDE).json() == [] and counted(site) == 0
    assert log(site, "set_aside.retry_all")[-1].after["number"] == 230


@pytest.fixture
def hook_id(site: Site, receiver: HTTPServer) -> str:  # noqa: F811
    """A webhook of the competition, and a message that waits."""
    change_settings(site, webhooks_to_private_addresses=True)
    url = f"http://127.0.0.1:{receiver.server_port}/hook"
    made = site.owner().call("POST", HOOKS, json={"url": url, "events": []}).json()["id"]
    with site.services.database.writing() as session:
        emit(session, site.competition(session).id, "phase.published", {})
    return made


def remove(site: Site, hook_id: str) -> None:
    answer = site.owner().call("POST", f"{HOOKS}/{hook_id}/acts/remove")
    assert answer.is_success, answer.text


def test_a_removed_webhook_gets_no_message_that_waits(site: Site, hook_id: str) -> None:
    remove(site, hook_id)
    assert send_due_deliveries(site.services) == 0 and Receiver.posts == []
    with site.services.database.writing() as session:
        assert session.scalars(select(WebhookDelivery.ended_at)).one() is not None, "it waits no longer"
        session.execute(update(WebhookDelivery).values(ended_at=None))  # of a release before this one
    assert send_due_deliveries(site.services) == 0 and Receiver.posts == []


def test_a_removed_webhooks_message_is_not_set_aside_and_not_tried_again(site: Site, hook_id: str) -> None:
    root = site.person("root1", is_site_admin=True)
    with site.services.database.writing() as session:
        session.execute(update(WebhookDelivery).values(attempts=TRIES, ended_at=now(), error="boom"))
        identity = session.scalars(select(WebhookDelivery.id)).one()
    assert "tried too often" in operations(site, root)
    remove(site, hook_id)
    assert "tried too often" not in operations(site, root) and counted(site) == 0
    refused = root.call("POST", f"{ASIDE}/webhook/{identity}/acts/retry")
    assert refused.status_code == 409 and "Its webhook is removed" in refused.json()["message"]
    root.call("POST", "/admin/set-aside/retry-all", follow_redirects=False)
    assert send_due_deliveries(site.services) == 0 and Receiver.posts == []


class Pager:
    """Takes posts of alerts; `meanwhile` happens once, while the first is on its way."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile = meanwhile
        self.posts: list[dict[str, Any]] = []

    def post(self, url: str, *, json: dict[str, Any], timeout: float) -> httpx.Response:
        self.posts.append(json)
        if len(self.posts) == 1:
            self.meanwhile()
        return httpx.Response(200, request=httpx.Request("POST", url))


def alert_one(site: Site) -> None:
    change_settings(site, alert_webhook="http://pager.example.org/in", operator_email="ops@example.org")
    with site.services.database.writing() as session:
        open_alert(session, "no_workers", "cpu", "No worker.")


def close_one(site: Site) -> None:
    with site.services.database.writing() as session:
        close_alert(session, "no_workers", "cpu")


def mailed(site: Site) -> list[str]:
    with site.services.database.reading() as session:
        return list(session.scalars(select(Email.subject).order_by(Email.id)))


def test_an_alert_that_is_over_while_it_is_posted_is_said_to_be_over(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert_one(site)
    pager = Pager(lambda: close_one(site))
    monkeypatch.setattr(httpx, "post", pager.post)
    for _ in range(3):
        alerts.tell_operators(site.services)
    assert [post["until"] is None for post in pager.posts] == [True, False]
    assert mailed(site) == ["No worker.", "Over: No worker."]


def test_of_two_processes_one_posts_an_alert(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    alert_one(site)
    pager = Pager(lambda: alerts.tell_operators(site.services))
    monkeypatch.setattr(httpx, "post", pager.post)
    alerts.tell_operators(site.services)
    alerts.tell_operators(site.services)
    assert len(pager.posts) == 1 and mailed(site) == ["No worker."]
    with site.services.database.reading() as session:
        assert session.scalars(select(Sweep)).all() == [], "no claim stays behind"


def test_a_post_that_fails_is_tried_again_and_counted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a second process beside it, too, which finds the alert claimed."""

    def fail() -> None:
        alerts.tell_operators(site.services)
        raise httpx.ConnectError("the pager is away")

    alert_one(site)
    pager = Pager(fail)
    monkeypatch.setattr(httpx, "post", pager.post)
    alerts.tell_operators(site.services)
    with site.services.database.writing() as session:
        assert session.scalars(select(Trouble.attempts)).one() == 1
        session.execute(update(Trouble).values(next_at=now()))
    alerts.tell_operators(site.services)
    assert len(pager.posts) == 2
    with site.services.database.reading() as session:
        assert session.scalars(select(Alert.posted_at)).one() and not session.scalars(select(Trouble)).all()


@pytest.mark.parametrize("meanwhile", ["closes", "mails"])
def test_an_alert_that_another_process_touches_while_it_is_mailed_is_mailed_once_each_way(
    postgres_site: Site, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    site, others = postgres_site, []
    alert_one(site)
    monkeypatch.setattr(httpx, "post", Pager(lambda: None).post)

    def other() -> None:
        close_one(site) if meanwhile == "closes" else alerts.tell_operators(site.services)

    def slowly(*arguments: Any, **words: Any) -> Any:
        if not others:
            others.append(thread := threading.Thread(target=other))
            thread.start()
            thread.join(1)
        return send_email(*arguments, **words)

    monkeypatch.setattr(alerts, "send_email", slowly)
    alerts.tell_operators(site.services)
    for thread in others:
        thread.join()
    alerts.tell_operators(site.services)
    assert mailed(site) == ["No worker.", "Over: No worker."][: 2 if meanwhile == "closes" else 1]


def test_an_alert_that_is_told_while_it_is_closed_is_said_to_be_over(
    postgres_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who closed it had read that nobody was told, and so wrote nothing over what was written since."""
    site, pager = postgres_site, Pager(lambda: None)
    alert_one(site)
    monkeypatch.setattr(httpx, "post", pager.post)
    with site.services.database.writing() as session:
        read = session.scalars(select(Alert)).one()
        assert read.told_at is None
        alerts.tell_operators(site.services)
        close_alert(session, "no_workers", "cpu")
    alerts.tell_operators(site.services)
    assert mailed(site) == ["No worker.", "Over: No worker."]
    assert [post["until"] is None for post in pager.posts] == [True, False]
