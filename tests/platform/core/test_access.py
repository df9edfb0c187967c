"""Deny by default: every route, for every role."""

import hashlib
import re
import tomllib
from importlib import import_module
from inspect import getsource
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

import anyshot_platform
from anyshot_platform.actions.declaration import Act
from anyshot_platform.app import feature_routers
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.site.shell.act_routes import acts_of
from anyshot_platform.site.web.access import policies_of, public, refuse_open_routes
from anyshot_starting_kit.cli.organize import organize
from tests.platform.site import Person, Site

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
# Routes that anyone may call, by policy; a new one has to be added here, and so be thought about.
PUBLIC_WRITES = {
    ("POST", "/api/v1/worker-requests"),  # a machine that asks to join: an administrator says yes
    ("POST", "/api/v1/worker-requests/token"),
    (
        "POST",
        "/competitions/{slug}/manage/look/end",
    ),  # takes a cookie away: one who looks as a visitor is nobody
    ("POST", "/api/v1/users"),
    ("POST", "/api/v1/tokens/log-in"),
    ("POST", "/login"),
    ("POST", "/login/code"),
    ("POST", "/sign-up"),
    ("POST", "/language"),  # a cookie, and what the account of who is signed in reads
    ("POST", "/unsubscribe/{user_id}/{signature}"),  # signed for one account, in its own e-mails
}


def all_routes() -> list[APIRoute]:
    """Every route of the application, with its full path."""
    return [route for router in feature_routers() for route in router.routes if isinstance(route, APIRoute)]


ROUTES = all_routes()
TABLE: dict[str, frozenset[str]] = {
    route: frozenset(policies.split("+"))
    for policies, section in tomllib.loads((Path(__file__).parent / "access.toml").read_text()).items()
    for route in section["routes"]
}


def row_of(route: str) -> str:
    """The row of the table that speaks of a route: its own, else the one for all acts on its object."""
    return route if route in TABLE else route.rpartition("/")[0] + "/*"


def test_every_route_has_the_door_that_the_table_says() -> None:
    found = {
        f"{method} {route.path}": frozenset(policies_of(route))
        for route in ROUTES
        for method in route.methods or ()
    }
    assert found == {route: TABLE.get(row_of(route)) for route in found}
    assert {row_of(route) for route in found} == TABLE.keys()


def test_a_row_for_all_acts_speaks_of_acts_alone() -> None:
    declared = {
        f"POST {route.path}"
        for route in ROUTES
        if getattr(route.endpoint, "act", None) and "/acts/" in route.path
    }
    assert {f"POST /api/v1/competitions/{{slug}}/manage{path}" for path, _ in acts_of(ROUTES)} <= declared
    assert {row for row in TABLE if row.endswith("*")} <= {
        f"{route.rpartition('/')[0]}/*" for route in declared
    }


def fill(path: str, values: dict[str, str]) -> str:
    """The path with its parameters filled in; unknown ones get a value that exists nowhere."""
    return re.sub(r"{(\w+)(?::\w+)?}", lambda match: values.get(match[1], "0" * 32), path)


def call(site: Site, person: Person | None, method: str, path: str) -> int:
    options: dict[str, Any] = {"json": {}} if method in UNSAFE else {}
    headers = {"accept": "application/json"}
    if person is None:
        return site.client.request(
            method, path, headers=headers, follow_redirects=False, **options
        ).status_code
    return person.call(method, path, headers=headers, follow_redirects=False, **options).status_code


def test_a_route_without_a_policy_is_refused() -> None:
    router = APIRouter()

    @router.get("/open")
    def forgotten() -> None: ...

    with pytest.raises(RuntimeError, match="/open"):
        refuse_open_routes(router.routes)

    closed = APIRouter()

    @closed.get("/public", dependencies=[Depends(public)])
    def thought_about() -> None: ...

    refuse_open_routes(closed.routes)


