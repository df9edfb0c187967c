"""A zip that is refused for good takes up no room of the uploads that wait to be used."""

import html
import re
from typing import Any

import pytest

from anyshot_platform.judging.submissions.models import Upload
from tests.platform.core.test_budgets import allow
from tests.platform.site import Person, Site, make_zip
from tests.platform.web.test_again import _PATH as API
from tests.platform.web.test_again import _send
from tests.platform.web.test_handing_in import DOORS, FORM, hand_in
from tests.platform.web.test_held_out import holding_out, train_on

BAD = make_zip({"readme.txt": b"hello" * 300})


def has_room(person: Person, size: int) -> bool:
    """Whether so many bytes may be announced, as a program or the page's script does."""
    answer = person.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": size})
    assert answer.status_code in (201, 409), answer.text
    return answer.status_code == 201


def files(site: Site) -> list[str]:
    return [path.name for path in site.services.settings.upload_folder.glob("*")]


@pytest.mark.parametrize("door", DOORS)
def test_a_zip_that_is_refused_for_good_makes_room(site: Site, door: str) -> None:
    """It counted for two days, and nothing could delete it: one bad zip after the other, then nobody could send."""
    alice = site.member("alice")
    allow(site, upload_bytes=2 * len(BAD))
    for _ in range(3):
        answer = hand_in(site, alice, door, "upload", alice.upload(BAD))
        assert answer.status_code == 422 and "model.py" in answer.text
        assert files(site) == []
    assert has_room(alice, 2 * len(BAD))


def test_a_form_without_script_makes_room_too(site: Site) -> None:
    alice = site.member("alice")
    with site.services.database.writing() as session:
        session.add(Upload(user_id=alice.id, filename="a.zip", size=10))
    page = _send(site, alice, FORM, upload_id=(upload := alice.upload(BAD)))
    assert page.status_code == 422 and upload not in page.text
    with site.services.database.reading() as session:
        assert [row.size for row in session.query(Upload)] == [10], "the other one stays"


def test_the_page_makes_room_where_its_own_check_refuses(site: Site) -> None:
    """The script sends such a zip no further; it forgets the upload."""
    alice = site.member("alice")
    page = alice.call("GET", FORM, headers={"accept": "text/html"}).text
    (address,) = re.findall(r'data-check="([^"]+)"', page)

    def check(content: bytes) -> tuple[bool, bool]:
        upload = alice.upload(content)
        found = alice.call("POST", html.unescape(address).replace("{id}", upload)).json()
        return found["ok"], alice.call("GET", f"/api/v1/uploads/{upload}").is_success

    assert check(make_zip()) == (True, True)
    assert check(BAD) == (False, False)


def test_a_program_tries_again_with_the_upload_that_another_phase_would_take(site: Site) -> None:
    alice = site.member("alice")
    site.offer_smoke_tests("one", "two")
    train_on(site, 1)
    upload = alice.upload(holding_out(1))

    def submit(**options: Any) -> int:
        return alice.call("POST", API, json={"upload_id": upload, **options}).status_code

    assert submit() == 422
    assert submit(leagues=["nowhere"], smoke=False) == 422
    assert submit(smoke=True) == 201, "only its options were wrong"
