"""The discussion: edits, search, accepted answers, links to submissions, code and formulas."""

import html
import re
from datetime import timedelta

import pytest
from httpx2 import Response
from sqlalchemy import func, select

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role, Visibility
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Email, Notification
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web import markdown as markdown_module
from anyshot_platform.site.web.markdown import _LEXERS, LONGEST, highlighted, markdown
from tests.platform.site import SLUG, Person, Site
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene, add_team

BASE = f"/api/v1/competitions/{SLUG}/discussion"


def _begin(person: Person, title: str, body: str) -> str:
    made = person.call("POST", BASE, json={"title": title, "body": body})
    assert made.status_code == 201, made.text
    return f"{BASE}/{made.json()['id']}"


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_an_author_edits_and_organizers_see_what_stood_there(site: Site) -> None:
    alice, bob, olga = site.member("alice"), site.member("bob"), site.owner()
    thread = _begin(alice, "How many seeds?", "Is it one?")
    (post,) = alice.call("GET", thread).json()["posts"]
    address = f"{thread}/posts/{post['id']}"
    assert bob.call("PATCH", address, json={"body": "Mine now"}).status_code == 403
    assert olga.call("PATCH", address, json={"body": "Mine now"}).status_code == 403
    assert alice.call("PATCH", address, json={"body": "  "}).status_code == 422
    changed = alice.call("PATCH", address, json={"body": "Is it three?"}).json()["posts"][0]
    assert changed["body"] == "Is it three?" and changed["edited_at"] and changed["earlier"] == []
    assert olga.call("GET", thread).json()["posts"][0]["earlier"][0]["body"] == "Is it one?"
    page = thread.removeprefix("/api/v1")
    seen = {
        person.username: _text(site.client.get(page, headers={**person.headers, "accept": "text/html"}).text)
        for person in (bob, olga)
    }
    assert all(", edited" in text and "Is it three?" in text for text in seen.values())
    assert "Is it one?" not in seen["bob"] and "Is it one?" in seen["olga"]
    alice.call("PATCH", address, json={"body": "Is it three?"})
    assert len(olga.call("GET", thread).json()["posts"][0]["earlier"]) == 1  # nothing was changed


def test_what_was_removed_or_closed_is_not_edited(site: Site) -> None:
    alice, olga = site.member("alice"), site.owner()
    thread = _begin(olga, "How many seeds?", "Is it one?")
    post = alice.call("POST", f"{thread}/posts", json={"body": "One"}).json()["posts"][1]
    address = f"{thread}/posts/{post['id']}"
    with site.services.database.writing() as session:
        site.competition(session).discussion_open = False
    assert alice.call("PATCH", address, json={"body": "three"}).status_code == 409
    with site.services.database.writing() as session:
        site.competition(session).discussion_open = True
    page = thread.removeprefix("/api/v1")
    token = re.search(
        r'name="csrf-token" content="([^"]+)"',
        site.client.get(page, headers={**olga.headers, "accept": "text/html"}).text,
    )
    assert token is not None
    answer = site.client.post(
        f"{page}/posts/{post['id']}/remove", data={"csrf_token": token[1]}, headers=olga.headers
    )
    assert answer.status_code < 400, answer.text
    assert alice.call("PATCH", address, json={"body": "three"}).status_code == 409


def test_who_wrote_a_post_removes_it_and_only_organizers_put_it_back(site: Site) -> None:
    alice, bob, olga = site.member("alice"), site.member("bob"), site.owner()
    outsider = site.person("eve")
    thread = _begin(alice, "How many seeds?", "Is it one?")
    answer = bob.call("POST", f"{thread}/posts", json={"body": "Three, and my password is x"}).json()[
        "posts"
    ][1]
    address = f"{thread}/posts/{answer['id']}"

    def stands(person: Person) -> tuple[bool, str]:
        post = person.call("GET", thread).json()["posts"][1]
        return not post["removed"], post["body"]

    told = (True, "Three, and my password is x")
    for person, status in ((alice, 403), (outsider, 403)):
        assert person.call("DELETE", address).status_code == status and stands(bob) == told
    removed = bob.call("DELETE", address)
    assert removed.status_code == 200 and removed.json()["posts"][1]["removed"]
    assert "password" not in alice.call("GET", thread).text + bob.call("GET", thread).text
    for person in (bob, alice, outsider):
        assert person.call("POST", f"{address}/restore").status_code == 403
    assert not stands(alice)[0]
    assert olga.call("POST", f"{address}/restore").status_code == 200 and stands(alice) == told
    assert olga.call("POST", f"{address}/restore").status_code == 200
    assert olga.call("DELETE", address).status_code == 200 and stands(alice)[0] is False
    with site.services.database.reading() as session:
        query = select(AuditEntry.action).where(AuditEntry.object_id == answer["id"]).order_by(AuditEntry.id)
        done = [str(action).rpartition(".")[2] for action in session.scalars(query)]
    assert done == ["remove_post", "restore_post", "remove_post"]
    nowhere = f"{thread}/posts/{'0' * 32}"
    assert (
        olga.call("DELETE", nowhere).status_code == olga.call("POST", f"{nowhere}/restore").status_code == 404
    )


