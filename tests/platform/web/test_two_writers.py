"""Two people, or one in two tabs, at each form outside the organizers' pages: the second is told, and loses nothing."""

import html
import re
from inspect import signature

import pytest
from httpx2 import Response

from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.judging.workers.models import Image
from anyshot_platform.people.users.models import User
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.admin.test_two_actors import seen, seen_beside
from tests.platform.core.test_access import ROUTES
from tests.platform.entries.test_entries import ENTRIES, scored, women
from tests.platform.site import SLUG, Person, Site
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene

HERE = f"/competitions/{SLUG}"
API = f"/api/v1{HERE}"


def team_of_two(site: Site) -> tuple[Person, Person]:
    """The captain, and who is in the team with them."""
    ada, bob = site.member("ada"), site.member("bob")
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.team_size = 2
        first, second = (find_membership(session, competition.id, one.id) for one in (ada, bob))
        assert first is not None and second is not None
        second.team_id = first.team_id
    return ada, bob


def shows_both(answer: Response, by: str, theirs: str, mine: str) -> None:
    """The page says who changed what stands, and when, and shows both values."""
    words = " ".join(html.unescape(answer.text).split())
    assert answer.status_code == 409, words
    assert re.search(rf"{by} changed this on \d+ \w{{3}} 20\d\d, [\d:]+ UTC, after you read it\.", words), (
        words
    )
    assert f">{theirs}</pre>" in words and f">{mine}</pre>" in words


