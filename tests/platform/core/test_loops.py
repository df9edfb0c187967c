"""Background threads outlive every bad row, and what they gave up is seen and tried again."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import HTTPServer
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from sqlalchemy import select, update
from sqlalchemy.exc import TimeoutError as PoolTimeout

from anyshot_platform import cli
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.background import isolation
from anyshot_platform.foundation.background.loops import Loop
from anyshot_platform.foundation.background.models import LoopRound, Trouble
from anyshot_platform.foundation.background.outbox import send_due_rings
from anyshot_platform.foundation.database import now, virtual_clock
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution import leases
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.people.alerts.delivery import tell_operators
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import list_open, open_alert
from anyshot_platform.people.notifications import delivery as mails
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.webhooks import delivery
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.running.announcements.results import say_change
from anyshot_platform.running.operations.figures import collect_figures
from anyshot_platform.running.operations.watch import watch_conditions, watch_loops
from anyshot_platform.server.sweeper import Sweeper, keep_house, sweep
from tests.platform.admin.test_guarded_acts import log
from tests.platform.core.test_operations import Receiver, receiver  # noqa: F401 - a fixture
from tests.platform.site import SLUG, Site, make_zip

ENDLESS_ERRORS = [PoolTimeout("QueuePool limit"), IndexError("list index"), UnicodeError("label too long")]
MALFORMED = [
    "http://" + "a" * 70 + ".example/",
    "http://host:99999/",
    "http://[::1",
    "http://",
    "ftp://a.example/",
]


def change_settings(site: Site, **changes: object) -> None:
    settings = site.services.settings.model_copy(update=changes)
    object.__setattr__(site.services, "settings", settings)


@contextmanager
def looping(services: Services, work: Callable[[], object], name: str = "emails") -> Iterator[Loop]:
    loop = Loop(services.database, name, work, every=0.01)
    loop.start()
    try:
        yield loop
    finally:
        loop.stop()


@pytest.mark.parametrize("error", ENDLESS_ERRORS, ids=lambda error: type(error).__name__)
def test_no_exception_ends_a_loop_and_operators_see_it(site: Site, error: Exception) -> None:
    errors, went_on = [error], threading.Event()

    def work() -> None:
        if errors:
            raise errors.pop()
        went_on.set()

    root = site.person("root1", is_site_admin=True)
    with looping(site.services, work):
        assert went_on.wait(60)
        page = root.call("GET", "/admin", headers={"accept": "text/html"}).text
    assert type(error).__name__ in page


def test_ready_tells_of_a_thread_that_stands_still(site: Site) -> None:
    stuck, go_on = threading.Event(), threading.Event()

    def work() -> None:
        stuck.set()
        go_on.wait(60)

    with looping(site.services, work):
        assert stuck.wait(60)
        assert site.client.get("/ready").status_code == 200
        with site.services.database.writing() as session:
            old = now() - timedelta(minutes=4)
            session.execute(update(LoopRound).where(LoopRound.name == "emails").values(last_at=old))
        answer = site.client.get("/ready")
        go_on.set()
    assert answer.status_code == 503 and "emails (240 s)" in answer.json()["loops"]


def test_an_alert_is_opened_for_the_thread_of_another_process_and_closed_again(site: Site) -> None:
    def alerts() -> list[tuple[str, str]]:
        with site.services.database.writing() as session:
            watch_loops(session, site.services.settings)
            return [(alert.kind, alert.subject) for alert in list_open(session)]

    def note(name: str, minutes: float) -> None:
        with site.services.database.writing() as session:
            at = now() - timedelta(minutes=minutes)
            session.merge(LoopRound(name=name, process="elsewhere:1", last_at=at))

    for name in ("alerts", "sweeper", "webhooks"):
        note(name, 0)
    assert alerts() == [("loop_late", "emails")]  # nobody runs it
    note("emails", 4)
    assert alerts() == [("loop_late", "emails")]
    assert site.client.get("/ready").status_code == 200  # this process can serve all the same
    note("emails", 0)
    assert alerts() == []


def test_an_address_with_an_encoded_word_is_refused(site: Site) -> None:
    body = {"username": "mallory", "email": "=?utf-8?q??=@univ.edu", "password": "a long enough passphrase"}
    answer = site.client.post("/api/v1/users", json=body)
    assert answer.status_code == 422 and "=?" in answer.json()["message"]


def test_one_bad_email_keeps_no_other_from_going_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    services = site.services
    with services.database.writing() as session:
        send_email(session, to="=?utf-8?q??=@univ.edu", subject="bad", body="b")
        send_email(session, to="ann@example.org", subject="good", body="g")
    assert mails.send_due_emails(services, say_change) == 1
    for _ in range(isolation.TRIES):
        with services.database.writing() as session:
            session.execute(update(Email).values(next_at=now()))
        assert mails.send_due_emails(services, say_change) == 0
    root = site.person("root1", is_site_admin=True)
    (found,) = root.call("GET", "/api/v1/admin/set-aside").json()
    assert (found["kind"], found["attempts"]) == ("email", isolation.TRIES)
    assert "=?utf-8?q??=@univ.edu: bad" in found["what"]
    with services.database.writing() as session:
        session.execute(update(Email).values(to="bob@example.org"))
    path = f"/api/v1/admin/set-aside/email/{found['id']}/acts/retry"
    assert root.call("POST", path).json()["since"] is None
    assert mails.send_due_emails(services, say_change) == 1
    assert root.call("GET", "/api/v1/admin/set-aside").json() == []
    assert root.call("POST", path).is_success, "it has gone out: nothing is done"
    assert len(log(site, "set_aside.retry")) == 1
    assert root.call("POST", path.replace("/email/", "/letter/")).status_code == 404


def test_a_mail_server_that_is_away_counts_against_no_email(site: Site) -> None:
    from pydantic import SecretStr

    services = site.services
    change_settings(site, smtp_url=SecretStr("smtp://127.0.0.1:1"))
    with services.database.writing() as session:
        send_email(session, to="ann@example.org", subject="good", body="g")
    with pytest.raises(OSError, match="refused"):
        mails.send_due_emails(services, say_change)
    change_settings(site, smtp_url=None)
    assert mails.send_due_emails(services, say_change) == 1


def test_operators_hear_that_emails_wait_and_that_it_is_over(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody heard of it: the log of the background process alone said that the mail server is away."""
    from pydantic import SecretStr

    services, root = site.services, site.person("root1", is_site_admin=True)
    posts: list[dict[str, Any]] = []

    def post(url: str, *, json: dict[str, Any], timeout: float) -> httpx.Response:
        posts.append(json)
        return httpx.Response(200, request=httpx.Request("POST", url))

    def look() -> tuple[str, dict[str, float]]:
        with services.database.writing() as session:
            watch_conditions(session, services.settings)
        tell_operators(services)
        with services.database.reading() as session:
            figures = collect_figures(session)
        names = ("anyshot_waiting_emails", "anyshot_oldest_email_seconds")
        text = root.call("GET", "/admin", headers={"accept": "text/html"}).text
        return text, {name: figures.get_sample_value(name) or 0 for name in names}

    monkeypatch.setattr(httpx, "post", post)
    change_settings(
        site, smtp_url=SecretStr("smtp://127.0.0.1:1"), alert_webhook="http://pager.example.org/in"
    )
    with services.database.writing() as session:
        send_email(session, to="ann@example.org", subject="good", body="g")
        later = Email(to="bea@example.org", subject="in a week", body="d", next_at=now() + timedelta(days=7))
        session.add(later)
    with pytest.raises(OSError, match="refused"):
        mails.send_due_emails(services, say_change)
    words, (text, figures) = "An e-mail waits to go out since", look()
    assert words not in text and figures["anyshot_waiting_emails"] == 1, "not for ten minutes yet"
    with services.database.writing() as session:
        long_ago = now() - timedelta(minutes=11)
        session.execute(update(Email).where(Email.subject == "good").values(next_at=long_ago))
    text, figures = look()
    assert words in text and "E-mails do not go out" in text
    assert figures["anyshot_oldest_email_seconds"] >= 660
    assert [post["alert"] for post in posts] == ["mail_waits"] and posts[0]["until"] is None
    change_settings(site, smtp_url=None, operator_email="ops@example.org")
    assert mails.send_due_emails(services, say_change) == 1
    text, figures = look()
    assert words not in text
    assert figures["anyshot_waiting_emails"] == 1 and figures["anyshot_oldest_email_seconds"] < 60, (
        "of its end"
    )
    assert [post["alert"] for post in posts] == ["mail_waits"] * 2 and posts[1]["until"] is not None
    with services.database.reading() as session:
        told = select(Email.subject).where(Email.to == "ops@example.org")
        assert str(session.scalars(told).one()).startswith(f"Over: {words}")