# Acts whose object is not in the path of a competition (somebody who is no member yet), or that need more than
# a session: a file to send, the site's storage. Each has a call and a command of its own.
ACTS_ELSEWHERE = {
    "member.add": ("POST ~/people", "do"),
    "competition.take_secrets": ("POST ~/bundle-with-seeds", "file"),
    "competition.rehearse": ("POST ~/rehearsals", "rehearse"),
}
# Acts that stand on a page in another form than a button of their own, and a sign of that form in its template.
ON_PAGES = {
    "worker.token": ("../admin/workers", 'action="/admin/workers/tokens"'),
    "code.hide": ("final", '("hide", "Hide it")'),
    "code.show": ("final", '("show", "Show it again")'),
    "competition.rehearse": ("rehearsals", 'action="{{ base }}/rehearsals"'),
    "competition.take_secrets": ("exports", "/bundle-with-seeds"),
    "entry.admit": ("leagues", 'action="{{ base }}/leagues/decide"'),
    "entry.refuse": ("leagues", 'action="{{ base }}/leagues/decide"'),
    "team.admit": ("leagues", 'action="{{ base }}/leagues/teams/decide"'),
    "team.refuse": ("leagues", 'action="{{ base }}/leagues/teams/decide"'),
    "phase.add_evaluation": ("phase", "described.fields(card"),  # the setting “Further evaluations”
    "phase.remove_evaluation": ("phase", "described.fields(card"),
    "pool.version": ("pool", "Check and create a version"),
    **dict.fromkeys(
        (f"submission.{name}" for name in ("charge", "disqualify", "qualify", "refund", "rerun")),
        ("submissions", '<select id="act" name="act">'),
    ),
    "winner.check": ("final", "/winners/{{ row.username }}"),
}


def declared_acts() -> dict[str, Act[Any, Any]]:
    """Every act that the platform declares, by key."""
    modules = [
        import_module(found.name)
        for found in walk_packages(anyshot_platform.__path__, "anyshot_platform.")
        if ".actions." in found.name or ".running." in found.name
    ]
    values = [value for module in modules for value in vars(module).values()]
    tables = [value for value in values if isinstance(value, dict)]
    acts = [value for table in [values, *(table.values() for table in tables)] for value in table]
    return {act.key: act for act in acts if isinstance(act, Act)}


def test_every_declared_act_has_its_address_and_the_command_that_reads_it() -> None:
    """Both lists of acts are what `anyshot organize do` and `anyshot administer do` take; else it has a command."""
    of_administrators = acts_of(ROUTES, "/api/v1/admin")
    assert len(of_administrators) > 10 and len(declared_acts()) > 90
    listed = {act.key for _, act in [*acts_of(ROUTES), *of_administrators]}
    assert declared_acts().keys() - ACTS_ELSEWHERE.keys() == listed
    calls = {f"{method} {route.path}" for route in ROUTES for method in route.methods or ()}
    for key, (call, command) in ACTS_ELSEWHERE.items():
        assert call.replace("~", "/api/v1/competitions/{slug}/manage") in calls, key
        assert command in organize.commands, key


def test_every_declared_act_is_on_a_page() -> None:
    templates = Path(anyshot_platform.__file__).parent / "templates"
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(templates.rglob("*.html")))
    for key, act in declared_acts().items():
        if key in ON_PAGES:
            page, sign = ON_PAGES[key]
            assert sign in (templates / "manage" / f"{page}.html").read_text(encoding="utf-8"), key
        else:
            assert act.button or re.search(rf"/{act.name}[\"'?]", text), f"{key} is on no page"