def kept(answer: Response) -> dict[str, str]:
    """What the page sends where the second saves again, on top of what stands now."""
    form = answer.text.rpartition("<form")[2]
    found = re.findall(r'name="([^"]*)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found if name != "csrf_token"}


def stale(answer: Response, by: str) -> None:
    assert (answer.status_code, answer.json()["error"]) == (409, "stale"), answer.text
    assert {clash["by"] for clash in answer.json()["fields"]} == {by}


# Teams


def test_two_members_write_a_note(site: Site) -> None:
    ada, bob = team_of_two(site)
    made = ada.submit().json()
    where, api = f"/submissions/{made['id']}", f"/api/v1/submissions/{made['id']}"
    tag = bob.call("GET", api).json()["etag"]
    read = seen(bob, where)
    assert post(ada, f"{where}/note", seen=read, comment="wide", tags="").status_code == 303
    asked = post(bob, f"{where}/note", seen=read, comment="narrow", tags="three")
    shows_both(asked, "ada", "wide", "narrow")
    assert ada.call("GET", api).json()["comment"] == "wide"
    assert post(bob, f"{where}/note", **kept(asked)).status_code == 303
    found = ada.call("GET", api).json()
    assert (found["comment"], found["tags"]) == ("narrow", ["three"])
    stale(ada.call("PATCH", api, json={"comment": "deep"}, headers={"if-match": tag}), "bob")
    tag = bob.call("GET", api).json()["etag"]
    changed = bob.call("PATCH", api, json={"comment": "deep"}, headers={"if-match": tag}).json()
    assert (changed["comment"], changed["tags"]) == ("deep", ["three"])


def test_two_members_choose_what_stands(site: Site) -> None:
    ada, bob = team_of_two(site)
    worker = site.worker()
    first, second = scored(worker, ada, 0.6), scored(worker, ada, 0.2)
    scored(worker, ada, 0.1)
    site.set_phase(team_chooses=True)
    where, form = f"{HERE}/leagues/free/choose", {"phase": "feedback"}
    tag = bob.call("GET", ENTRIES).json()[0]["etag"]
    read = seen_beside(bob, f"{HERE}/leagues", 'name="submission"')
    assert post(ada, where, **form, seen=read, submission=first).status_code == 303
    asked = post(bob, where, **form, seen=read, submission=second)
    shows_both(asked, "ada", "#1", "#2")
    assert bob.call("GET", ENTRIES).json()[0]["number"] == 1
    stale(
        bob.call("PUT", f"{ENTRIES}/free", json={"submission": second}, headers={"if-match": tag}),
        "ada",
    )
    assert post(bob, where, **kept(asked)).status_code == 303
    assert ada.call("GET", ENTRIES).json()[0]["number"] == 2
    shows_both(post(ada, where, **form, seen=read), "bob", "#2", "")  # back to the phase's rule
    tag = bob.call("GET", ENTRIES).json()[0]["etag"]
    chosen = bob.call("PUT", f"{ENTRIES}/free", json={"submission": first}, headers={"if-match": tag})
    assert chosen.json()[0]["chosen"] == "#1"


def test_a_team_has_its_name_from_its_captain_alone_who_has_two_tabs(site: Site) -> None:
    ada, bob = team_of_two(site)
    refused = post(bob, f"{HERE}/team/name", name="Bob's own")
    assert refused.status_code == 403 and "Only the captain" in refused.text
    read = seen(ada, f"{HERE}/team")
    assert post(ada, f"{HERE}/team/name", seen=read, name="First").status_code == 303
    shows_both(post(ada, f"{HERE}/team/name", seen=read, name="Second"), "ada", "First", "Second")
    assert "First" in page(ada, f"{HERE}/team").text
    (entry,) = log(site, "team.rename")
    assert (entry.before, entry.after) == ({"name": "ada"}, {"name": "First"})


def test_one_person_answers_a_league_in_two_tabs(site: Site) -> None:
    women(site)
    ada, where = site.member("ada"), f"{HERE}/leagues/women/answers"
    read = seen_beside(ada, f"{HERE}/leagues", 'name="women_cv"')
    answers = {"women_woman": "yes", "women_cv": "https://a.example"}
    assert post(ada, where, seen=read, **answers).status_code == 303
    asked = post(ada, where, seen=read, women_woman="yes", women_cv="https://b.example")
    shows_both(asked, "ada", "https://a.example", "https://b.example")
    assert post(ada, where, **kept(asked)).status_code == 303
    (women_,) = (row for row in ada.call("GET", f"{API}/leagues").json() if row["league"] == "women")
    assert women_["mine"] == {"woman": True, "cv": "https://b.example"}


# The discussion


def thread_of(one: Person, *answers: tuple[Person, str]) -> tuple[str, list[str]]:
    """A thread with its answers: its page, and the ids of its posts."""
    made = one.call("POST", f"{API}/discussion", json={"title": "Seeds", "body": "One or three?"}).json()
    where = f"{HERE}/discussion/{made['id']}"
    for who, text in answers:
        made = who.call("POST", f"/api/v1{where}/posts", json={"body": text}).json()
    return where, [row["id"] for row in made["posts"]]


def test_one_person_edits_a_post_in_two_tabs(site: Site) -> None:
    ada = site.member("ada")
    where, (mine,) = thread_of(ada)
    edit, api = f"{where}/posts/{mine}/edit", f"/api/v1{where}/posts/{mine}"
    tag = ada.call("GET", f"/api/v1{where}").json()["posts"][0]["etag"]
    read = seen(ada, edit)
    assert post(ada, edit, seen=read, body="Three?").status_code == 303
    shows_both(post(ada, edit, seen=read, body="Five?"), "ada", "Three?", "Five?")
    assert post(ada, edit, seen=seen(ada, edit), body="").status_code == 422
    stale(ada.call("PATCH", api, json={"body": "Five?"}, headers={"if-match": tag}), "ada")
    assert ada.call("GET", f"/api/v1{where}").json()["posts"][0]["body"] == "Three?"


def accepted(one: Person, where: str) -> list[str]:
    posts = one.call("GET", f"/api/v1{where}").json()["posts"]
    return [row["author"] for row in posts if row["accepted"]]


def test_two_people_accept_an_answer(site: Site) -> None:
    """Who asked accepts one, an organizer who had the page open another; and neither takes back what they never saw."""
    ada, bob, olga = site.member("ada"), site.member("bob"), site.owner()
    where, (_, one, two) = thread_of(ada, (bob, "One."), (olga, "Three."))
    first, second = (f"{where}/posts/{key}/accept" for key in (one, two))
    tag = olga.call("GET", f"/api/v1{where}").json()["etag"]
    read = seen_beside(olga, where, 'name="accepted"')
    assert post(ada, first, seen=read, accepted="1").status_code == 303
    asked = post(olga, second, seen=read, accepted="1")
    assert asked.status_code == 409 and "ada changed this" in asked.text
    assert re.search(r"bob, \d+ \w{3} 20\d\d, \d\d:\d\d:\d\d UTC", asked.text)
    assert accepted(ada, where) == ["bob"]
    stale(olga.call("PUT", f"/api/v1{where}/posts/{two}/accepted", headers={"if-match": tag}), "ada")
    assert post(olga, second, **kept(asked)).status_code == 303
    assert accepted(ada, where) == [olga.username]
    ada.call("DELETE", f"/api/v1{where}/posts/{one}/accepted")  # hers, which is none any more
    assert accepted(ada, where) == [olga.username]
    assert len(log(site, "discussion.accept")) == 2


def test_two_organizers_moderate_a_thread(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    where, _ = thread_of(dana)
    read = seen_beside(dana, where, 'name="pinned"')
    assert post(otto, f"{where}/moderate", seen=read, pinned="1").status_code == 303
    shows_both(post(dana, f"{where}/moderate", seen=read, locked="1"), "otto", "True", "False")
    shown = dana.call("GET", f"/api/v1{where}").json()
    assert (shown["pinned"], shown["locked"]) == (True, False)
    assert post(dana, f"{where}/moderate", seen=read, pinned="1").status_code == 303  # both wanted the same
    assert [entry.after for entry in log(site, "discussion.moderate")] == [{"pinned": True}]


def test_two_programs_moderate_a_thread(site: Site) -> None:
    dana, otto, ada = site.owner(), site.member("otto", Role.ORGANIZER), site.member("ada")
    where, _ = thread_of(dana)
    api = f"/api/v1{where}"
    tag = {"if-match": dana.call("GET", api).json()["moderation_etag"]}
    wanted = {"pinned": False, "locked": True}
    assert ada.call("PUT", f"{api}/moderation", json=wanted).status_code == 403
    closed = otto.call("PUT", f"{api}/moderation", json=wanted, headers=tag).json()
    assert (closed["pinned"], closed["locked"]) == (False, True)
    assert ada.call("POST", f"{api}/posts", json={"body": "And five?"}).status_code == 409
    open_again = {"pinned": False, "locked": False}
    stale(dana.call("PUT", f"{api}/moderation", json=open_again, headers=tag), "otto")
    sent = {"pinned": True, "locked": False}
    now_read = {"if-match": closed["moderation_etag"]}
    assert dana.call("PUT", f"{api}/moderation", json=sent, headers=now_read).json()["pinned"]
    assert ada.call("POST", f"{api}/posts", json={"body": "And five?"}).status_code == 201
    assert [entry.after for entry in log(site, "discussion.moderate")] == [
        {"locked": True},
        {"pinned": True, "locked": False},
    ]


# One's own account, in two tabs


def sent_by(visitor: Visitor, path: str) -> dict[str, str]:
    """What a browser would send of the form of that page, as it stands."""
    form = visitor.see(path).partition(f'action="{path}"')[2].partition("</form>")[0]
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        known = {key: html.unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if known.get("type") in ("checkbox", "radio") and " checked" not in tag:
            continue
        found[known["name"]] = known.get("value", "")
    return {name: value for name, value in found.items() if name != "csrf_token"}


def test_one_person_changes_their_profile_in_two_tabs(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    read = sent_by(visitor, "/account")
    visitor.send("/account", "/account", 303, **{**read, "affiliation": "Here"})
    asked = visitor.send("/account", "/account", 409, **{**read, "affiliation": "There", "country": "FR"})
    words = html.unescape(asked.text)
    assert (
        "ada changed this after you read it." in words and ">Here</pre>" in words and ">There</pre>" in words
    )
    visitor.send("/account", "/account", 303, **kept(asked))
    with visitor.services.database.reading() as session:
        user = session.get_one(User, scene.ada.id)
        assert (user.affiliation, user.country) == ("There", "FR")


def test_one_person_chooses_messages_in_two_tabs(visitor: Visitor, scene: Scene) -> None:
    where = "/account/notifications"
    visitor.sign_in(scene.ada)
    read = sent_by(visitor, where)
    without = [
        {key: value for key, value in read.items() if key != gone} for gone in ("email:phase", "page:phase")
    ]
    visitor.send(where, where, 303, **without[0])
    asked = visitor.send(where, where, 409, **without[1])
    assert "ada changed this after you read it." in asked.text and asked.text.count("<h3>Yours</h3>") == 2
    visitor.send(where, where, 303, **kept(asked))
    found = sent_by(visitor, where)
    assert "email:phase" in found and "page:phase" not in found


# Administrators


def test_two_administrators_describe_an_image(site: Site) -> None:
    ann, ben = (site.person(name, is_site_admin=True) for name in ("ann", "ben"))
    where = "/admin/workers"
    read = seen_beside(ben, where, 'id="image-name"')
    assert post(ann, "/admin/images", seen=read, name="torch", description="By Ann").status_code == 303
    known = {"seen": read, "name": "torch", "description": "By Ben"}
    asked = post(ben, "/admin/images", **known)
    shows_both(asked, "ann", "By Ann", "By Ben")
    assert "torch is offered" in flash(post(ben, "/admin/images", **kept(asked)))
    for who in (ann, ben):
        assert post(who, "/admin/images/torch/off").status_code == 303
    with site.services.database.reading() as session:
        image = session.query(Image).one()
        assert (image.description, image.enabled) == ("By Ben", False)
    assert [entry.after for entry in log(site, "image.offer")] == [
        {"description": "By Ann", "enabled": True},
        {"description": "By Ben"},
    ]
    assert [(entry.actor_id, entry.after) for entry in log(site, "image.off")] == [
        (ann.id, {"enabled": False})
    ]


@pytest.mark.parametrize("act", ["block", "unblock", "demote", "stop-organizing"])
def test_what_one_administrator_did_to_an_account_another_does_not_do_again(site: Site, act: str) -> None:
    ann, ben = (site.person(name, is_site_admin=True) for name in ("ann", "ben"))
    other = site.person("other", is_site_admin=act == "demote", may_organize=True)
    if act == "unblock":
        post(ann, f"/admin/users/{other.id}/block", confirm="other")
    for who in (ann, ben):
        assert post(who, f"/admin/users/{other.id}/{act}", confirm="other").status_code == 303
    assert [entry.actor_id for entry in log(site, f"user.{act}")] == [ann.id]


def test_two_administrators_pause_a_worker_once(site: Site) -> None:
    ann, ben = (site.person(name, is_site_admin=True) for name in ("ann", "ben"))
    site.worker().claim()
    (worker_id,) = set(re.findall(r"/admin/workers/(\w+)/pause", page(ann, "/admin/workers").text))
    for act in ("pause", "resume"):
        for who in (ann, ben):
            assert post(who, f"/admin/workers/{worker_id}/{act}").status_code == 303
        assert [entry.actor_id for entry in log(site, f"worker.{act}")] == [ann.id]


# What two people, or one in two tabs, meet at each form outside `/manage`: a test above, or why nothing is lost.
ONCE = "done once: the second finds it done, or is told why not"
ADDS = "adds one"
OWN_NOW = "one's own, and takes effect at once: there is nothing read before that could be old"
NOT_LOGGED_IN = "before anybody is signed in"
FORMS = {
    "/account": "test_one_person_changes_their_profile_in_two_tabs",
    "/account/confirm": OWN_NOW,
    "/account/delete": ONCE,
    "/account/invitations/{slug}/{reply}": ONCE,
    "/account/notifications": "test_one_person_chooses_messages_in_two_tabs",
    "/account/prove": OWN_NOW,
    "/account/second-factor": ONCE,
    "/account/second-factor/codes": "new codes, shown once; the old ones end, as the page says",
    "/account/second-factor/off": ONCE,
    "/account/security/address": "a link to the newer of two addresses alone works, and both are one person's",
    "/account/security/password": "asks for the password that it replaces",
    "/account/security/log-ins/{identity_id}/remove": ONCE,
    "/account/security/sessions/{session_id}/end": ONCE,
    "/account/tokens": ADDS,
    "/account/tokens/{token_id}/revoke": ONCE,
    "/admin/alerts/{alert_id}/{act}": "an act",
    "/admin/images/{name}/{act}": "an act",
    "/admin/images": "test_two_administrators_describe_an_image",
    "/admin/set-aside/{act}": "an act",
    "/admin/set-aside/{kind}/{identity}/{act}": "an act",
    "/admin/users/{user_id}/{act}": (
        "test_what_one_administrator_did_to_an_account_another_does_not_do_again"
    ),
    "/admin/webhooks": ADDS,
    "/admin/webhooks/{webhook_id}/{act}": "an act",
    "/admin/worker-requests/{code}/{act}": "an act",
    "/admin/workers/tokens": ADDS,
    "/admin/workers/tokens/{token_id}/{act}": "an act",
    "/admin/workers/{worker_id}/{act}": "test_two_administrators_pause_a_worker_once",
    "/competitions/{slug}/discussion/new": ADDS,
    "/competitions/{slug}/discussion/preview": "nothing is written",
    "/competitions/{slug}/discussion/{thread_id}/moderate": "test_two_organizers_moderate_a_thread",
    "/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/accept": "test_two_people_accept_an_answer",
    "/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/edit": (
        "test_one_person_edits_a_post_in_two_tabs"
    ),
    "/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/remove": ONCE,
    "/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/restore": ONCE,
    "/competitions/{slug}/discussion/{thread_id}/reply": ADDS,
    "/competitions/{slug}/fact-sheet": (
        "entries/test_fact_sheets.py: test_two_members_of_a_team_fill_in_one_fact_sheet"
    ),
    "/competitions/{slug}/join": ONCE,
    "/competitions/{slug}/leagues/{league_slug}/answers": "test_one_person_answers_a_league_in_two_tabs",
    "/competitions/{slug}/leagues/{league_slug}/choose": "test_two_members_choose_what_stands",
    "/competitions/{slug}/leagues/withdraw": ONCE,
    "/competitions/{slug}/mute": OWN_NOW,
    "/competitions/{slug}/phases/{phase_slug}/submit": ADDS,
    "/competitions/{slug}/team/invitations/{invitation_id}/{act}": ONCE,
    "/competitions/{slug}/team/invite": ONCE,
    "/competitions/{slug}/team/leave": ONCE,
    "/competitions/{slug}/team/name": "test_a_team_has_its_name_from_its_captain_alone_who_has_two_tabs",
    "/confirm/{secret}": ONCE,
    "/login": NOT_LOGGED_IN,
    "/login/code": NOT_LOGGED_IN,
    "/logout": OWN_NOW,
    "/notifications/read": OWN_NOW,
    "/notifications/seen": OWN_NOW,
    "/notifications/{notification_id}/open": OWN_NOW,
    "/organize/import": ADDS,
    "/organize/new": ADDS,
    "/organize/pools": ADDS,
    "/organize/pools/{slug}/packs": "makes a version beside the one before",
    "/organize/pools/{slug}/{act}": "an act",
    "/reset": NOT_LOGGED_IN,
    "/reset/{secret}": NOT_LOGGED_IN,
    "/sign-up": NOT_LOGGED_IN,
    "/submissions/{submission_id}/cancel": ONCE,
    "/submissions/{submission_id}/note": "test_two_members_write_a_note",
    "/submissions/{submission_id}/restore": ONCE,
    "/submissions/{submission_id}/withdraw": ONCE,
    "/unsubscribe/{user_id}/{signature}": ONCE,
}
# The same of JSON: what replaces something and takes no `If-Match`.
REPLACING = {
    "/api/v1/bundles": ADDS,
    "/api/v1/competitions/{slug}/leagues/{league_slug}/answers": "one's own, each answer named",
    "/api/v1/competitions/{slug}/mute": OWN_NOW,
    "/api/v1/me": "one's own; only what is named changes",
    "/api/v1/notifications/delivery": OWN_NOW,
    "/api/v1/pools/{pool_slug}/packs": ADDS,
    "/api/v1/uploads/{upload_id}": "a part of an upload, at its place",
    "/api/worker/v1/runs/{run_id}/artifacts/{name}": "of the worker that holds the run",
}


def test_every_form_says_what_two_people_meet_there() -> None:
    """A new form has its two actors, or says why it needs none; a new PUT or PATCH takes `If-Match`."""
    outside = [route for route in ROUTES if "/manage" not in route.path]
    pages = {
        route.path for route in outside if "POST" in (route.methods or ()) and not route.include_in_schema
    }
    assert pages == FORMS.keys()
    named = {what for what in FORMS.values() if what.startswith("test_")}
    assert len(named) > 10 and named <= globals().keys()
    replacing = {
        route.path: "if_match" in signature(route.endpoint).parameters
        for route in outside
        if {"PUT", "PATCH"} & (route.methods or set())
    }
    assert {path for path, tagged in replacing.items() if not tagged} == REPLACING.keys()
