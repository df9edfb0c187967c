"""What a site keeps of a submission for good, and what goes: after a year of sweeps each table is as it is listed."""

from datetime import timedelta
from hashlib import sha256

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now, virtual_clock
from anyshot_platform.judging.submissions.models import UsedTicket
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.notifications import delivery as mails
from anyshot_platform.people.users.models import LoginSession, OneTimeToken, User
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.running.announcements.results import say_change
from anyshot_platform.server.all_models import metadata
from anyshot_platform.server.sweeper import keep_house
from tests.platform.site import Site, make_zip

# A row or more for each submission, kept as the record of the competition.
RECORD = {
    "attempts", "audit_entries", "board_changes", "board_rows", "blobs", "entries", "entry_changes", "league_entries",
    "notifications", "run_receipts", "run_scores", "runs", "submission_scores", "submissions", "workers",
}  # fmt: skip
# For their moment, or for the days that the settings say.
SPENT = {
    "artifacts", "checkpoints", "emails", "event_counts", "login_sessions", "one_time_tokens", "outbox_rings",
    "rate_hits", "run_events", "run_measures", "troubles", "uploads", "used_tickets", "webhook_deliveries",
    "worker_requests",
}  # fmt: skip
# As many as there are people, competitions, settings or wishes.
BOUNDED = {
    "alerts", "announcements", "api_tokens", "baselines", "competition_files", "competition_pages", "competitions",
    "evaluation_pools", "fact_sheets", "further_tests", "gates", "images", "league_answers", "leagues", "loops",
    "memberships", "notification_choices", "notification_mutes", "oauth_identities", "pack_keepers", "packs",
    "phase_extensions", "phase_notices", "phase_versions", "phases", "pool_packs", "pool_versions", "pools",
    "post_edits", "posts", "published_results", "recovery_codes", "rehearsals", "reports", "site_keys",
    "submission_tags", "sweeps", "team_invitations", "team_verdicts", "teams", "threads", "users", "webhooks",
    "winner_checks", "worker_tokens",
}  # fmt: skip


def count_rows(site: Site) -> dict[str, int]:
    with site.services.database.reading() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }


def play(site: Site, submissions: int) -> None:
    alice = site.member("alice")
    for number in range(submissions):
        assert alice.submit(make_zip(salt=f"{number}")).status_code == 201
        worker = site.worker(f"pod{number}")
        job = worker.claim()
        assert job is not None
        assert worker.beat(job, measures=[{"seq": 0}]).status_code == 200
        assert worker.tell(job, {"text": "a line"}).status_code == 204
        assert worker.put(job, "learner.bin", b"learned").status_code == 204
        told = {"name": "learner.bin", "digest": sha256(b"learned").hexdigest(), "size": 7}
        assert worker.complete(job, 0.5, artifacts=[told]).status_code == 204
    mails.send_due_emails(site.services, say_change)


def add_rows_of_a_moment(session: Session, site: Site) -> None:
    moment = now()
    user = session.scalars(select(User).where(User.username == "alice")).one()
    hook = Webhook(url="https://example.org", created_by=user.id)
    session.add(hook)
    session.flush()
    sent = {"payload": {}, "ended_at": moment, "delivered": True}
    ends = moment + timedelta(days=1)
    session.add_all(
        [
            UsedTicket(mark="a"),
            LoginSession(user_id=user.id, digest="a", expires_at=ends),
            OneTimeToken(user_id=user.id, purpose="reset", digest="a", expires_at=ends),
            WebhookDelivery(webhook_id=hook.id, event="submission.finished", **sent),
        ]
    )


def after(site: Site, days: int) -> dict[str, int]:
    """The rows of each table once so many days have passed, and been swept."""
    with virtual_clock() as set_clock:
        set_clock(now() + timedelta(days=days))
        keep_house(site.services)
    return count_rows(site)


def test_every_table_says_whether_its_rows_go() -> None:
    assert set(metadata.tables) == RECORD | SPENT | BOUNDED
    assert not RECORD & SPENT and not RECORD & BOUNDED and not SPENT & BOUNDED


def test_after_a_year_the_record_of_submissions_is_all_that_is_left_of_them(site: Site) -> None:
    play(site, 3)
    with site.services.database.writing() as session:
        add_rows_of_a_moment(session, site)
    there = count_rows(site)
    soon, later = after(site, 10), after(site, 367)
    spent = {name for name in SPENT if there[name]}
    assert len(spent) >= 10
    assert {
        name for name in ("emails", "run_events", "artifacts", "webhook_deliveries") if not soon[name]
    } == set()
    assert {name: later[name] for name in spent if later[name]} == {}
    assert {name: later[name] for name in RECORD - {"blobs"}} == {
        name: there[name] for name in RECORD - {"blobs"}
    }
    assert {name for name in RECORD if later[name] < 3} == {"audit_entries", "entries", "board_rows"}
    with site.services.database.reading() as session:
        assert [worker.info for worker in session.scalars(select(Worker))] == [None] * 3
