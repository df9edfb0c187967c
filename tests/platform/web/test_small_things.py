"""What a reader trips over: numbers and nouns, headings, dead ends, addresses that lead to raw data."""

import html
import re
from datetime import timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from anyshot_core.report.documentation import SECTIONS, page_files
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.visibility.faults import EvaluationFault
from anyshot_platform.judging.workers.models import Worker, WorkerToken
from anyshot_platform.people.teams.models import TeamInvitation
from anyshot_platform.people.users.models import User
from anyshot_platform.site.shell.page_header import competition_status, read_cards
from anyshot_platform.site.submissions.failures import show_failed_evaluation
from anyshot_platform.site.submissions.provenance import repeat_command
from anyshot_platform.site.web.docs_outline import outlined_page
from anyshot_platform.site.web.docs_pages import DOCS
from anyshot_platform.site.web.docs_search import search_docs
from anyshot_platform.site.web.markdown import markdown
from tests.contract.recording import worker_info
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene
from tests.platform.web.test_axe_organizers import ADMIN, MANAGE


class Read(HTMLParser):
    """The visible words of a page, and its headings in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.levels: list[int] = []
        self._unseen = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th", "dt", "dd"):
            self.words.append("|")
        self._unseen += tag in ("script", "style", "dialog", "pre", "svg")
        if re.fullmatch("h[1-6]", tag) and not self._unseen:
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in ("script", "style", "dialog", "pre", "svg")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.words.append(data)

    @property
    def text(self) -> str:
        """With single spaces."""
        return " ".join(" ".join(self.words).split())


def pages_of(scene: Scene) -> list[str]:
    """What participants see."""
    base = f"/competitions/{scene.competition.slug}"
    parts = ("", "/phases/feedback", "/phases/feedback/submit", "/submissions", "/leaderboard", "/discussion")
    ids = {name: one.id for name, one in scene.submissions.items()}
    return [
        *("/", "/competitions", "/status", "/notifications", "/submissions", "/account", "/account/teams"),
        *(
            base + part
            for part in (*parts, "/discussion/new", "/team", "/announcements", "/leagues", "/data")
        ),
        *(f"/submissions/{one}" for one in ids.values()),
        f"/compare?id={ids['finished']}&id={ids['older']}",
        *("/docs", "/docs/participants/first-submission/", "/docs/participants/commands/"),
        *("/docs/organizers/running/", "/docs/operators/settings/", "/docs/science/scoring/", "/api/docs"),
    ]


@pytest.mark.seconds("walks through every page")
def test_one_of_a_thing_is_not_called_several_and_no_level_of_headings_is_left_out(
    visitor: Visitor, scene: Scene
) -> None:
    visitor.sign_in(scene.ada)
    with visitor.services.database.writing() as session:
        session.get_one(PhaseVersion, scene.version.id).cpus = 1
        session.get_one(PhaseVersion, scene.version.id).tasks = 1
    assert not stumbles(visitor, pages_of(scene))


def test_organizers_read_no_one_of_several_and_no_gap_of_headings(visitor: Visitor, scene: Scene) -> None:
    """One of all that waits, serves and counts: a run, a worker, a person, a core, a dataset."""
    visitor.sign_in(scene.organizer)
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.organizer.id).is_site_admin = True
        version = session.get_one(PhaseVersion, scene.version.id)
        version.cpus = version.tasks = 1
        member = session.scalars(select(Membership).where(Membership.user_id == scene.bob.id)).one()
        member.status = MemberStatus.PENDING
        token = WorkerToken(name="a token", digest="0" * 64)
        session.add(token)
        session.flush()
        session.add(Worker(token_id=token.id, name="one", info=worker_info(name="one"), last_seen_at=now()))
        slugs = list(session.scalars(select(Pool.slug)))
    base = f"/competitions/{scene.competition.slug}/manage"
    pages = [base + part for part in MANAGE] + [f"/admin{part}" for part in ADMIN]
    pages += [f"/submissions/{one.id}" for one in scene.submissions.values()]
    assert not stumbles(
        visitor, [*pages, "/organize", "/organize/pools", *(f"/organize/pools/{s}" for s in slugs)]
    )


_SEVERAL = (
    "lines|cores|datasets|tasks|threads|posts|replies|runs|submissions|teams|people|members|participants|images|classes"
    "|ways|shots|seeds|attempts|days|entries|files|workers|rows|points|hours|minutes|seconds|mails|phases|leagues|pools"
    "|packs|baselines|questions|messages|reports|columns|acts|users|competitions|accounts|tokens|uploads|versions"
)


def stumbles(visitor: Visitor, paths: list[str]) -> list[tuple[str, object]]:
    """Places of these pages where one thing has a noun of several, and gaps in the levels of headings."""
    wrong = re.compile(rf"(?<![\d.,–-])1 (?:[a-z]+ )?(?:{_SEVERAL})\b")
    found: list[tuple[str, object]] = []
    for path in paths:
        page = Read(visitor.see(path))
        found += [
            (path, page.text[max(one.start() - 40, 0) : one.end() + 40]) for one in wrong.finditer(page.text)
        ]
        if any(below > above + 1 for above, below in pairwise([0, *page.levels])):
            found.append((path, page.levels))
    return found


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("# a\n\n## b\n\n# c", [2, 3, 2]),
        ("## a\n\n### b\n\n## c\n\n#### d", [2, 3, 2, 3]),
        ("### a\n\n# b\n\n## c", [2, 2, 3]),
        ("<h1>a</h1>\n\n<h4>b</h4>", [2, 3]),
        ("# a\n\n## b\n\n### c\n\n#### d\n\n##### e\n\n###### f", [2, 3, 4, 5, 6, 6]),
    ],
)
def test_headings_of_texts_stand_below_the_title_of_the_page(text: str, levels: list[int]) -> None:
    assert Read(str(markdown(text))).levels == levels


def test_code_that_scrolls_is_reached_by_keyboard(visitor: Visitor) -> None:
    page = visitor.see("/docs/participants/first-submission/")
    assert page.count("<pre") == page.count('<pre tabindex="0"') > 3


def _member(scene: Scene, visitor: Visitor, user: User) -> Membership:
    with visitor.services.database.reading() as session:
        return session.scalars(
            select(Membership).where(
                Membership.user_id == user.id, Membership.competition_id == scene.competition.id
            )
        ).one()


@pytest.mark.slow("draws every page of the documentation")
def test_the_documentation_has_anchors_contents_copy_buttons_and_leads_on(visitor: Visitor) -> None:
    page = visitor.see("/docs/science/scoring/")
    ids = re.findall(r'<h[2-4] id="([^"]+)"', page)
    assert "rankings" in ids and len(ids) == len(set(ids)) > 5
    assert all(f'class="headlink" href="#{one}"' in page for one in ids)
    contents = page.split('class="contents"')[1].split("</details>")[0]
    assert re.findall(r'href="#([^"]+)"', contents) == re.findall(r'<h2 id="([^"]+)"', page)
    first = visitor.see("/docs/participants/first-submission/")
    assert re.findall(r'data-copy="(code-\d+)"', first) == re.findall(
        r'<pre tabindex="0" id="(code-\d+)"', first
    )
    assert 'rel="prev" href="/docs/participants/"' in first
    place, seen = "/docs/participants/", list[str]()
    while place:
        seen.append(place)
        onward = re.search(r'rel="next" href="([^"]+)"', visitor.see(place))
        place = onward[1] if onward else ""
    assert len(seen) == len(set(seen)) > 30 and "/docs/operators/" in seen


def test_a_section_that_was_found_is_linked_where_an_earlier_one_has_its_heading(tmp_path: Path) -> None:
    """The page and its search count headings of one name in the same way."""
    lines = ["# Page", "## Limits", "first", "## Limits", "second zebra"]
    (tmp_path / "participants").mkdir()
    (tmp_path / "participants" / "index.md").write_text("\n".join(lines))
    (found,) = search_docs(tmp_path, "zebra")
    body = outlined_page("<h2>Limits</h2><p>first</p><h2>Limits</h2><p>second zebra</p>")
    assert found.href.endswith(f"#{body.headings[1].anchor}") and found.href.endswith("#limits_1")


@pytest.mark.slow("draws every page of the documentation")
def test_every_anchor_that_the_documentation_links_is_there(visitor: Visitor) -> None:
    pages = {
        path.removesuffix("index/"): visitor.see(path.removesuffix("index/"))
        for path in (
            f"/docs/{section}/{name}/" for section, _ in SECTIONS for name in page_files(DOCS, section)
        )
    }
    links = {
        (target or path, anchor)
        for path, page in pages.items()
        for target, anchor in re.findall(r'href="(/docs/[^"#]*)?#([^"]+)"', page)
    }
    broken = {
        (path, anchor)
        for path, anchor in links
        if f'id="{anchor}"' not in (pages.get(path) or visitor.see(path))
    }
    assert len(links) > 100 and broken - {(path, "main") for path, _ in links} == set()


def test_the_documentation_is_searched(visitor: Visitor) -> None:
    page = visitor.see("/docs/search?q=mute+COMPETITION")
    assert '<a class="strong" href="/docs/participants/commands/#anyshot-mute">' in page
    assert Read(page).text.count("Your account") and 'value="mute COMPETITION"' in page
    assert "No section has all these words" in visitor.see("/docs/search?q=mute+nothing-like-it")
    assert "<script>" not in visitor.see("/docs/search?q=%3Cscript%3E")
    assert 'action="/docs/search"' in visitor.see("/docs/participants/")


def test_who_has_submitted_is_not_invited(visitor: Visitor, scene: Scene) -> None:
    """They could not accept: the captain learns it, instead of the invited on a page without a way back."""
    with visitor.services.database.writing() as session:
        session.get_one(Competition, scene.competition.id).team_size = 4
    visitor.sign_in(scene.bob)
    team = f"/competitions/{scene.competition.slug}/team"
    answer = visitor.send(team, f"{team}/invite", 409, username="ada")
    text = Read(answer.text).text
    assert "ada has submitted already and cannot change teams. The organizers can move them." in text
    with visitor.services.database.reading() as session:
        assert session.scalars(select(TeamInvitation)).all() == []


def test_an_invitation_that_cannot_be_accepted_any_more_says_so_on_the_page_of_the_team(
    visitor: Visitor, scene: Scene
) -> None:
    theirs = _member(scene, visitor, scene.bob).team_id
    with visitor.services.database.writing() as session:
        session.get_one(Competition, scene.competition.id).team_size = 4
        invitation = TeamInvitation(team_id=theirs, user_id=scene.ada.id)
        session.add(invitation)
        session.flush()
        identity = invitation.id
    visitor.sign_in(scene.ada)
    team = f"/competitions/{scene.competition.slug}/team"
    answer = visitor.send(team, f"{team}/invitations/{identity}/accept", 409)
    text = Read(answer.text).text
    assert "You have submitted in your present team" in text and "Members" in text
    assert f"{team}/invitations/{identity}/decline" in answer.text


def test_participants_are_those_who_take_part(visitor: Visitor, scene: Scene) -> None:
    """Neither organizers nor deleted accounts."""
    with visitor.services.database.writing() as session:
        competition = session.get_one(Competition, scene.competition.id)
        before = read_cards(session, [competition])[0].participants
        everybody = session.scalars(
            select(Membership).where(
                Membership.competition_id == competition.id, Membership.status == MemberStatus.APPROVED
            )
        ).all()
        assert before == len(everybody) - 1  # the owner
        session.get_one(User, scene.bob.id).deleted_at = now()
        session.flush()
        assert read_cards(session, [competition])[0].participants == before - 1


def test_home_says_nothing_is_open_only_where_nothing_is(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    page = Read(visitor.see("/")).text
    assert scene.competition.title in page
    assert "No competition is open now" not in page and "Other open competitions" not in page
    with visitor.services.database.writing() as session:
        session.get_one(Competition, scene.competition.id).deleted_at = now()
    visitor.sign_in(scene.visitor)
    assert "No competition is open now" in Read(visitor.see("/")).text


def test_a_run_without_memory_is_repeated_with_its_limit(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == scene.submissions["failed"].id)).first()
        assert run is not None and run.state == RunState.FAILED
        assert "--memory" not in (repeat_command(run) or "")
        run.verdict, run.cause = Verdict.MEMORY_LIMIT, Cause.PARTICIPANT
        run.phase_version.memory_bytes = int(3.7 * 2**30)
        assert (repeat_command(run) or "").endswith("--docker --memory 3.7")


def test_a_gpu_without_memory_is_told_from_a_box_without(visitor: Visitor, scene: Scene) -> None:
    """A page that said *more memory than the phase allows* showed a peak far below what the phase allows."""
    failed = scene.submissions["failed"].id
    visitor.sign_in(scene.ada)
    for gpus, error, sentence in (
        (1, "OutOfMemoryError", "Your code used more memory than its GPU has."),
        (1, "MemoryError", "Your code used more memory than the phase allows."),
        (0, "OutOfMemoryError", "Your code used more memory than the phase allows."),
    ):
        with visitor.services.database.writing() as session:
            run = session.scalars(select(Run).where(Run.submission_id == failed)).one()
            run.verdict, run.cause, run.gpus = Verdict.MEMORY_LIMIT, Cause.PARTICIPANT, gpus
            run.message = f"{error} in fit (model.py, line 19)."
            run.usage = run.used.model_copy(update={"memory_peak_bytes": 440 << 20})
            run.phase_version.memory_bytes = 24 << 30
            limited = "--memory" in (repeat_command(run) or "")
        page = Read(visitor.see(f"/submissions/{failed}")).text
        assert sentence in page and "Peak memory | up to 1.5 GiB of 24.0 GiB" in page
        assert limited == ("the phase allows" in sentence)
        fault = EvaluationFault(run.message, "", Verdict.MEMORY_LIMIT, 3, 5, 1)
        assert show_failed_evaluation(scene.submissions["failed"], fault, gpus).blame.sentence == sentence


def test_status_is_a_page_for_people(visitor: Visitor, scene: Scene) -> None:
    assert 'href="/status">Status' in visitor.see("/")
    text = Read(visitor.see("/status")).text
    assert "Workers 0 connected in the last minute" in text and "No worker is connected" in text
    assert "Uploads and downloads works" in text and scene.competition.title not in text
    with visitor.services.database.writing() as session:
        token = WorkerToken(name="a token", digest="0" * 64)
        session.add(token)
        session.flush()
        for name, minutes in (("one", 0), ("two", 60)):
            seen = now() - timedelta(minutes=minutes)
            session.add(Worker(token_id=token.id, name=name, info=worker_info(name=name), last_seen_at=seen))
    text = Read(visitor.see("/status")).text
    assert "Workers 1 connected in the last minute" in text and "Everything works" in text


def test_status_says_what_does_not_work(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_digest: str) -> bool:
        raise OSError("secret-disk-name")

    monkeypatch.setattr(visitor.services.storage, "exists", broken)
    page = visitor.see("/status", 503)
    assert "Uploads and downloads does not work" in Read(page).text and "secret-disk-name" not in page


def test_the_reference_says_what_a_call_does_and_what_its_body_holds(visitor: Visitor) -> None:
    page = visitor.see("/api/docs")
    entries = [one for one in page.split("<details") if "/api/v1/tokens</code>" in one and "POST" in one]
    (token,) = entries
    summary, body = token.split("</summary>")
    assert 'class="row' not in summary  # a box in the summary would stand below its triangle
    assert Read(summary).text.count(" ") > 3
    assert "TokenIn" in body and "<code>name</code>" in body and "string" in body


def test_the_head_of_a_competition_counts_down_to_its_next_date(visitor: Visitor, scene: Scene) -> None:
    """Until the open phase ends, else until the next one begins; the reader's browser says how long that is."""
    visitor.sign_in(scene.ada)
    address = f"/competitions/{scene.competition.slug}/leaderboard"
    counted = re.compile(r"(ends|begins) <time datetime=\"([^\"]+)\" data-when=\"ago\"")
    with visitor.services.database.writing() as session:
        phase = session.get_one(Phase, scene.phase.id)
        ends_at = phase.ends_at
        assert ends_at is not None
    (found,) = counted.findall(visitor.see(address))
    assert found == ("ends", ends_at.isoformat(timespec="seconds"))
    tomorrow = (now() + timedelta(days=1)).replace(microsecond=0)
    with visitor.services.database.writing() as session:
        for phase in session.scalars(select(Phase).where(Phase.competition_id == scene.competition.id)):
            phase.starts_at, phase.ends_at = tomorrow + timedelta(days=phase.position), None
    (found,) = counted.findall(visitor.see(address))
    assert found == ("begins", tomorrow.isoformat())


