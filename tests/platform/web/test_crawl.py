"""Every address that a page shows is there: a walk through the site as each kind of viewer."""

import gzip
import html
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from httpx2 import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack, PoolPack
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.artifacts.service import store_bytes
from anyshot_platform.foundation.storage import FolderStorage
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.users.models import User
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.discussion.models import Post, Thread
from anyshot_platform.site.web.rendering import TEMPLATE_FOLDER
from tests.core.tinydata import write_pack
from tests.platform.admin.zips import zipped
from tests.platform.core.test_access import ROUTES
from tests.platform.web.conftest import Visitor
from tests.platform.web.crawling import Addresses, Forms, walk
from tests.platform.web.scene import PASSWORD, Scene, add_artifact

LOGGED = zipped({"meta_train.csv": "iteration,loss\n1,2.5\n2,2.0\n"})
LOGO = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def crawl(
    visitor: Visitor,
    *starts: str,
    skipping: str | tuple[str, ...],
    look: Callable[[Response], None] = lambda _: None,
    opened: set[str] | None = None,
) -> dict[str, str]:
    """Addresses that answer a visitor of the scene with an error, and the page that shows them."""

    def get(address: str) -> Response:
        return visitor.client.get(address, headers={"accept": "text/html"}, follow_redirects=True)

    def goes_to(path: str) -> bool:
        return not path.startswith(skipping)

    return walk(get, str(visitor.client.base_url), *starts, goes_to=goes_to, look=look, opened=opened)


@pytest.fixture
def dressed(visitor: Visitor, scene: Scene, tmp_path: Path) -> Visitor:
    """The scene with a logo, people of each role, a public dataset, and all that a phase may show of a run."""
    with visitor.services.database.writing() as session:
        competition = session.get_one(Competition, scene.competition.id)
        competition.logo_digest = store_bytes(session, visitor.services.storage, LOGO)
        competition.logo_media_type = "image/svg+xml"
        for name, role, status in (
            ("rita", Role.REVIEWER, MemberStatus.APPROVED),
            ("oscar", Role.ORGANIZER, MemberStatus.APPROVED),
            ("penny", Role.PARTICIPANT, MemberStatus.PENDING),
        ):
            user = create_user(session, username=name, email=f"{name}@example.org", password=PASSWORD)
            session.add(Membership(competition_id=competition.id, user_id=user.id, role=role, status=status))
        session.get_one(Phase, scene.phase.id).show_confusion = True
        run = session.scalars(select(Run).where(Run.submission_id == scene.submissions["finished"].id)).one()
        add_artifact(
            session, run, "logger.zip", store_bytes(session, visitor.services.storage, LOGGED), len(LOGGED)
        )
        _publish_dataset(session, scene)
        assert isinstance(visitor.services.storage, FolderStorage)
        # The scene's rows stand for files.
        pack = write_pack(tmp_path / "pack", "tiny").read_bytes()
        files = dict.fromkeys(session.scalars(select(Submission.digest)), b"a zip")
        for digest, content in {**files, **dict.fromkeys(session.scalars(select(Pack.digest)), pack)}.items():
            path = visitor.services.storage.path(digest)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return visitor


def _publish_dataset(session: Session, scene: Scene) -> None:
    """The pool of the smoke test is public: give it a dataset of its own."""
    session.add(Blob(digest="fe" * 32, size=1000))
    session.flush()
    pack = Pack(name="Open", digest="fe" * 32, size=1000, images=60, classes=5, domain="Plants")
    session.add(pack)
    session.flush()
    public = session.get_one(Phase, scene.phase.id).smoke_pool_version_id
    session.add(PoolPack(pool_version_id=public, position=0, pack_id=pack.id))