def test_what_is_set_aside_is_counted_for_prometheus(site: Site) -> None:
    with site.services.database.writing() as session:
        session.add(Trouble(duty="lease", subject="one", attempts=8, error="boom", set_aside_at=now()))
        send_email(session, to="ann@example.org", subject="bad", body="b")
        session.execute(update(Email).values(ended_at=now(), error="it failed"))
        figures = collect_figures(session)
    found = {
        kind: figures.get_sample_value("anyshot_set_aside", {"kind": kind})
        for kind in ("email", "webhook", "row")
    }
    assert found == {"email": 1, "webhook": 0, "row": 1}


def test_what_is_set_aside_is_tried_again_from_the_page_and_the_shell(site: Site) -> None:
    with site.services.database.writing() as session:
        for subject in ("one", "two"):
            session.add(Trouble(duty="lease", subject=subject, attempts=8, error="boom", set_aside_at=now()))
    root = site.person("root1", is_site_admin=True)
    page = root.call("GET", "/admin", headers={"accept": "text/html"}).text
    assert "boom" in page and "/admin/set-aside/lease/one/retry" in page
    sent = root.call("POST", "/admin/set-aside/lease/one/retry", follow_redirects=False)
    assert sent.status_code == 303
    shell = CliRunner(env=site.environment)
    listed = shell.invoke(cli.admin, ["set-aside"]).output
    assert "two" in listed and "one" not in listed
    assert "1 to be" in shell.invoke(cli.admin, ["retry", "--all"]).output
    assert shell.invoke(cli.admin, ["set-aside"]).output == ""
    assert [entry.actor_id for entry in log(site, "set_aside.retry_all")] == [None]
    with site.services.database.writing() as session:
        session.execute(update(Trouble).values(set_aside_at=now()))
    assert root.call("POST", "/admin/set-aside/retry-all", follow_redirects=False).status_code == 303
    assert len(root.call("GET", "/api/v1/admin/set-aside").json()) == 0
    assert log(site, "set_aside.retry_all")[-1].after == {
        "number": 2,
        "newest": ["lease one", "lease two"],
    }