def test_with_its_first_post_a_thread_goes_and_comes_back(site: Site) -> None:
    """A title that names a hidden dataset, or abuses somebody, stayed in list, search and JSON for ever."""
    alice, bob, olga = site.member("alice"), site.member("bob"), site.owner()
    rita = site.member("rita", Role.REVIEWER)
    thread = _begin(alice, "The hidden one is Insects", "It is!")
    other = _begin(alice, "Seeds", "How many?")
    bob.call("POST", f"{thread}/posts", json={"body": "Is it?"})
    (first, _) = olga.call("GET", thread).json()["posts"]
    page, listed = thread.removeprefix("/api/v1"), BASE.removeprefix("/api/v1")

    def told(person: Person) -> set[bool]:
        lists = [person.call("GET", path).text for path in (BASE, f"{BASE}?q=Insects", listed)]
        in_lists = {"The hidden one is Insects" in text for text in lists}
        return in_lists | {person.call("GET", path).status_code == 200 for path in (thread, page)}

    def remove() -> Response:
        return olga.call("POST", f"{page}/posts/{first['id']}/remove", follow_redirects=False)

    assert [told(person) for person in (alice, bob, rita, olga)] == [{True}] * 4
    assert remove().headers["location"] == page
    assert [told(person) for person in (alice, bob, rita, olga)] == [{False}] * 3 + [{True}]
    assert bob.call("GET", BASE).json()["total"] == 1
    assert bob.call("POST", f"{thread}/posts", json={"body": "Hello?"}).status_code == 404
    assert "removed: only organizers see it" in _text(olga.call("GET", page).text)
    assert [row["removed"] for row in olga.call("GET", BASE).json()["threads"]] == [True, False]
    olga.call("POST", f"{thread}/posts", json={"body": "Such titles are not allowed."})
    with site.services.database.reading() as session:
        told_of = select(Notification.user_id).where(Notification.kind == "discussion.reply")
        assert set(session.scalars(told_of)) == {alice.id}  # of bob's answer
        assert session.scalar(select(func.count(Notification.id)).where(Notification.user_id == bob.id)) == 0
    assert olga.call("POST", f"{thread}/posts/{first['id']}/restore").json()["removed"] is False
    assert [told(person) for person in (alice, bob, rita, olga)] == [{True}] * 4
    own = other.removeprefix("/api/v1")
    (post,) = alice.call("GET", other).json()["posts"]
    gone = alice.call("POST", f"{own}/posts/{post['id']}/remove", follow_redirects=False)
    assert gone.headers["location"] == listed and alice.call("GET", own).status_code == 404