# What organizers and administrators write without an act that is declared, and why that is right.
EDIT = "writes fields: merged with what others wrote meanwhile, and the log has those that changed"
ADDS = "adds one beside the others; what takes it away again is an act"
OWN = "makes a competition of one's own, as a draft that nobody sees"
DECIDES = "decides on many: each is asked what stands in the way, and both values are shown where two decide"
MANY = "an act on each of many, as it is declared: previewed, and what it cannot be done to is left out with the reason"
ELSEWHERE = "calls the declared act one function further on"
FILE = "puts a file in the place of the one before, whose digest the log keeps"
NO_ACTS = {
    **dict.fromkeys(
        (
            "PATCH ~/announcements/{announcement_id}",
            "POST ~/announcements/{announcement_id}",
            "POST /competitions/{slug}/discussion/{thread_id}/moderate",
            "PUT /competitions/{slug}/discussion/{thread_id}/moderation",
            "POST ~/baselines/gates",
            "PUT ~/gates/{phase_slug}/{league_slug}",
            "POST ~/leagues",
            "PATCH ~/leagues/{league_slug}",
            "PUT ~/leagues/{league_slug}",
            "POST ~/pages",
            "PATCH ~/pages/{page_id}",
            "PUT ~/pages/{page_id}",
            "PUT ~/people/{membership_id}/notes",
            "PUT ~/people/{membership_id}/quota",
            "POST ~/phases/{phase_slug}",
            "PATCH ~/phases/{phase_slug}",
            "PUT ~/phases/{phase_slug}",
            "POST ~/settings",
            "PATCH ~/settings",
            "PUT ~/settings",
        ),
        EDIT,
    ),
    **dict.fromkeys(
        (
            "POST /admin/webhooks",
            "POST ~/baselines",
            "POST ~/phases",
            "POST ~/phases/new",
            "POST ~/reports",
            "POST ~/webhooks",
            "POST /organize/pools",
            "POST /pools",
        ),
        ADDS,
    ),
    **dict.fromkeys(
        (
            "POST /competitions",
            "POST /organize/import",
            "POST /organize/new",
            "POST /ready-made/{name}",
            "POST ~/clone",
            "PUT /bundles",
        ),
        OWN,
    ),
    **dict.fromkeys(
        (
            "POST ~/leagues/decide",
            "POST ~/leagues/entries/decide",
            "POST ~/leagues/teams/decide",
            "POST ~/entries",
            "POST ~/entries/acts",
        ),
        DECIDES,
    ),
    **dict.fromkeys(
        (
            "POST ~/people/acts",
            "POST ~/submissions/acts",
        ),
        MANY,
    ),
    **dict.fromkeys(
        (
            "POST ~/delete",
            "POST ~/restore",
            "POST ~/state",
        ),
        ELSEWHERE,
    ),
    **dict.fromkeys(
        (
            "POST ~/files",
            "PUT ~/files/{name}",
            "PUT ~/logo",
        ),
        FILE,
    ),
    "POST /competitions/{slug}/discussion/{thread_id}/posts/{post_id}/restore": "shows a post again",
    "POST ~/phases/{phase_slug}/versions": "drafts a version beside the live one; making it live is an act",
    "POST ~/look": "writes nothing",
    "POST ~/pages/preview": "writes nothing",
}


def test_what_is_written_without_a_declared_act_says_why() -> None:
    """Whoever adds a form or a call of organizers or administrators declares an act, or says here why not."""
    doors = {
        "competition_organizer",
        "competition_owner",
        "competition_reviewer",
        "may_organize",
        "site_admin",
    }
    found = {
        f"{method} {route.path}".replace("/api/v1", "").replace("/competitions/{slug}/manage", "~")
        for route in ROUTES
        for method in (route.methods or set()) & UNSAFE
        if TABLE[row_of(f"{method} {route.path}")] & doors
        and not hasattr(route.endpoint, "act")
        and not re.search(r"\b(perform|perform_named|carry_out)\(", getsource(route.endpoint))
    }
    assert found == NO_ACTS.keys()