def test_a_mail_that_cannot_be_sent_is_an_alert_until_it_is_tried_again(site: Site) -> None:
    """The review: a mail server that refuses everything was a line in the log alone."""
    root = site.person("root1", is_site_admin=True)

    def operations() -> str:
        with site.services.database.writing() as session:
            watch_conditions(session, site.services.settings)
        return root.call("GET", "/admin", headers={"accept": "text/html"}).text

    failed = {"attempts": 8, "ended_at": now(), "error": "550 no such user"}
    with site.services.database.writing() as session:
        session.add(Email(to="ann@example.org", subject="Results", body="x", **failed))
    page = operations()
    assert "An e-mail, a webhook message or a row was tried too often and is set aside." in page
    assert "550 no such user" in page and "ann@example.org: Results" in page
    with site.services.database.writing() as session:
        session.add(Email(to="bob@example.org", subject="Results", body="x", **failed))
    assert "2 e-mails, webhook messages or rows were tried too often and are set aside." in operations()
    CliRunner(env=site.environment).invoke(cli.admin, ["retry", "--all"])
    assert "tried too often" not in operations()


def test_what_was_reported_is_open_until_somebody_has_dealt_with_it(site: Site) -> None:
    """The next sweep closed it, and mailed that it was over; a run that was given up was open for ever."""
    change_settings(site, operator_email="ops@example.org")
    root = site.person("root1", is_site_admin=True)
    kinds = ("run_lost", "wrong_result", "odd_time", "worker_too_old", "unreadable")

    def look() -> dict[str, str]:
        sweep(site.services)
        tell_operators(site.services)
        return {row["kind"]: row["id"] for row in root.call("GET", "/api/v1/admin/alerts").json()}

    def mailed() -> list[str]:
        with site.services.database.reading() as session:
            mails = session.scalars(select(Email.subject).where(Email.to == "ops@example.org"))
            return sorted(mails)

    with site.services.database.writing() as session:
        for kind in kinds:
            open_alert(session, kind, "x", f"This is {kind}.")
    assert look().keys() == look().keys() == set(kinds)
    assert mailed() == sorted(f"This is {kind}." for kind in kinds)
    page = root.call("GET", "/admin", headers={"accept": "text/html"}).text
    assert "This is run_lost." in page and f"/admin/alerts/{look()['run_lost']}/close" in page
    sent = root.call("POST", f"/admin/alerts/{look()['run_lost']}/close", follow_redirects=False)
    assert sent.status_code == 303
    closed = root.call("POST", f"/api/v1/admin/alerts/{look()['wrong_result']}/acts/close").json()
    assert (closed["kind"], closed["message"]) == ("wrong_result", "This is wrong_result.")
    assert closed["until"]
    assert look().keys() == {"odd_time", "worker_too_old", "unreadable"}
    assert {"Over: This is run_lost.", "Over: This is wrong_result."} < set(mailed())
    assert "This is run_lost." not in root.call("GET", "/admin", headers={"accept": "text/html"}).text


