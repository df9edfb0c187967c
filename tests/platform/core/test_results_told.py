"""What a team is told when a submission ends: the score with its rank, or the reason, in the mail itself."""

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from email import message_from_bytes
from email.policy import default

import pytest
from sqlalchemy import delete, select, update

from anyshot_platform.contest.phases.states import Audience
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.notifications.delivery import send_due_emails
from anyshot_platform.people.notifications.models import Email, Notification
from anyshot_platform.people.users.models import MailRhythm, User
from anyshot_platform.running.announcements.results import say_change
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.precomputation import BoardsReady
from anyshot_scoring.reliability.board_pairs import know_boards
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
    assert mail.body.count("rank 2 of 2") == 1 and "rank" not in note.body


def _sent(site: Site, name: str) -> list[str]:
    """The bodies of the mails to a person as they went out, by subject."""
    send_due_emails(site.services, say_change)
    paths = (site.services.settings.home / "mail").glob("*.eml")
    mails = [message_from_bytes(path.read_bytes(), policy=default) for path in paths]
    own = [mail for mail in mails if mail["To"] == f"{name}@example.org"]
    return [mail.get_content() for mail in sorted(own, key=lambda mail: mail["Subject"])]


def test_a_mail_says_what_changed_to_the_best_other_submission(site: Site) -> None:
    alice, sent = _member(site, "alice"), []
    for mean in (0.5, 0.625, 0.25):
        _score(site, alice, mean)
        sent += [mail for mail in _sent(site, "alice") if mail not in sent]
    first, better, worse = sent
    assert "your best other" not in first
    assert "0.125 above your best other submission, #1" in better
    assert "0.375 below your best other submission, #2" in worse


def _two_with_tables(site: Site, alice: Person, *means: float) -> None:
    site.set_version(tasks=40)
    for number, mean in enumerate(means):
        alice.submit(make_zip(salt=f"zip {number}"))
        finish_with_table(site.worker(), draw_table(mean, 40, number))


_STATED = re.compile(r"^.*(more than task sampling|[Tt]oo close to call|practical purposes).*$", re.MULTILINE)


def _stated(mail: str) -> str:
    found = _STATED.search(mail)
    assert found is not None, mail
    return found[0].strip()


def _page(site: Site, person: Person, submission_id: str) -> str:
    """The words of the page of a submission."""
    path, headers = f"/submissions/{submission_id}", {**person.headers, "accept": "text/html"}
    return " ".join(
        html.unescape(re.sub(r"<[^>]+>", " ", site.client.get(path, headers=headers).text)).split()
    )


def test_a_mail_says_the_paired_statement_where_there_is_one(site: Site) -> None:
    """The words of the page: what cannot be told apart is not announced as a gain."""
    alice = _member(site, "alice")
    _two_with_tables(site, alice, 0.4, 0.42)
    _, mail = _sent(site, "alice")
    assert "above your best other" not in mail and _stated(mail) in _page(site, alice, _newest(site))