_MANAGE = "/api/v1/competitions/{}/manage"
_POST = "/api/v1/competitions/{}/discussion/{}/posts/{}"
# The calls of forms whose address is not theirs with `/api/v1` before it, or why there is none.
CALLS = {
    "/admin/images": "POST /api/v1/admin/images/{}/acts/offer",
    "/admin/workers/tokens": "POST /api/v1/admin/worker-tokens/acts/token",
    "/admin/workers/tokens/{}/{}": "POST /api/v1/admin/worker-tokens/{}/acts/revoke",
    "/competitions/{}/discussion/new": "POST /api/v1/competitions/{}/discussion",
    "/competitions/{}/discussion/preview": "changes nothing",
    "/competitions/{}/discussion/{}/moderate": "PUT /api/v1/competitions/{}/discussion/{}/moderation",
    "/competitions/{}/discussion/{}/posts/{}/accept": f"PUT {_POST}/accepted",
    "/competitions/{}/discussion/{}/posts/{}/edit": f"PATCH {_POST}",
    "/competitions/{}/discussion/{}/posts/{}/remove": f"DELETE {_POST}",
    "/competitions/{}/discussion/{}/reply": "POST /api/v1/competitions/{}/discussion/{}/posts",
    "/competitions/{}/manage/baselines/gates": f"PUT {_MANAGE}/gates/{{}}/{{}}",
    "/competitions/{}/manage/delete": f"POST {_MANAGE}/acts/delete",
    "/competitions/{}/manage/entries": f"POST {_MANAGE}/entries/acts",
    "/competitions/{}/manage/files": f"PUT {_MANAGE}/files/{{}}",
    "/competitions/{}/manage/files/{}/remove": f"POST {_MANAGE}/files/{{}}/acts/remove",
    "/competitions/{}/manage/final/{}/winners/{}": f"POST {_MANAGE}/phases/{{}}/final/winners/{{}}/acts/check",
    "/competitions/{}/manage/final/{}/{}": f"POST {_MANAGE}/phases/{{}}/final/acts/publish",
    "/competitions/{}/manage/leagues/decide": f"POST {_MANAGE}/leagues/entries/decide",
    "/competitions/{}/manage/look": "shows the pages as others see them, in one browser",
    "/competitions/{}/manage/look/end": "shows the pages as others see them, in one browser",
    "/competitions/{}/manage/pages/preview": "changes nothing",
    "/competitions/{}/manage/people/add": f"POST {_MANAGE}/people",
    "/competitions/{}/manage/phases/new": f"POST {_MANAGE}/phases",
    "/competitions/{}/manage/phases/{}/restore/deleted": f"POST {_MANAGE}/phases/{{}}/acts/restore",
    "/competitions/{}/manage/restore": f"POST {_MANAGE}/acts/restore",
    "/competitions/{}/manage/state": f"POST {_MANAGE}/acts/publish",
    "/organize/import": "PUT /api/v1/bundles",
    "/organize/new": "POST /api/v1/competitions",
    "/organize/pools": "POST /api/v1/pools",
    "/organize/pools/{}/packs": "PUT /api/v1/pools/{}/packs",
    "/organize/pools/{}/{}": "POST /api/v1/pools/{}/acts/publish",
}


def test_every_form_of_the_organizers_has_its_call() -> None:
    """Their guide says that every act of their pages is in the JSON API too; so is every one of administrators."""
    calls, forms = set[str](), set[str]()
    for route in ROUTES:
        path = re.sub(r"{[^}]+}", "{}", route.path)
        if path.startswith("/api/v1/"):
            assert route.include_in_schema, path
            calls |= {f"{method} {path}" for method in (route.methods or set()) & UNSAFE}
        elif "POST" in (route.methods or set()) and re.match(
            r"/(organize|admin)\b|/competitions/{}/(manage|discussion)\b", path
        ):
            forms.add(path)
    assert len(forms) > 40 and CALLS.keys() <= forms
    beside = {path: call for path, call in CALLS.items() if call.split(" ")[0] in UNSAFE}
    assert set(beside.values()) <= calls, set(beside.values()) - calls

    def has_call(form: str) -> bool:
        acts = form.removesuffix("/{}").removesuffix("/acts") + "/acts/"  # an act in the path of the form
        own = {f"{method} /api/v1{form}" for method in UNSAFE}
        return bool(own & calls) or any(call.startswith(f"POST /api/v1{acts}") for call in calls)

    assert {form for form in forms if not has_call(form)} <= CALLS.keys()
    assert {form for form in CALLS if has_call(form)} == set(), "these have one at their own address"


def test_what_the_public_may_change_is_listed() -> None:
    reset = re.compile(r"^/(reset|password|forgot|oauth|log-in|confirm)")
    found = {
        (method, route.path)
        for route in ROUTES
        for method in (route.methods or set()) & UNSAFE
        if policies_of(route) == ["public"] and not reset.match(route.path)
    }
    assert found <= PUBLIC_WRITES


def test_no_get_route_takes_a_body() -> None:
    """State never changes by GET: a GET session cannot take SQLite's write lock, and no GET reads a body."""
    assert [route.path for route in ROUTES if "GET" in (route.methods or ()) and route.body_field] == []