def test_operators_hear_of_time_that_nobody_was_charged_for(site: Site) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice, worker = site.member("alice"), site.worker()

    def told_of(odd: dict[str, float], verdict: str | None = None) -> list[str]:
        alice.submit()
        job = worker.claim()
        assert job is not None
        usage = {"odd_seconds": odd}
        ended = worker.fail(job, verdict, usage=usage) if verdict else worker.complete(job, 0.5, usage=usage)
        assert ended.status_code == 204
        with site.services.database.reading() as session:
            alerts = [alert for alert in list_open(session) if alert.subject == job["run_id"]]
        return [f"{alert.kind}: {alert.message.partition(': ')[2]}" for alert in alerts]

    assert told_of({"unpack": 30.0, "draw": 29.0}) == []
    assert told_of({"unpack": 30.0, "draw": 95.0}) == ["odd_time: draw 95 s, unpack 30 s."]
    assert told_of({"between": 100.0}, "RUNTIME_ERROR") == ["odd_time: between 100 s."]


def test_an_alert_whose_condition_holds_is_not_closed_by_hand(site: Site) -> None:
    root = site.person("root1", is_site_admin=True)
    with site.services.database.writing() as session:
        alert = open_alert(session, "no_workers", "cpu", "No worker.")
    assert f"/admin/alerts/{alert.id}" not in root.call("GET", "/admin", headers={"accept": "text/html"}).text
    refused = root.call("POST", f"/api/v1/admin/alerts/{alert.id}/acts/close")
    assert refused.status_code == 409 and "closes by itself" in refused.json()["message"]


@pytest.mark.seconds("many runs that fail")
def test_operators_hear_of_one_machine_that_fails_among_others_that_do_not(site: Site) -> None:
    alice = site.member("alice")
    site.set_phase(quota_day=None, quota_concurrent=None)
    good, bad = site.worker("good"), site.worker("bad")
    for number in range(5):
        alice.submit(make_zip(salt=str(number)))
        job = bad.claim()
        assert job is not None
        bad.fail(job, "DOCKER_ERROR")
        alice.submit(make_zip(salt=f"{number} beside it"))
        for _ in range(2):
            job = good.claim()
            assert job is not None
            good.complete(job, 0.5)
    sweep(site.services)
    with site.services.database.reading() as session:
        (alert,) = list_open(session)
    assert alert.kind == "worker_failing"
    assert alert.message == "5 of 5 attempts of the last hour on worker bad failed through our fault."


