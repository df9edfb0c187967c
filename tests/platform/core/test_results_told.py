"""What a team is told when a submission ends: the score with its rank, or the reason, in the mail itself."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import pytest
from sqlalchemy import select

from anyshot_platform.database import now
from anyshot_platform.notifications.models import Email, Notification
from anyshot_platform.phases.states import Audience
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.models import User
from tests.platform.admin.results import draw_table, finish_with_table
from tests.platform.site import Person, Site, make_zip


def _member(site: Site, name: str) -> Person:
    """A participant with an address that is confirmed."""
    person = site.member(name)
    with site.services.database.writing() as session:
        user = session.get_one(User, person.id)
        user.email, user.email_verified_at = f"{name}@example.org", now()
    return person


def _score(site: Site, person: Person, mean: float, *, smoke: bool = False) -> None:
    person.submit(smoke=smoke)
    worker = site.worker()
    job = worker.claim()
    assert job is not None and worker.complete(job, mean).status_code == 204


def _mails(site: Site, name: str) -> Sequence[Email]:
    with site.services.database.reading() as session:
        return session.scalars(
            select(Email).where(Email.to == f"{name}@example.org").order_by(Email.created_at)
        ).all()


def test_a_mail_carries_score_interval_rank_and_competition(site: Site) -> None:
    _score(site, _member(site, "bob"), 0.75)
    _score(site, _member(site, "alice"), 0.5)
    (mail,) = _mails(site, "alice")
    assert mail.subject == "Submission 1 (submission.zip) is scored: 0.500 ± 0.020, rank 2 of 2 in Free style"
    assert "Hello alice," in mail.body and "feedback" in mail.body.lower()
    assert "/submissions/" in mail.body and "/account/notifications" in mail.body
    with site.services.database.reading() as session:
        note = session.scalars(select(Notification).where(Notification.title == mail.subject)).one()
    assert "rank 2 of 2" in note.body


def test_a_mail_says_what_changed_to_the_best_other_submission(site: Site) -> None:
    alice = _member(site, "alice")
    for mean in (0.5, 0.625, 0.25):
        _score(site, alice, mean)
    first, better, worse = (mail.body for mail in _mails(site, "alice"))
    assert "your best other" not in first
    assert "0.125 above your best other submission, #1" in better
    assert "0.375 below your best other submission, #2" in worse


def test_a_mail_says_the_paired_statement_where_there_is_one(site: Site) -> None:
    """The words of the page: what cannot be told apart is not announced as a gain."""
    alice, worker = _member(site, "alice"), site.worker()
    site.set_version(tasks=40)
    for number, mean in enumerate((0.4, 0.42)):
        alice.submit(make_zip(salt=f"zip {number}"))
        finish_with_table(worker, draw_table(mean, 40, number))
    first, second = (mail.body for mail in _mails(site, "alice"))
    assert "best other" not in first and "above your best other" not in second
    page = site.client.get(
        f"/submissions/{_newest(site)}", headers={**alice.headers, "accept": "text/html"}
    ).text
    said = re.search(r"^.*(more than chance|cannot be told|practical purposes).*$", second, re.MULTILINE)
    assert said is not None, second
    assert said[0].strip() in " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def _newest(site: Site) -> str:
    with site.services.database.reading() as session:
        return session.scalars(select(Submission.id).order_by(Submission.created_at.desc()).limit(1)).one()


def test_a_mail_about_a_failure_has_its_reason(site: Site) -> None:
    alice = _member(site, "alice")
    alice.submit()
    worker = site.worker()
    job = worker.claim()
    assert job is not None and worker.fail(job, "RUNTIME_ERROR", "ValueError: seven").status_code == 204
    (mail,) = _mails(site, "alice")
    assert mail.subject == "Submission 1 (submission.zip) failed" and "ValueError: seven" in mail.body


def test_a_smoke_test_is_not_called_scored(site: Site) -> None:
    alice = _member(site, "alice")
    site.offer_smoke_tests()
    site.set_phase(smoke_tasks=3)
    _score(site, alice, 0.25, smoke=True)
    assert (
        _mails(site, "alice")[0].subject
        == "Smoke test 1 (submission.zip) is through: 0.250 on 3 public tasks"
    )


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        ({"scores_visible": False}, "Submission 1 (submission.zip) is scored"),
        ({"board_audience": Audience.ORGANIZERS}, "Submission 1 (submission.zip) is scored: 0.500 ± 0.020"),
        ({"needs_publishing": True}, "Submission 1 (submission.zip) is scored"),
    ],
)
def test_a_mail_tells_no_more_than_the_page(site: Site, hidden: dict[str, object], words: str) -> None:
    site.set_phase(**hidden)
    _score(site, _member(site, "alice"), 0.5)
    (mail,) = _mails(site, "alice")
    assert mail.subject == words and "rank" not in mail.body and (words[-5:] in mail.body)