@pytest.fixture
def people(site: Site) -> dict[str, Person | None]:
    """One person for each standing."""
    people: dict[str, Person | None] = {
        "nobody": None,
        "stranger": site.person("stranger"),
        "participant": site.member("petra"),
        "other": site.member("otto"),
        "reviewer": site.member("rita", Role.REVIEWER),
        "organizer": site.member("oscar", Role.ORGANIZER),
        "owner": site.owner(),
        "reading": site.person("reader", scopes=(Scope.READ,)),
    }
    banned = site.member("bea")
    with site.services.database.writing() as session:
        row = session.query(Membership).filter_by(user_id=banned.id).one()
        row.status = MemberStatus.BANNED
    people["banned"] = banned
    return people


def member_of(site: Site, user_id: str) -> str:
    """The id of a user's membership."""
    with site.services.database.reading() as session:
        return session.query(Membership).filter_by(user_id=user_id).one().id


@pytest.mark.slow("two thousand requests: who gets in where is asked at each landing", each_time=True)
def test_every_route_for_every_role(site: Site, people: dict[str, Person | None]) -> None:
    """Walk all routes with the ids of somebody else's objects: no role gets in where its policy does not let it."""
    petra = people["participant"]
    assert petra is not None
    shown = petra.submit().json()
    run_id = shown["runs"][0]["id"]
    values = {
        "slug": "small",
        "phase_slug": "feedback",
        "submission_id": shown["id"],
        "run_id": run_id,
        "name": "log.txt",
        "league_slug": "free",
        "pool_slug": "small-pool",
        "number": "1",
        "membership_id": member_of(site, petra.id),
        "act": "close",
    }
    wrong, fives = [], []
    for route in ROUTES:
        if "{path" in route.path or "/stream" in route.path:
            continue
        for method in sorted(route.methods or ()):
            path, policies = fill(route.path, values), set(TABLE[row_of(f"{method} {route.path}")])
            for standing, person in people.items():
                if _lets_in(policies, standing, method):
                    continue
                status = call(site, person, method, path)
                if status >= 500:
                    fives.append((method, route.path, standing, status))
                elif status not in (401, 403, 404, 405):
                    wrong.append((method, route.path, standing, status, sorted(policies)))
    assert fives == []
    assert wrong == []


def test_objects_of_others(site: Site, people: dict[str, Person | None]) -> None:
    """The owner of another competition gets through its doors, and finds nothing of this one behind them."""
    owner, petra, bob = site.owner(), people["participant"], site.person("bob")
    assert petra is not None
    begun = {"title": "Bobs", "slug": "bobs"}
    assert bob.call("POST", "/organize/new", data=begun, follow_redirects=False).status_code == 303
    submission = petra.submit().json()
    with site.services.database.reading() as session:
        team = session.get_one(Submission, submission["id"]).team_id
    api, mine = "/api/v1/competitions/small", "/api/v1/competitions/bobs"
    hook = owner.call("POST", f"{api}/manage/webhooks", json={"url": "https://example.org/x"}).json()["id"]
    news = owner.call(
        "POST", f"{api}/manage/announcements/acts/add", json={"title": "t", "body": "b"}
    ).json()["id"]
    page = owner.call("POST", f"{api}/manage/pages", json={"title": "Rules", "body": "b"}).json()["id"]
    member, token = member_of(site, petra.id), petra.call("GET", "/api/v1/tokens").json()[0]["id"]
    run = submission["runs"][0]["id"]
    tried: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", f"{mine}/manage/webhooks/{hook}/acts/renew", {}),
        ("POST", f"{mine}/manage/webhooks/{hook}/acts/remove", {}),
        ("POST", f"{mine}/manage/announcements/{news}/acts/delete", {}),
        ("POST", f"{mine}/manage/pages/{page}/acts/delete", {}),
        ("POST", f"{mine}/manage/people/{member}/acts/ban", {"reason": "x"}),
        ("POST", f"{mine}/manage/people/{member}/acts/role", {"role": "owner"}),
        ("PUT", f"{mine}/manage/people/{member}/quota", {"day": 9}),
        ("PUT", f"{mine}/manage/people/{member}/notes", {"notes": "x"}),
        ("POST", f"{mine}/manage/code/{team}/acts/hide", {}),
        ("GET", f"{mine}/manage/phases/feedback", {}),
        ("POST", f"{mine}/manage/phases/feedback/acts/close", {}),
        ("POST", "/api/v1/pools/small-pool/acts/publish", {"confirm": "small-pool"}),
        ("POST", "/api/v1/pools/small-pool/acts/combine", {}),
        ("GET", "/api/v1/pools/small-pool", {}),
        ("DELETE", f"/api/v1/tokens/{token}", {}),
        ("GET", f"/api/v1/submissions/{submission['id']}", {}),
        ("GET", f"/api/v1/submissions/{submission['id']}/archive", {}),
        ("POST", f"/api/v1/submissions/{submission['id']}/cancel", {}),
        ("GET", f"/api/v1/submissions/{submission['id']}/runs/{run}/artifacts/log.txt", {}),
    ]
    for method, path, body in tried:
        options: dict[str, Any] = {"json": body} if method in UNSAFE else {}
        answered = bob.call(method, path, headers={"accept": "application/json"}, **options)
        assert answered.status_code == 404, (method, path, answered.status_code, answered.text[:200])
    acted = bob.call(
        "POST", f"{mine}/manage/submissions/acts", json={"act": "cancel", "ids": [submission["id"]]}
    )
    assert acted.status_code in (404, 422) or acted.json()["done"] == []
    kept = petra.call("GET", f"/api/v1/submissions/{submission['id']}").json()
    assert [one["state"] for one in kept["runs"]] == [one["state"] for one in submission["runs"]]