def hook(site: Site, url: str) -> None:
    with site.services.database.writing() as session:
        row = Webhook(competition_id=None, url=url, created_by=site.owner_id)
        session.add(row)
        session.flush()
        session.add(WebhookDelivery(webhook_id=row.id, event="test", payload={"event": "test"}))


INSIDE = [
    "http://10.0.0.1/",
    "http://127.1/hook",
    "http://[::1]:8080/",
    "http://localhost:5432/",
    "http://db.internal/",
]


def test_a_webhook_that_is_malformed_or_in_a_private_network_is_refused_when_it_is_added(site: Site) -> None:
    """The review: it was added, and failed later. Where the operator allows a private network, it is added."""
    owner, path = site.owner(), f"/api/v1/competitions/{SLUG}/manage/webhooks"
    for url in MALFORMED + INSIDE:
        answer = owner.call("POST", path, json={"url": url, "events": []})
        assert (answer.status_code, answer.json()["field"]) == (422, "url"), answer.text
    sent = owner.call(
        "POST", f"/competitions/{SLUG}/manage/webhooks", data={"url": INSIDE[0]}, follow_redirects=True
    )
    assert "Webhooks may not reach private networks." in sent.text
    change_settings(site, webhooks_to_private_addresses=True)
    for url in INSIDE:
        assert owner.call("POST", path, json={"url": url, "events": []}).status_code == 201


def test_a_malformed_webhook_of_old_keeps_no_other_from_its_message(
    site: Site,
    receiver: HTTPServer,  # noqa: F811
) -> None:
    change_settings(site, webhooks_to_private_addresses=True)
    for url in MALFORMED:
        hook(site, url)
    hook(site, f"http://127.0.0.1:{receiver.server_port}/hook")
    assert delivery.send_due_deliveries(site.services) == 1
    assert len(Receiver.posts) == 1


@contextmanager
def dripping_receiver() -> Iterator[int]:
    """A web server that sends a byte of its answer's head now and then, without an end."""
    stop = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        client, _ = server.accept()
        with client:
            while not stop.wait(0.05):
                try:
                    client.send(b"H")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        stop.set()
        thread.join(10)
        server.close()


def test_a_slow_receiver_keeps_nobody_waiting(
    site: Site,
    receiver: HTTPServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery, "_DEADLINE", 1.0)
    change_settings(site, webhooks_to_private_addresses=True)
    with dripping_receiver() as port:
        hook(site, f"http://127.0.0.1:{port}/slow")
        hook(site, f"http://127.0.0.1:{receiver.server_port}/hook")
        assert delivery.send_due_deliveries(site.services) == 1
    with site.services.database.reading() as session:
        errors = sorted(session.scalars(select(WebhookDelivery.error)))
    assert errors == ["", "no answer within 1 s"]


def test_many_messages_of_one_webhook_leave_room_for_others(
    site: Site,
    receiver: HTTPServer,  # noqa: F811
) -> None:
    url = f"http://127.0.0.1:{receiver.server_port}"
    change_settings(site, webhooks_to_private_addresses=True)
    hook(site, f"{url}/busy")
    with site.services.database.writing() as session:
        first = session.scalars(select(Webhook.id)).one()
        early = now() - timedelta(hours=1)
        session.add_all(
            WebhookDelivery(webhook_id=first, event="test", payload={}, next_at=early) for _ in range(100)
        )
    hook(site, f"{url}/other")
    delivery.send_due_deliveries(site.services)
    with site.services.database.reading() as session:
        arrived = select(Webhook.url).join(WebhookDelivery).where(WebhookDelivery.delivered)
        assert f"{url}/other" in set(session.scalars(arrived))


def test_alerts_are_mailed_though_their_address_is_dead(site: Site) -> None:
    change_settings(site, alert_webhook="http://[::1", operator_email="ops@example.org")
    with site.services.database.writing() as session:
        session.add(Alert(kind="run_lost", subject="x", message="A run was lost."))
    tell_operators(site.services)
    tell_operators(site.services)
    with site.services.database.reading() as session:
        assert session.scalars(select(Email.to)).all() == ["ops@example.org"]