class Scales:
    """What pages weigh for a browser that was never here: all that they load at once, as it is sent."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.pages: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._imported: dict[str, set[str]] = {}

    def weigh(self, page: Response) -> None:
        """Note a page with its styles, scripts, icons, fonts and pictures; of charts the library too."""
        text = re.sub(r'<img loading="lazy"[^>]*>', "", page.text)
        loaded = re.findall(r'(?:src|data-library|data-style)="\s*(/[^"]+)"', text)
        loaded += re.findall(r'<link rel="(?:stylesheet|preload|icon)"[^>]* href="([^"]+)"', page.text)
        loaded += re.findall(r'<use href="([^"#]+)', page.text)
        loaded += ["/static/js/site.js"]
        if re.search(r"<(?:code|pre|kbd|textarea)\b|class=\"log", page.text):
            loaded.append("/static/fonts/jetbrains-mono-latin-400.woff2")
        parts = sum(self._part(address) for address in self._with_imports(map(html.unescape, loaded)))
        self.pages[page.url.path] = len(gzip.compress(page.content, 6)) + parts

    def _with_imports(self, addresses: Iterable[str]) -> set[str]:
        """And the modules that their scripts import."""
        waiting, found = set(addresses), set[str]()
        while waiting:
            found.add(address := waiting.pop())
            waiting |= self._imports(address) - found
        return found

    def _imports(self, address: str) -> set[str]:
        if not urlsplit(address).path.endswith(".js"):
            return set()
        if address not in self._imported:
            script = self.visitor.client.get(address).text
            names = re.findall(r'^import [^;]*?"(\.[^"]+)"', script, re.MULTILINE)
            self._imported[address] = {urljoin(address, name) for name in names}
        return self._imported[address]

    def _part(self, address: str) -> int:
        if address not in self._parts:
            content = self.visitor.client.get(address).content
            packed = urlsplit(address).path.endswith((".woff2", ".png", ".ico", ".webp"))
            self._parts[address] = len(content) if packed else len(gzip.compress(content, 6))
        return self._parts[address]


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["", "ada", "olga"])
def test_95_of_100_pages_weigh_less_than_100_kb_cold(dressed: Visitor, scene: Scene, name: str) -> None:
    if name:
        dressed.sign_in({"ada": scene.ada, "olga": scene.organizer}[name])
    scales = Scales(dressed)
    starts = ("/", "/competitions", f"/competitions/{scene.competition.slug}")
    crawl(dressed, *starts, skipping="/docs/images", look=scales.weigh)
    heavy = {path: size for path, size in scales.pages.items() if size >= 100_000}
    assert len(scales.pages) > 20 and len(heavy) <= 0.05 * len(scales.pages), heavy
    assert scales.pages["/"] > 30_000, "styles, script and font are weighed too"


WITH_RUNS = ("ada", "rita", "oscar", "olga", "root-admin")  # who may see Ada's submission


WALKERS = ("", "penny", "ada", "rita", "oscar", "olga", "root-admin")


@pytest.mark.seconds("walks through pages")
def test_somebody_of_every_role_walks(dressed: Visitor, scene: Scene) -> None:
    with dressed.services.database.reading() as session:
        walking = select(User.id).where(User.username.in_(WALKERS))
        query = select(Membership.role).where(
            Membership.competition_id == scene.competition.id, Membership.user_id.in_(walking)
        )
        assert set(session.scalars(query)) == set(Role)
        assert session.query(User).filter_by(username=WALKERS[-1]).one().is_site_admin


@pytest.mark.rotating
@pytest.mark.parametrize("name", WALKERS)
def test_every_address_on_every_page_answers(dressed: Visitor, scene: Scene, name: str) -> None:
    if name:
        with dressed.services.database.reading() as session:
            dressed.sign_in(session.query(User).filter_by(username=name).one())
    slug = scene.competition.slug
    starts = ("/", "/competitions", f"/competitions/{slug}", "/favicon.ico")
    if name in WITH_RUNS:
        starts += (f"/submissions/{scene.submissions['finished'].id}",)
    broken = crawl(dressed, *starts, skipping="/docs" if name else "//")
    assert not broken, "\n".join(f"{address}: {why}" for address, why in broken.items())


TESTS = Path(__file__).parents[2]
# Pages that no page links to for these people in this scene, and the test that opens each.
NOT_LINKED = {
    "/account/prove": "asked for where it is needed: core/test_second_factor.py",
    "/login/code": "the second step of a log-in: core/test_second_factor.py",
    "/confirm/{secret}": "in a mail: core/test_people.py",
    "/reset/{secret}": "in a mail: web/test_pages.py",
    "/unsubscribe/{user_id}/{signature}": "in a mail: core/test_digests.py",
    "/oauth/{provider}/start": "nothing is set up here: admin/test_oauth.py",
    "/oauth/{provider}/callback": "nothing is set up here: admin/test_oauth.py",
    "/apple-touch-icon.png": "asked for by browsers: web/test_answers.py",
    "/design": "for who works on the site: web/test_axe.py",
    "/admin/worker-requests": "a form leads there, by a machine's code: contract/test_joining.py",
    "/metrics": "for machines: core/test_operations.py",
    "/docs/{path:path}": "left out of the walk: the crawl of a visitor has them",
    "/docs/images/{name}.png": "left out of the walk: the crawl of a visitor has them",
    "/docs/search": "a form leads there: web/test_small_things.py",
    "/competitions/{slug}/results/{phase_slug}/receipts/{submission_id}.json": "none is here: entries/test_results.py",
    "/submissions/{submission_id}/tasks/{number}": "no smoke test ended here, walked in: contract/test_kinds.py",
    "/submissions/{submission_id}/tasks/{number}/picture.jpg": "as above",
    "/kit/simple/": "asked for by pip: core/test_kit.py",
    "/kit/simple/{project}/": "asked for by pip: core/test_kit.py",
    "/kit/files/{digest}/{filename}": "asked for by pip: core/test_kit.py",
    "/kit/tutorial.ipynb": "in the first steps of a newcomer: web/test_first_steps.py",
    "/submissions/{submission_id}/log": "of more lines than are here, or by a form: web/test_log.py",
    "/submissions/{submission_id}/stream": "asked for by a script: web/test_running.py",
    "/competitions/{slug}/code": "once winners' code is public, walked in: entries/test_results.py",
    "/competitions/{slug}/code/{submission_id}.zip": "once it is public, walked in: entries/test_results.py",
    "/competitions/{slug}/results": "once results are public, walked in: entries/test_results.py",
    "/competitions/{slug}/results/{phase_slug}/{league_slug}.csv": "as above",
    "/competitions/{slug}/results/{phase_slug}/{league_slug}.tex": "as above",
    "/competitions/{slug}/results/{phase_slug}/{league_slug}/certificates/{team_id}.pdf": "as above",
    "/competitions/{slug}/files/{name}": "no page holds a file here, walked in: admin/test_page_files.py",
    "/competitions/{slug}/manage/import": "of an imported one, walked in: admin/test_codabench.py",
    "/competitions/{slug}/manage/phases/{phase_slug}/example.png": "asked for by a script: admin/test_phase_editor.py",
    "/competitions/{slug}/manage/reports/{report_id}": "no report is there, walked in: admin/test_reports.py",
    "/competitions/{slug}/manage/reports/{report_id}/files/{name}": "as above",
}


@pytest.mark.slow("walks through the site as six people")
@pytest.mark.rotating
def test_the_walks_reach_every_page(dressed: Visitor, scene: Scene) -> None:
    """A page that no walk reaches is not held by the test above."""
    opened: set[str] = set()
    starts = ("/", "/competitions", f"/competitions/{scene.competition.slug}", "/robots.txt", "/favicon.ico")
    crawl(dressed, *starts, skipping="/docs/", opened=opened)
    for name in ("ada", "olga", "root-admin"):
        with dressed.services.database.reading() as session:
            dressed.sign_in(session.query(User).filter_by(username=name).one())
        crawl(
            dressed,
            *starts,
            f"/submissions/{scene.submissions['finished'].id}",
            skipping="/docs/",
            opened=opened,
        )
    pages = [r for r in ROUTES if "GET" in (r.methods or ()) and not r.include_in_schema]
    missed = {r.path for r in pages if not any(r.path_regex.match(path) for path in opened)}
    assert missed - NOT_LINKED.keys() == set(), "no walk reaches these"
    assert NOT_LINKED.keys() - missed == set(), "a walk reaches these: take them out of NOT_LINKED"
    for where in {words.partition(": ")[2] for words in NOT_LINKED.values()}:
        assert not where.endswith(".py") or any((TESTS / top / where).exists() for top in ("", "platform")), (
            where
        )


MAKES = "makes something new of it"
ONE = "one field, which is the act: one that changes nothing does nothing"
# Forms that show values and say no version of them, and why.
WHOLE = {
    "/account/security/password": "a user name for password managers, which nobody reads",
    "/account/tokens": MAKES,
    "/admin/workers/tokens": MAKES,
    "/competitions/{slug}/discussion/{thread_id}/reply": MAKES,  # a post that is quoted
    "/competitions/{slug}/join": MAKES,
    "/competitions/{slug}/manage/clone": MAKES,
    "/competitions/{slug}/manage/leagues": MAKES,  # the form of a new one
    "/competitions/{slug}/manage/people/{membership_id}/{act}": ONE,
    "/competitions/{slug}/manage/phases/new": MAKES,
    "/competitions/{slug}/manage/phases/{phase_slug}/{act}": ONE,
    "/competitions/{slug}/manage/rehearsals": MAKES,
    "/competitions/{slug}/manage/reports": MAKES,
    "/competitions/{slug}/manage/teams/{team_id}/{act}": ONE,
    "/competitions/{slug}/phases/{phase_slug}/submit": MAKES,
    "/organize/import": MAKES,
    "/organize/pools/{slug}/packs": MAKES,
}


@pytest.mark.slow("walks through the site as three people")
@pytest.mark.rotating
def test_a_form_that_shows_what_is_there_says_what_it_was_filled_in_upon(
    dressed: Visitor, scene: Scene
) -> None:
    """Found by walking, so that no form can be forgotten: of routes, by the address that a form is sent to."""
    fill_in(dressed, scene)
    changes, whole = set[str](), dict[str, dict[str, set[str]]]()

    def look(page: Response) -> None:
        for form in Forms(page.text).found:
            path = urlsplit(urljoin(str(page.url), form.action)).path
            to = next(r.path for r in ROUTES if "POST" in (r.methods or ()) and r.path_regex.match(path))
            if form.says_version:
                changes.add(to)
            elif form.shows:
                whole.setdefault(to, {})[form.action] = form.shows

    starts = ("/", "/competitions", f"/competitions/{scene.competition.slug}")
    for name in ("ada", "olga", "root-admin"):
        with dressed.services.database.reading() as session:
            dressed.sign_in(session.query(User).filter_by(username=name).one())
        crawl(
            dressed, *starts, f"/submissions/{scene.submissions['finished'].id}", skipping="/docs", look=look
        )
    assert whole.keys() - WHOLE.keys() == set(), "these show what is there and do not say which version"
    assert WHOLE.keys() - whole.keys() == set(), "no walk finds these: take them out of WHOLE"
    several = {to for to, forms in whole.items() if any(len(shown) > 1 for shown in forms.values())}
    assert {to for to in several if WHOLE[to] == ONE} == set()
    assert changes & {"/account", "/competitions/{slug}/fact-sheet", "/submissions/{submission_id}/note"}


def test_what_a_form_was_filled_in_upon_is_written_by_one_macro() -> None:
    said = {path.name for path in TEMPLATE_FOLDER.rglob("*.html") if 'name="seen"' in path.read_text()}
    assert said == {"forms.html"}


def fill_in(dressed: Visitor, scene: Scene) -> None:
    """What forms of participants ask, and what organizers wrote."""
    with dressed.services.database.writing() as session:
        competition = session.get_one(Competition, scene.competition.id)
        competition.fact_sheet = [{"key": "method", "label": "Which method?", "required": True}]
        league = session.get_one(League, scene.leagues["free-style"].id)
        league.questions = [
            {"key": "cv", "label": "Your page", "answer": "link", "required": False, "shown_to": "team"}
        ]
        thread = Thread(competition_id=competition.id, author_id=scene.ada.id, title="Seeds")
        told = Announcement(title="The end", body="Soon.", created_by=scene.organizer.id)
        told.competition_id = competition.id
        session.add_all([thread, told])
        session.flush()
        session.add(Post(thread_id=thread.id, author_id=scene.ada.id, body="One or three?"))


def test_a_logo_is_shown_and_runs_nothing(dressed: Visitor, scene: Scene) -> None:
    address = f"/competitions/{scene.competition.slug}/logo"
    page = dressed.see(f"/competitions/{scene.competition.slug}")
    (shown,) = {found for found in Addresses(page).found if found.startswith(address)}
    answer = dressed.client.get(shown)
    assert (answer.status_code, answer.content) == (200, LOGO)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "immutable" in answer.headers["cache-control"]
    assert "immutable" not in dressed.client.get(address).headers["cache-control"]


def test_a_drafts_logo_is_no_secret_told(dressed: Visitor, scene: Scene) -> None:
    with dressed.services.database.writing() as session:
        session.get_one(Competition, scene.competition.id).state = CompetitionState.DRAFT
    assert dressed.client.get(f"/competitions/{scene.competition.slug}/logo").status_code == 404


def test_crawlers_are_told_what_is_public(visitor: Visitor) -> None:
    answer = visitor.client.get("/robots.txt")
    assert answer.status_code == 200 and "Disallow: /admin" in answer.text