def test_a_thread_of_another_competition_is_not_there(site: Site) -> None:
    petra, bob = site.member("petra"), site.person("bob")
    begun = {"title": "Bobs", "slug": "bobs"}
    assert bob.call("POST", "/organize/new", data=begun, follow_redirects=False).status_code == 303
    asked = {"title": "How many seeds?", "body": "One, or three?"}
    here, there = "/competitions/small/discussion", "/competitions/bobs/discussion"
    made = petra.call("POST", f"{here}/new", data=asked, follow_redirects=False)
    thread = made.headers["location"].rpartition("/")[2]
    assert petra.call("GET", f"{here}/{thread}").status_code == 200
    assert bob.call("GET", f"{there}/{thread}").status_code == 404
    assert bob.call("POST", f"{there}/{thread}/moderate", data={"locked": "1"}).status_code == 404


def test_a_file_of_anothers_run_is_not_among_ones_own(site: Site) -> None:
    """The door is one's own submission; the run behind it is somebody else's."""
    worker, runs = site.worker(), {}
    people = {name: site.member(name) for name in ("petra", "otto")}
    for name, person in people.items():
        submission = person.submit().json()["id"]
        job, log = worker.claim(), f"secret of {name}".encode()
        assert job is not None and worker.put(job, "log.txt", log).status_code == 204
        kept = {"name": "log.txt", "digest": hashlib.sha256(log).hexdigest(), "size": len(log)}
        assert worker.complete(job, 0.5, artifacts=[kept]).status_code == 204
        runs[name] = (submission, job["run_id"])
    mine, (_, other) = runs["petra"], runs["otto"]
    path = f"/api/v1/submissions/{mine[0]}/runs"
    own = people["petra"].call("GET", f"{path}/{mine[1]}/artifacts/log.txt")
    assert (own.status_code, own.text) == (200, "secret of petra")
    assert people["petra"].call("GET", f"{path}/{other}/artifacts/log.txt").status_code == 404


def test_only_who_is_invited_takes_the_seat_in_a_team(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).team_size = 3
    ada, vera, bob = (site.member(name) for name in ("ada", "vera", "bob"))
    team = "/competitions/small/team"
    assert ada.call("POST", f"{team}/invite", data={"username": "vera"}).status_code == 200
    (way,) = re.findall(r"/team/invitations/(\w+)/accept", vera.call("GET", team).text)
    assert bob.call("POST", f"{team}/invitations/{way}/accept").status_code == 404
    assert vera.call("POST", f"{team}/invitations/{way}/accept").status_code == 200
    assert bob.call("POST", f"{team}/invitations/{way}/accept").status_code == 404