def test_who_removes_the_post_that_began_a_thread_takes_no_answers_of_others_with_it(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    thread = _begin(alice, "Seeds", "How many?")
    bob.call("POST", f"{thread}/posts", json={"body": "Three."})
    first, answer = alice.call("GET", thread).json()["posts"]
    assert alice.call("DELETE", f"{thread}/posts/{first['id']}").status_code == 200
    assert [post["body"] for post in bob.call("GET", thread).json()["posts"]][1] == "Three."
    assert bob.call("DELETE", f"{thread}/posts/{answer['id']}").status_code == 200
    assert bob.call("GET", thread).status_code == 200, "the place of a removed post stays"


def test_a_closed_thread_takes_posts_of_organizers_alone_and_those_in_it_are_told(site: Site) -> None:
    alice, bob, olga = site.member("alice"), site.member("bob"), site.owner()
    thread = _begin(alice, "How many seeds?", "Is it one?")

    def close(person: Person, closed: bool) -> int:
        body = {"pinned": False, "locked": closed}
        return person.call("PUT", f"{thread}/moderation", json=body).status_code

    assert (close(bob, True), close(olga, True), close(olga, True)) == (403, 200, 200)
    refused = bob.call("POST", f"{thread}/posts", json={"body": "Three."})
    assert refused.status_code == 409 and "The organizers have closed this thread." in refused.text
    assert olga.call("POST", f"{thread}/posts", json={"body": "It is three."}).is_success
    assert close(olga, False) == 200
    assert bob.call("POST", f"{thread}/posts", json={"body": "Three."}).is_success

    def told(person: Person) -> list[str]:
        rows = person.call("GET", "/api/v1/notifications").json()
        return [row["title"] for row in reversed(rows) if row["kind"] == "discussion.reply"]

    assert told(alice) == [f"{name} answered in “How many seeds?”" for name in ("olga", "bob")]
    assert told(olga) == ["bob answered in “How many seeds?”"], "nobody is told of an answer of their own"
    assert told(bob) == []
    with site.services.database.reading() as session:
        acts = select(AuditEntry).where(AuditEntry.action == "discussion.moderate").order_by(AuditEntry.id)
        assert [row.after for row in session.scalars(acts)] == [{"locked": True}, {"locked": False}]


def _told_of(site: Site, words: str) -> tuple[set[str], set[str]]:
    """The addresses to which an e-mail with these words goes, and those whose owners have a message with them."""
    with site.services.database.reading() as session:
        mails = set(session.scalars(select(Email.to).where(Email.body.contains(words))))
        notes = select(User.email).join(Notification, Notification.user_id == User.id)
        return mails, {
            email or "" for email in session.scalars(notes.where(Notification.body.contains(words)))
        }


def test_a_reply_is_told_to_nobody_who_is_no_member_any_more(site: Site) -> None:
    """Who was banned from a private competition still got every reply, with 500 characters of it."""
    alice, bob, carl = site.member("alice"), site.member("bob"), site.member("carl")
    with site.services.database.writing() as session:
        site.competition(session).visibility = Visibility.PRIVATE
    thread = _begin(alice, "How many seeds?", "Is it one?")
    assert bob.call("POST", f"{thread}/posts", json={"body": "Three."}).is_success
    told = {"bob@example.org"}
    for status in set(MemberStatus) - {MemberStatus.APPROVED}:
        with site.services.database.writing() as session:
            session.scalars(select(Membership).where(Membership.user_id == alice.id)).one().status = status
        words = f"A word among members: one is {status}."
        assert carl.call("POST", f"{thread}/posts", json={"body": words}).is_success
        assert _told_of(site, words) == (told, told)
    with site.services.database.writing() as session:
        session.delete(session.scalars(select(Membership).where(Membership.user_id == bob.id)).one())
    assert carl.call("POST", f"{thread}/posts", json={"body": "A word to myself."}).is_success
    assert _told_of(site, "A word to myself.") == (set(), set())


def test_a_reply_in_a_competition_that_is_not_shown_is_told_to_its_organizers_alone(site: Site) -> None:
    alice, rita, olga = site.member("alice"), site.member("rita", Role.REVIEWER), site.owner()
    admin, late = site.person("rosa", is_site_admin=True), site.member("late", Role.ORGANIZER)
    thread = _begin(alice, "How many seeds?", "Is it one?")
    for person in (rita, olga, admin):
        assert person.call("POST", f"{thread}/posts", json={"body": "Three."}).is_success
    told = {"rita@example.org", "olga@example.org", "rosa@example.org"}
    shown = {"state": CompetitionState.PUBLISHED, "opens_at": None, "deleted_at": None}
    for hidden, value in (
        ("state", CompetitionState.DRAFT),
        ("opens_at", now() + timedelta(days=1)),
        ("deleted_at", now()),
    ):
        with site.services.database.writing() as session:
            for name, one in {**shown, hidden: value}.items():
                setattr(site.competition(session), name, one)
        words = f"Among us, by its {hidden}."
        assert late.call("POST", f"{thread}/posts", json={"body": words}).is_success
        assert _told_of(site, words) == (told, told)


def test_who_asked_accepts_one_answer(site: Site) -> None:
    alice, bob, carl = site.member("alice"), site.member("bob"), site.member("carl")
    thread = _begin(alice, "How many seeds?", "One or three?")
    for person, words in ((bob, "One."), (carl, "Three, in the final.")):
        posts = person.call("POST", f"{thread}/posts", json={"body": words}).json()["posts"]
    question, wrong, right = (f"{thread}/posts/{post['id']}/accepted" for post in posts)
    assert bob.call("PUT", right).status_code == 403
    assert alice.call("PUT", question).status_code == 409
    alice.call("PUT", wrong)
    accepted = [post["accepted"] for post in alice.call("PUT", right).json()["posts"]]
    assert accepted == [False, False, True]
    assert alice.call("GET", BASE).json()["threads"][0]["answered"]
    page = site.client.get(thread.removeprefix("/api/v1"), headers={"accept": "text/html"}).text
    assert "Answer by carl" in _text(page) and _text(page).count("accepted answer") == 1
    assert not any(post["accepted"] for post in alice.call("DELETE", right).json()["posts"])
    assert not alice.call("GET", BASE).json()["threads"][0]["answered"]


def test_search_finds_titles_and_posts_and_says_where(site: Site) -> None:
    alice = site.member("alice")
    _begin(
        alice, "Memory limits", "How much is there? " + "word " * 100 + "About 100% of 16 GiB?" + " end" * 50
    )
    thread = _begin(alice, "Other things", "Nothing.")
    alice.call("POST", f"{thread}/posts", json={"body": "And the MEMORY of the GPU?"})

    def found(words: str) -> list[tuple[str, str]]:
        threads = alice.call("GET", BASE, params={"q": words}).json()["threads"]
        return [(line["title"], line["excerpt"]) for line in threads]

    assert {title for title, _ in found("memory")} == {"Memory limits", "Other things"}
    ((title, excerpt),) = found("100%")  # a per cent sign is no joker
    assert title == "Memory limits" and "About 100% of 16 GiB?" in excerpt and excerpt.startswith("…")
    assert found("seeds") == []
    page = site.client.get(f"/competitions/{SLUG}/discussion?q=seeds", headers={"accept": "text/html"}).text
    assert "No thread has “seeds” in it" in page and 'value="seeds"' in page
    page = site.client.get(f"/competitions/{SLUG}/discussion?q=gpu", headers={"accept": "text/html"}).text
    assert "And the MEMORY of the GPU?" in page and "#post-" in page


def test_a_submission_is_linked_for_those_who_may_see_it(visitor: Visitor, scene: Scene) -> None:
    """By its number within the author's team; a number that is nobody's stays a number."""
    base = f"/competitions/{scene.competition.slug}/discussion"
    own = scene.submissions["finished"]
    visitor.sign_in(scene.ada)
    words = f"Look at #{own.number}, #{scene.phase.slug}/{own.number}, #99999 and `#{own.number}`."
    made = visitor.send(f"{base}/new", f"{base}/new", title="My submission", body=words)
    thread = made.headers["location"]
    link = f'<a href="/submissions/{own.id}"'
    assert visitor.see(thread).count(link) == 2
    assert f"/submissions/{own.id}" in visitor.see(thread) and "#99999 and" in visitor.see(thread)
    for other in (scene.bob, scene.visitor):
        visitor.sign_in(other)
        assert "/submissions/" not in visitor.see(thread).partition("<article")[2].partition("</article")[0]
    visitor.sign_in(scene.organizer)
    assert visitor.see(thread).count(link) == 2
    visitor.sign_in(scene.bob)  # of another team: his own number 1 is not Ada's
    visitor.send(thread, f"{thread}/reply", body=f"And #{own.number}?")
    visitor.sign_in(scene.ada)
    assert visitor.see(thread).count(link) == 2


def test_code_has_colours_addresses_are_links_and_no_image_is_broken() -> None:
    page = markdown("```python\ndef fit(x):\n    return '<b>'\n```\nSee https://example.org/a, or $x^2$.")
    assert '<span class="hl-k">def</span>' in page and "<b>" not in page and "<msup>" in page
    assert '<a href="https://example.org/a" rel="noopener nofollow ugc">https://example.org/a</a>,' in page
    assert "https://example.org" in markdown("`https://example.org`") and "<a " not in markdown(
        "`https://a.b`"
    )
    picture = markdown("![a plot](https://elsewhere.example/x.png)")
    assert "<img" not in picture and '<a href="https://elsewhere.example/x.png"' in picture
    assert "a plot</a>" in picture
    assert markdown("[a https://b.c](/d)").count("<a ") == 1
    assert 'class="banner"' not in markdown('<span class="banner hl-k">x</span>')


# Texts that make lexers slow, among them that of YAML (the last two).
UNITS = ("%(", "- ", '  File "a", line 1\n    ^', "$((", '"""', "1_", "&", "! ")


# The time limit of the test is the guard: a lexer whose work grows with the square of the text, as that of YAML, needs
# two minutes for five times the longest one; those of our languages need a second or two.
@pytest.mark.seconds("long texts in every language of code")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", sorted(set(_LEXERS.values())))
@pytest.mark.parametrize("unit", UNITS)
def test_the_work_of_colouring_grows_with_the_text_and_no_faster(
    language: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Posts are drawn while people wait."""
    length = 5 * LONGEST
    monkeypatch.setattr(markdown_module, "LONGEST", length)
    text = "{" + unit * (length // len(unit) - 1)
    drawn = highlighted(text, language)
    assert html.unescape(re.sub(r"<[^>]+>", "", drawn)).rstrip() == text.rstrip()


@pytest.mark.parametrize("language", sorted(_LEXERS))
def test_a_very_long_text_is_given_to_no_lexer(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown_module, "highlight", lambda text, *_: f"coloured, {len(text)}")
    assert highlighted("x" * LONGEST, language) == f"coloured, {LONGEST}"
    assert highlighted("<" * (LONGEST + 1), language) == "&lt;" * (LONGEST + 1)


def test_a_post_is_previewed_and_quoted(visitor: Visitor, scene: Scene) -> None:
    base = f"/competitions/{scene.competition.slug}/discussion"
    visitor.sign_in(scene.ada)
    made = visitor.send(f"{base}/new", f"{base}/new", title="Seeds", body="One?\n\n```python\nx = 1\n```")
    thread = made.headers["location"]
    shown = visitor.see(thread)
    assert f'data-preview="{base}/preview"' in shown and "js/preview.js" in shown
    post = re.findall(r'id="post-(\w+)"', shown)[0]
    assert f'{thread}?quote={post}#body"' in shown
    field = visitor.see(f"{thread}?quote={post}").partition('name="body"')[2].partition("</textarea>")[0]
    assert f"{scene.ada.username}:\n\n&gt; One?\n&gt;\n&gt; ```python\n&gt; x = 1\n&gt; ```" in field
    previewed = visitor.send(thread, f"{base}/preview", status=200, body="> $x^2$ <script>")
    assert "<blockquote>" in previewed.json()["html"] and "<msup>" in previewed.json()["html"]
    assert "<script>" not in previewed.json()["html"]
    visitor.send(thread, f"{thread}/posts/{post}/remove")
    visitor.sign_in(scene.organizer)  # who still sees it
    field = visitor.see(f"{thread}?quote={post}").partition('name="body"')[2].partition("</textarea>")[0]
    assert "One?" not in field
    visitor.see(f"{thread}?quote={'0' * 32}", 404)


def test_links_of_a_team_follow_who_is_banned(visitor: Visitor, scene: Scene) -> None:
    """The one home of sight decides: who is banned sees their own submissions, and no other of the team."""
    own = scene.submissions["finished"]
    with visitor.services.database.writing() as session:
        member = session.scalars(
            select(Membership).where(
                Membership.user_id == scene.bob.id, Membership.competition_id == scene.competition.id
            )
        ).one_or_none()
        if member is None:
            add_team(session, scene.competition, "Bobs", scene.bob)
            member = session.scalars(select(Membership).where(Membership.user_id == scene.bob.id)).one()
        member.team_id = session.get_one(Submission, own.id).team_id
    base = f"/competitions/{scene.competition.slug}/discussion"
    visitor.sign_in(scene.ada)
    made = visitor.send(f"{base}/new", f"{base}/new", title="My submission", body=f"See #{own.number}.")
    thread = made.headers["location"]
    visitor.sign_in(scene.bob)
    assert f'href="/submissions/{own.id}"' in visitor.see(thread)
    with visitor.services.database.writing() as session:
        session.scalars(
            select(Membership).where(Membership.id == member.id)
        ).one().status = MemberStatus.BANNED
    assert f'href="/submissions/{own.id}"' not in visitor.see(thread)


def test_a_name_with_an_at_sign_is_a_link_to_the_user(site: Site) -> None:
    pia, rob = site.member("pia"), site.member("Rob.Ot")
    body = "Ask @rob.ot. Or @pia, @nobody, pia@pia.org; `@pia` and [@pia](/x)."
    thread = _begin(pia, "Who knows?", body).removeprefix("/api/v1")
    for headers in (rob.headers, {}):
        shown = site.client.get(thread, headers={**headers, "accept": "text/html"}).text
        prose = shown.partition('<div class="prose">')[2].partition("</div>")[0]
        assert re.findall(r'<a href="(/users/[^"]+)"[^>]*>([^<]+)', prose) == [
            ("/users/Rob.Ot", "@rob.ot"),
            ("/users/pia", "@pia"),
        ]
        assert "@nobody" in prose and "pia@pia.org" in prose