def test_a_bundle_cannot_say_how_long_by_a_word(site: Site) -> None:
    from pydantic import ValidationError

    from anyshot_platform.contest.bundles.schema import CompetitionSpec

    for rules in ({"log.txt": "soon"}, {"log.txt": 0}, {"model.py": 3}):
        with pytest.raises(ValidationError, match="retention"):
            CompetitionSpec.model_validate(
                {"anyshot": 1, "slug": "a", "title": "A", "phases": [], "retention": rules}
            )


def test_one_competitions_bad_rule_keeps_no_other_from_its_housekeeping(site: Site, tmp_path: Any) -> None:
    alice, worker = site.member("alice"), site.worker()
    alice.submit()
    job = worker.claim()
    assert job is not None and worker.put(job, "log.txt", b"hello").status_code == 204
    worker.complete(job, 0.5)
    with site.services.database.writing() as session:
        session.add(
            Competition(slug="aaa", title="A", retention={"log.txt": "soon"}, created_by=site.owner_id)
        )
        session.execute(update(Run).values(finished_at=now() - timedelta(days=4000)))
    keep_house(site.services)
    with site.services.database.reading() as session:
        assert session.scalars(select(Artifact.name).where(Artifact.expired_at.is_(None))).all() == []
        troubles = session.scalars(select(Trouble.duty)).all()
        assert troubles == ["retention"]


def test_a_duty_that_fails_keeps_no_other_from_its_turn(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from anyshot_platform.server import sweeper

    def fail(services: Services) -> int:
        raise IndexError("no such thing")

    swept = threading.Event()
    monkeypatch.setattr(sweeper, "SWEEPS", {"bad": fail, "good": lambda services: swept.set() or 0})
    running = Sweeper(site.services)
    running.start()
    try:
        assert swept.wait(60)
    finally:
        running.stop()


def test_a_long_queue_is_played_on_less_often(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thousandth of a core, a round of 0.2 s is worth more than three minutes without one."""
    from anyshot_platform.server import sweeper

    rounds: list[int] = []

    def play_on(services: Services) -> None:
        rounds.append(minute)
        began = time.thread_time()
        while len(rounds) == 1 and time.thread_time() < began + 0.2:
            pass

    monkeypatch.setattr(sweeper, "expect_starts", play_on)
    monkeypatch.setattr(sweeper, "_EXPECTED_SHARE", 0.001)
    running, start = Sweeper(site.services), now()
    with virtual_clock() as set_clock:
        for minute in range(8):
            set_clock(start + timedelta(minutes=minute))
            running._expect_starts()
    assert rounds == [0, 1, 5, 6, 7]


def test_a_run_that_cannot_be_taken_back_rests_and_the_others_are(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anyshot_platform.server import sweeper

    for name in ("alice", "bob"):
        site.member(name).submit()
    first = site.worker("one").claim()
    assert first is not None and site.worker("two").claim() is not None
    with site.services.database.writing() as session:
        session.execute(update(Run).values(lease_expires_at=now() - timedelta(hours=1)))
    tries, lose = [], leases.lose

    def fail(session: Any, settings: Any, run: Run) -> None:
        if run.id == first["run_id"]:
            tries.append(run.id)
            raise KeyError("poison")
        lose(session, settings, run)

    monkeypatch.setattr(sweeper, "lose", fail)
    assert sweep(site.services)["lost"] == 1
    sweep(site.services)
    assert len(tries) == 1  # it rests


def test_a_ring_that_the_broker_does_not_take_keeps_no_other_waiting(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyshot_platform.app.send_due_rings", lambda *_: 0)  # the site's own thread
    for name in ("alice", "bob"):
        site.member(name).submit()

    class Picky:
        rung: list[str] = []  # noqa: RUF012
        first = ""

        def ring(self, run_id: str, hardware_class: str) -> bool:
            self.first = self.first or run_id
            self.rung.append(run_id)
            return run_id != self.first

    doorbell: Any = Picky()
    with site.services.database.writing() as session:
        from anyshot_platform.foundation.background.models import OutboxRing

        session.execute(update(OutboxRing).values(sent_at=None, due_at=now()))
    assert send_due_rings(site.services.database, doorbell) == 1
    assert len(doorbell.rung) == 2