def test_workers_end_no_runs_of_others(site: Site) -> None:
    site.member("petra").submit()
    holder, thief = site.worker("one"), site.worker("two")
    job = holder.claim()
    assert job is not None
    for answer in (
        thief.beat(job),
        thief.release(job),
        thief.tell(job),
        thief.put(job, "log.txt", b"mine"),
        thief.fail(job, "RUNTIME_ERROR"),
        thief.complete(job, 1.0),
    ):
        assert (answer.status_code, answer.json()["error"]) == (409, "stale_epoch"), answer.url
    assert holder.complete(job, 0.5).status_code == 204
    assert thief.complete(job, 0.9).status_code == 409, "the run has ended, but not by this worker"
    assert [row["score"] for row in site.board()["rows"]] == [0.5]


def test_who_is_banned_changes_nothing_of_their_own(site: Site) -> None:
    petra = site.member("petra")
    shown = petra.submit().json()["id"]
    with site.services.database.writing() as session:
        session.query(Membership).filter_by(user_id=petra.id).one().status = MemberStatus.BANNED
    for act_name in ("cancel", "withdraw", "restore"):
        refused = petra.call("POST", f"/api/v1/submissions/{shown}/{act_name}")
        assert (refused.status_code, "banned" in refused.text) == (403, True), act_name
    assert petra.submit().status_code == 403


def _lets_in(policies: set[str], standing: str, method: str) -> bool:
    """Whether a policy lets a standing in, written down independently of the code that decides it."""
    if policies & {"public", "visible_competition"}:
        # These let others in by design; what they show is tested by feature.
        rest = policies - {"public", "visible_competition"}
        if not rest:
            return True
        policies = rest
    if "metrics" in policies:
        return False
    members = {"participant", "other", "reviewer", "organizer", "owner"}
    let_in = {
        "worker": set(),
        "site_admin": set(),
        "browser_session": set(),  # tokens never
        "signed_in": members | {"stranger", "banned"} | ({"reading"} if method == "GET" else set()),
        "may_organize": members | {"stranger", "banned"},
        "competition_participant": members,
        "competition_reviewer": {"reviewer", "organizer", "owner"},
        "competition_organizer": {"organizer", "owner"},
        "competition_owner": {"owner"},
        "submission_reader": {"participant", "reviewer", "organizer", "owner"},
        "submission_owner": {"participant", "organizer", "owner"},
    }
    return all(standing in let_in.get(name, members | {"stranger", "banned", "reading"}) for name in policies)


def test_a_draft_is_known_to_its_organizers_only(site: Site, people: dict[str, Person | None]) -> None:
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    seen = {
        standing: call(site, person, "GET", "/api/v1/competitions/small")
        for standing, person in people.items()
    }
    insiders = {"reviewer", "organizer", "owner"}
    assert seen == {standing: 200 if standing in insiders else 404 for standing in people}


def test_others_submissions_do_not_exist(site: Site, people: dict[str, Person | None]) -> None:
    petra, other = people["participant"], people["other"]
    assert petra is not None and other is not None
    shown = petra.submit().json()
    path = f"/api/v1/submissions/{shown['id']}"
    for suffix in ("", "/log", "/archive", "/stream"):
        assert other.call("GET", path + suffix).status_code == 404
    assert other.call("POST", f"{path}/cancel").status_code == 404
    listed = other.call("GET", "/api/v1/competitions/small/submissions", params={"everyone": True}).json()
    assert listed["items"] == []
    upload_id = petra.upload(b"bytes")
    assert other.call("GET", f"/api/v1/uploads/{upload_id}").status_code == 404
    assert other.call("PUT", f"/api/v1/uploads/{upload_id}?offset=5", content=b"x").status_code == 404


def test_a_token_does_what_its_scopes_say(site: Site) -> None:
    reader = site.person("reader", scopes=(Scope.READ,))
    assert reader.call("GET", "/api/v1/me").status_code == 200
    assert reader.call("PATCH", "/api/v1/me", json={"about": "x"}).status_code == 403
    assert reader.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": 3}).status_code == 403
    everything = site.person("every")
    made = everything.call("POST", "/api/v1/tokens", json={"name": "more", "scopes": ["read"]})
    assert made.status_code == 403  # a token cannot make tokens
    mine = everything.call("GET", "/api/v1/tokens").json()[0]
    assert everything.call("DELETE", f"/api/v1/tokens/{mine['id']}").status_code == 204
    assert everything.call("GET", "/api/v1/me").status_code == 401