def test_under_ranks_a_mail_and_the_page_say_the_change_in_average_ranks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They said nothing. The second is ahead of the first on all three datasets, so by one rank."""
    alice = _member(site, "alice")
    site.set_version(ranking_rule="dataset_ranks_worst")
    _two_with_tables(site, alice, 0.4, 0.5)
    _, mail = _sent(site, "alice")
    said = "This submission is better than your best other (#1) by 1.000 average ranks"
    page = _page(site, alice, _newest(site))
    assert said in mail and _stated(mail) in page
    assert "+1.000 average ranks against your best other submission (#1) ." in page
    (change,) = site.client.get(f"/api/v1/submissions/{_newest(site)}", headers=alice.headers).json()[
        "answer"
    ]["changes"]
    assert change["difference"] == 1.0 and change["statement"]["in_ranks"]
    monkeypatch.setattr(
        "anyshot_platform.standings.leaderboards.trust.MOST_ON_A_BOARD", 1
    )  # a board that is too long
    assert "average ranks" not in _page(site, alice, _newest(site))


def test_ranks_on_a_hidden_board_tell_nothing_of_the_entries_between(site: Site) -> None:
    alice = _member(site, "alice")
    site.set_version(ranking_rule="dataset_ranks_worst")
    site.set_phase(board_audience=Audience.ORGANIZERS)
    _two_with_tables(site, alice, 0.4, 0.5)
    assert not any("average ranks" in mail for mail in _sent(site, "alice"))
    second = _newest(site)
    assert "average ranks" not in _page(site, alice, second)
    with site.services.database.reading() as session:
        first = session.scalars(select(Submission.id).where(Submission.id != second)).one()
    path = f"/api/v1/submissions/{second}/compare/{first}"
    refused = site.client.get(path, headers=alice.headers)
    assert refused.status_code == 409 and "is hidden or has 100 rows" in refused.json()["message"]
    told = site.client.get(path, headers=site.owner().headers).json()
    assert "by 1.000 average ranks" in told["words"]


def test_what_is_said_of_two_does_not_depend_on_who_else_is_asked_about(site: Site) -> None:
    """The page puts a baseline beside it, the mail does not: one said 0.62 of the same two, the other 0.64."""
    alice, bob = _member(site, "alice"), _member(site, "bob")
    site.set_version(tasks=40)
    odd = bob.submit(make_zip(salt="bob's")).json()["id"]
    table = draw_table(0.5, 40, 2)
    finish_with_table(site.worker(), replace(table, normalized_accuracy=table.normalized_accuracy[::-1]))
    with site.services.database.writing() as session:
        session.execute(delete(BoardRow).where(BoardRow.submission_id == odd))
        session.execute(update(Submission).where(Submission.id == odd).values(kind=SubmissionKind.BASELINE))
    _two_with_tables(site, alice, 0.4, 0.408)
    page = _page(site, alice, _newest(site))
    assert "the best baseline" in page and _stated(_sent(site, "alice")[1]) in page


def test_a_run_ends_without_a_model_and_its_mail_says_what_the_page_says_when_it_goes_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fit would keep all other writers waiting, and the board of the run's end is no longer the one of the mail."""
    fitted: list[object] = []
    monkeypatch.setattr(BoardsReady, "__call__", lambda ready: None)  # the background may fit what it likes
    monkeypatch.setattr(
        "anyshot_platform.judging.execution.pairs.know_boards",
        lambda *of, **how: (fitted.append(of), know_boards(*of, **how))[1],
    )
    alice, bob = _member(site, "alice"), _member(site, "bob")
    _two_with_tables(site, alice, 0.4, 0.408)
    assert not fitted
    newest = _newest(site)
    then = _page(site, alice, newest)
    bob.submit(make_zip(salt="bob's"))
    table = draw_table(0.5, 40, 2)  # what is easy for others is hard for it: the model knows less of any two
    finish_with_table(site.worker(), replace(table, normalized_accuracy=table.normalized_accuracy[::-1]))
    said = _stated(_sent(site, "alice")[1])
    assert said in _page(site, alice, newest) and said not in then


def test_a_digest_says_it_when_it_goes_out(site: Site) -> None:
    alice = _member(site, "alice")
    with site.services.database.writing() as session:
        user = session.get_one(User, alice.id)
        user.mail_rhythm = MailRhythm.DAILY
    _two_with_tables(site, alice, 0.4, 0.42)
    with site.services.database.writing() as session:
        session.execute(update(Email).values(next_at=now()))
    (digest,) = _sent(site, "alice")
    assert (
        "* Submission 1 (submission.zip) is scored: 0.402 ± 0.037, rank 1 of 1 in Free style\n"
        "  A small competition, Feedback\n"
        "  Your best other (#2) is better than this submission by 0.021, more than task sampling alone would "
        "explain (probability over 0.99).\n"
    ) in digest
    assert (
        "* Submission 2 (submission.zip) is scored: 0.423 ± 0.042, rank 1 of 1 in Free style\n"
        "  A small competition, Feedback\n"
        "  This submission is better than your best other (#1) by 0.021, more than task sampling alone would "
        "explain (probability over 0.99).\n"
    ) in digest
    addresses_left_out = re.sub(r"/submissions/[0-9a-f]{32}", "", digest)
    assert not re.search(r"[0-9a-f]{32}", addresses_left_out)  # marks are no words


def test_a_mail_that_waited_says_nothing_that_is_hidden_by_now(site: Site) -> None:
    alice = _member(site, "alice")
    _two_with_tables(site, alice, 0.4, 0.42)
    site.set_phase(scores_visible=False)
    assert not any(re.search("better|best other|equal", mail) for mail in _sent(site, "alice"))


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
        == "Smoke test 1 (submission.zip) has finished: 0.250 on 3 public tasks"
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