def test_of_two_open_phases_the_one_that_takes_uploads_is_named(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        side = Phase(
            competition_id=scene.competition.id, slug="side", name="Side", starts_at=scene.phase.starts_at
        )
        side.accepts_uploads, side.position = False, -1
        session.add(side)
        session.flush()
        competition = session.get_one(Competition, scene.competition.id)
        known = session.get_one(Phase, scene.phase.id)
        assert competition_status(competition, [side, known])[0] == f"{known.name}: open"


def test_a_phase_without_submissions_promises_neither_tasks_nor_machines(
    visitor: Visitor, scene: Scene
) -> None:
    base = f"/competitions/{scene.competition.slug}/phases"
    shown = {phase: Read(visitor.see(f"{base}/{phase}")).text for phase in ("public", "feedback", "final")}
    assert (
        "none are taken in this phase" in shown["public"] and "none are taken in this phase" in shown["final"]
    )
    for words in ("How it is scored", "hidden task", "Machine", "Time of a run", "Logs"):
        assert [phase for phase, text in shown.items() if words in text] == ["feedback", "final"], words


def test_leagues_and_prizes_stand_on_the_overview_alone(visitor: Visitor, scene: Scene) -> None:
    base = f"/competitions/{scene.competition.slug}"
    places = ("", "/pages/overview", "/pages/data", "/pages/rules")
    assert [place for place in places if "Leagues and prizes" in visitor.see(base + place)] == [*places[:2]]


def test_privacy_imprint_and_contact_of_a_site_stand_at_the_foot_of_every_page(visitor: Visitor) -> None:
    links = {"Privacy": "https://example.org/privacy", "Contact <us>": "mailto:help@example.org"}
    settings = visitor.services.settings.model_copy(update={"footer_links": links})
    object.__setattr__(visitor.services, "settings", settings)
    for page, status in (("/", 200), ("/docs", 200), ("/nowhere", 404)):
        foot = visitor.see(page, status).split("<footer")[1]
        assert '<a href="https://example.org/privacy">Privacy</a>' in foot, page
        assert '<a href="mailto:help@example.org">Contact &lt;us&gt;</a>' in foot, page
    with pytest.raises(ValidationError, match="ANYSHOT_FOOTER_LINKS"):
        PlatformSettings.model_validate(
            {**settings.model_dump(), "footer_links": {"Odd": "javascript:alert(1)"}}
        )


def test_privacy_imprint_and_contact_are_texts_of_the_operators(visitor: Visitor, scene: Scene) -> None:
    folder = visitor.services.settings.home / "pages"
    for name in ("Privacy", "Imprint", "Contact"):
        path = f"/{name.lower()}"
        assert f'<a href="{path}">{name}</a>' in visitor.see("/").split("<footer")[1]
        empty = visitor.see(path)
        assert "The operators of this site have not written this page yet" in empty and ".md" not in empty
        folder.mkdir(exist_ok=True)
        (folder / f"{path[1:]}.md").write_text(f"# Us\n\nWrite to **{name}** <script>alert(1)</script>.")
        page = visitor.see(path)
        assert f"<h1>{name}</h1>" in page and f"<strong>{name}</strong>" in page and "alert(1)" not in page
    (folder / "imprint.md").unlink()
    visitor.sign_in(scene.admin)
    assert "put the text into <code>imprint.md</code>" in visitor.see("/imprint")
    link = re.search(r'href="(/docs/operators/deployment/)#([\w-]+)"', visitor.see("/imprint"))
    assert link is not None and f'id="{link[2]}"' in visitor.see(link[1])


def test_the_page_of_a_phase_says_what_a_task_is_and_what_a_smoke_test_may_use(
    visitor: Visitor, scene: Scene
) -> None:
    page = f"/competitions/{scene.competition.slug}/phases/feedback"
    visitor.sign_in(scene.ada)
    text = " ".join(re.sub(r"<[^>]+>", " ", html.unescape(visitor.see(page))).split())
    assert "2 to 20 ways, 1 to 20 shots, 20 query images per class" in text
    assert "Each task from one dataset; ways and shots uniform over their ranges" in text
    assert "Smoke test 5 public tasks, 2 min for all of it, no quota, at most 10 a day" in text
    links = re.search(
        r'<p class="small">\s*<a href="([^"]+)">[^<]*</a> ·\s*<a href="([^"]+)">', visitor.see(page)
    )
    assert links is not None and all(visitor.see(address) for address in links.groups())
    with visitor.services.database.writing() as session:
        phase = session.get_one(Phase, scene.phase.id)
        phase.smoke_pool_version_id = None
        version = session.get_one(PhaseVersion, scene.version.id)
        version.protocol = {"name": "within_domain", "ways": [5, 5], "shots": [1, 1], "query": 15}
    text = html.unescape(visitor.see(page))
    assert "15 query images per class" in text and "Smoke test" not in text
