"""A zip is handed in by one way: form and API take, refuse and use up the same, uploaded or known by its digest."""

import html
import itertools
import re
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from httpx2 import Response

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions import uploads
from anyshot_platform.judging.submissions.actions import handing_in
from anyshot_platform.judging.submissions.models import Submission, Upload
from tests.platform.core.test_budgets import allow
from tests.platform.site import SLUG, Person, Site, make_zip
from tests.platform.web.test_again import _PATH as API
from tests.platform.web.test_again import _send

FORM = f"/competitions/{SLUG}/phases/feedback/submit"
DOORS = ("form", "API")


def hand_in(site: Site, person: Person, door: str, source: str, given: str) -> Response:
    """Knock at a door with an upload's id or a zip's digest."""
    if door == "API":
        return person.call("POST", API, json={"upload_id" if source == "upload" else "digest": given})
    return _send(site, person, FORM, **{"upload_id" if source == "upload" else "again": given})


def told(answer: Response) -> str:
    """What a person reads, of a page or of an answer of the API."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", answer.text)).split())


def handed_in(site: Site) -> list[str]:
    """The digests of all submissions."""
    with site.services.database.reading() as session:
        return [row.digest for row in session.query(Submission).order_by(Submission.number)]


def change_member(site: Site, person: Person, **values: object) -> None:
    with site.services.database.writing() as session:
        for name, value in values.items():
            setattr(session.query(Membership).filter_by(user_id=person.id).one(), name, value)


def ban(site: Site, person: Person) -> None:
    change_member(site, person, status=MemberStatus.BANNED)


REFUSALS: dict[str, tuple[Callable[[Site, Person], None], int, str]] = {
    "closed": (lambda site, _: site.set_phase(ends_at=now() - timedelta(hours=1)), 409, "closed"),
    "no member": (ban, 403, "banned"),
    "no quota left": (lambda site, _: site.set_phase(quota_day=1), 429, "submission"),
}


@pytest.mark.seconds("a site for each refusal")
@pytest.mark.parametrize("why", REFUSALS)
def test_both_doors_refuse_the_same_in_the_same_words(site: Site, why: str) -> None:
    alice = site.member("alice")
    arrange, status, words = REFUSALS[why]
    digest = alice.submit().json()["digest"]
    given = {"upload": alice.upload(make_zip(salt="another")), "digest": digest}
    arrange(site, alice)
    reference = alice.call("POST", API, json={"digest": digest})
    assert words in told(reference)
    for door, source in itertools.product(DOORS, given):
        answer = hand_in(site, alice, door, source, given[source])
        assert (answer.status_code, handed_in(site)) == (status, [digest]), answer.text[:500]
        assert reference.json()["message"] in told(answer), (door, source)
    seen = alice.call("GET", f"/api/v1/uploads/{given['upload']}")
    assert seen.is_success, "what was refused can be sent again"


def test_who_is_banned_while_the_zip_is_read_hands_in_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = site.member("alice")
    digest = alice.submit().json()["digest"]
    given = {"upload": alice.upload(make_zip(salt="another")), "digest": digest}
    fetch = handing_in._fetch

    def slowly(*arguments: object) -> object:
        found = fetch(*arguments)  # pyright: ignore[reportArgumentType]
        ban(site, alice)
        return found

    monkeypatch.setattr(handing_in, "_fetch", slowly)
    for door, source in itertools.product(DOORS, given):
        change_member(site, alice, status=MemberStatus.APPROVED)
        answer = hand_in(site, alice, door, source, given[source])
        assert (answer.status_code, handed_in(site)) == (403, [digest]), (door, source)
        assert "banned" in told(answer)


def test_who_may_not_submit_has_no_zip_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking a zip costs a process and seconds."""
    alice = site.member("alice")
    upload = alice.upload(make_zip())
    ban(site, alice)
    monkeypatch.setattr(handing_in, "store_zip", lambda *_: pytest.fail("the zip was read"))
    for door in DOORS:
        assert hand_in(site, alice, door, "upload", upload).status_code == 403


