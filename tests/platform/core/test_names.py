"""Names that people read: nobody looks like somebody else, and no text breaks what machines read."""

import xml.etree.ElementTree as ET

from tests.platform.admin.test_manage import page, post
from tests.platform.site import SLUG, Site

RENAME = f"/competitions/{SLUG}/team/name"
API = f"/api/v1/competitions/{SLUG}"


def test_a_team_is_not_called_by_what_nobody_sees(site: Site) -> None:
    site.member("alice")
    bob = site.member("bob")
    for name in (
        "alice\u3164",
        "al\u2800ice",
        "\u115fx",
        "\u202ealice",
        "ali\u200bce",
        "\u2066alice\u2069",
        "\uffa0\uffa0",
    ):
        refused = post(bob, RENAME, name=name)
        assert refused.status_code == 422 and "2 to 64 printable characters" in refused.text, ascii(name)


def test_a_team_is_not_called_as_another_in_other_letters_of_the_same_form(site: Site) -> None:
    site.member("alice")
    bob = site.member("bob")
    for name in ("ALICE", "ａｌｉｃｅ", "ali\uff43e", "𝐚𝐥𝐢𝐜𝐞"):
        refused = post(bob, RENAME, name=name)
        assert refused.status_code == 409 and "Another team has this name" in refused.text, name


def test_a_persons_name_turns_no_line_around(site: Site) -> None:
    alice = site.person("alice")
    sent = {"display_name": "Alice \u202egnihton\u202c\u200b", "affiliation": "Uni\u3164 X\x07"}
    assert alice.call("PATCH", "/api/v1/me", json=sent).status_code == 200
    told = alice.call("GET", "/api/v1/me").json()
    assert (told["display_name"], told["affiliation"]) == ("Alice gnihton", "Uni X")


def test_a_title_of_the_forum_shows_all_that_it_holds(site: Site) -> None:
    pia = site.member("pia")
    begun = post(pia, f"/competitions/{SLUG}/discussion/new", title="Why\u202e not\u200b?", body="Because.")
    assert begun.status_code == 303
    shown = page(pia, f"/competitions/{SLUG}/discussion").text
    assert "Why not?" in shown and "\u202e" not in shown


def test_no_announcement_breaks_the_feed_of_all_others(site: Site) -> None:
    owner = site.owner()
    for number, bad in enumerate(("\x0b", "\x08", "\ufffe", "\uffff", "\x1b[31m")):
        news = {"title": f"Ne{bad}ws", "body": f"It be{bad}gins."}
        assert owner.call("POST", f"{API}/manage/announcements/acts/add", json=news).status_code == 200
        feed = ET.fromstring(site.client.get(f"/competitions/{SLUG}/announcements.atom").content)
        assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == number + 1