@pytest.mark.parametrize("door", DOORS)
def test_an_upload_becomes_one_submission_and_its_file_goes(site: Site, door: str) -> None:
    alice = site.member("alice")
    upload = alice.upload(make_zip())
    assert hand_in(site, alice, door, "upload", upload).status_code in (201, 303)
    assert hand_in(site, alice, DOORS[door == "form"], "upload", upload).status_code == 404
    assert len(handed_in(site)) == 1
    assert not list(site.services.settings.upload_folder.glob(f"{upload}*"))


def test_one_upload_that_is_sent_twice_at_once_becomes_one_submission(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request has read the zip before the first was through."""
    alice = site.member("alice")
    upload = alice.upload(make_zip())
    sealed, others = uploads.sealed_upload, []

    @contextmanager
    def in_the_meantime(*arguments: Any) -> Any:
        with sealed(*arguments) as found:
            yield found
        if not others:
            others.append("begun")
            others.append(hand_in(site, alice, "API", "upload", upload).status_code)

    monkeypatch.setattr(handing_in, "sealed_upload", in_the_meantime)
    assert hand_in(site, alice, "API", "upload", upload).status_code == 404
    assert others == ["begun", 201] and len(handed_in(site)) == 1
    with site.services.database.reading() as session:
        assert session.query(Upload).filter(Upload.used_at.is_not(None)).count() == 1


CHECKED_FOR = {"competition": SLUG, "phase": "feedback"}


def check(person: Person, upload_id: str, **where: str) -> Response:
    return person.call("POST", f"/api/v1/uploads/{upload_id}/check", params=where)


@pytest.mark.parametrize("door", DOORS)
def test_as_many_zips_as_checks_are_allowed_are_checked_and_handed_in(site: Site, door: str) -> None:
    alice = site.member("alice")
    site.set_phase(quota_day=None, quota_concurrent=None)
    allow(site, uploads=3, checks=2)
    for number in range(2):
        upload = alice.upload(make_zip(salt=f"{number}"))
        first, second = (check(alice, upload, **CHECKED_FOR).json() for _ in range(2))
        assert first == second and first["ok"] and first["checks"]
        handed = hand_in(site, alice, door, "upload", upload)
        assert handed.status_code in (201, 303), told(handed)
    upload = alice.upload(make_zip(salt="one more"))
    sentence = (
        r"Too many checks of zips \(one that passed is not counted again when it is handed in\): this site allows 2 in "
        r"5 minutes for each person\. Please try again in \d+ (seconds|minutes)\."
    )
    refused = check(alice, upload, **CHECKED_FOR)
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 300
    assert re.fullmatch(sentence, refused.json()["message"])
    answer = hand_in(site, alice, door, "upload", upload)
    assert answer.status_code == 429 and re.search(sentence, told(answer)), told(answer)
    assert len(handed_in(site)) == 2


def test_a_check_for_other_runs_and_one_of_a_known_zip_are_counted(site: Site) -> None:
    alice = site.member("alice")
    site.set_phase(quota_day=None, quota_concurrent=None)
    allow(site, checks=3)
    upload = alice.upload(make_zip())
    assert [check(alice, upload, **where).status_code for where in ({}, CHECKED_FOR)] == [200, 200]
    (digest,) = [hand_in(site, alice, "API", "upload", upload).json()["digest"]]
    known = [hand_in(site, alice, "API", "digest", digest).status_code for _ in range(2)]
    assert known == [201, 429]


def test_the_file_of_a_form_is_counted_as_an_upload(site: Site) -> None:
    alice = site.member("alice")
    allow(site, uploads=1)
    file = {"file": ("a.zip", make_zip(), "application/zip")}
    sent = [_send(site, alice, FORM, file) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [303, 429]
    assert "Too many uploads started: this site allows 1 in 5 minutes" in told(sent[1])
