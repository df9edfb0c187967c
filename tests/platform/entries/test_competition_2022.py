"""The competition of 2022, whole, from import to published results: through the pages, and through the command line.

The scores are given; everything else is done as people do it. The tables of winners below are worked out by hand: the
gates of free-style (0.587) and meta-learning (0.361), then the lowest of each entry's three final runs.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from httpx2 import Response

from anyshot_core.command import main
from anyshot_platform.accounts.service import begin_session
from anyshot_platform.competitions.states import CompetitionState
from anyshot_platform.database import now
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.pools.models import Pack
from anyshot_platform.pools.service import create_pool, create_pool_version
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.models import User
from anyshot_platform.web.viewer import SESSION_COOKIE
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.site import PaperWorker, Person, Site, make_paper_pack, make_zip
from tests.services.processes import free_port
from tests.services.sites import served

SLUG = "cross-domain-metadl-2022"
BASE = f"/competitions/{SLUG}"
LEAGUES = ("free-style", "meta-learning", "new-in-ml", "women", "rarely-represented-country")
# Who uploads what: leagues, feedback score, the three final runs.
PLAN: dict[str, tuple[list[str], float, list[float]]] = {
    "mia": (["free-style"], 0.710, [0.710, 0.699, 0.705]),
    "emma": (["free-style"], 0.690, [0.690, 0.682, 0.700]),
    "carl free": (["free-style"], 0.650, [0.660, 0.646, 0.650]),
    "carl scratch": (["meta-learning"], 0.370, [0.300, 0.265, 0.280]),
    "cd2": (["meta-learning"], 0.380, [0.290, 0.283, 0.285]),
    "weak": (["meta-learning"], 0.360, []),  # below the gate
    "bea": (["free-style", "women"], 0.630, [0.630, 0.615, 0.620]),
    "ada": (["free-style", "women"], 0.620, [0.620, 0.600, 0.610]),
    "ben": (["free-style"], 0.590, [0.595, 0.592, 0.600]),
    "low": (["free-style"], 0.587, []),  # equals the gate
    "kofi": (["rarely-represented-country"], 0.400, [0.590, 0.580, 0.600]),  # no gate there
    "tia": (["rarely-represented-country"], 0.700, []),  # the organizers refuse the team
    "nia": (["new-in-ml"], 0.300, [0.500, 0.510, 0.520]),
    "noa": (["new-in-ml"], 0.310, [0.520, 0.500, 0.540]),  # ties with nia, who uploaded before
    "oscar": (["free-style"], 0.900, []),  # becomes an organizer
    "leo early": (["free-style"], 0.600, [0.600, 0.595, 0.601]),
    "leo late": (["free-style"], 0.660, [0.661, 0.660, 0.670]),  # in time, but still running at the launch
}
WINNERS = {
    "free-style": [
        (1, "mia", 0.699, 400),
        (2, "emma", 0.682, 250),
        (3, "leo", 0.660, 150),
        (4, "CDML", 0.646, 0),
        (5, "Duo", 0.615, 0),
        (6, "ada", 0.600, 0),
        (7, "ben (2)", 0.592, 0),  # his name of before he was in Duo is taken
    ],
    "meta-learning": [(1, "cd2", 0.283, 400), (2, "CDML", 0.265, 250)],
    "new-in-ml": [(1, "nia", 0.500, 400), (2, "noa", 0.500, 250)],
    "women": [(1, "Duo", 0.615, 400), (2, "ada", 0.600, 250)],  # Duo without ben, who left
    "rarely-represented-country": [(1, "kofi", 0.580, 400)],
}
# emma is disqualified after the publication: who stands below moves up, and so do the prizes.
AFTER = {
    **WINNERS,
    "free-style": [
        (1, "mia", 0.699, 400),
        (2, "leo", 0.660, 250),
        (3, "CDML", 0.646, 150),
        (4, "Duo", 0.615, 0),
        (5, "ada", 0.600, 0),
        (6, "ben (2)", 0.592, 0),
    ],
}
Table = dict[str, list[tuple[int, str, float, int]]]


class Browser(Person):
    """A person who is logged in with a browser: a cookie, and the form token of its pages."""

    def call(self, method: str, path: str, **options: Any) -> Response:
        headers = {"cookie": f"{SESSION_COOKIE}={self.token}", **options.pop("headers", {})}
        if method == "POST":
            shown = self.client.get("/account", headers={**headers, "accept": "text/html"}).text
            token = re.search(r'name="csrf-token" content="([^"]+)"', shown)
            assert token is not None
            options["data"] = {"csrf_token": token[1], **options.get("data", {})}
        return self.client.request(method, path, headers=headers, **options)


def browser(site: Site, person: Person) -> Browser:
    with site.services.database.writing() as session:
        user = session.get_one(User, person.id)
        secret = begin_session(session, user, user_agent="test", days=1).secret
    return Browser(person.id, person.username, secret, person.client)


class Pages:
    """What people do in the browser."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder

    def bring_in(self, owner: Person, start: str) -> None:
        assert post(owner, "/organize/import", ready=SLUG, start=start).status_code == 200

    def submit(self, person: Person, content: bytes, leagues: list[str]) -> str:
        """Join where they have not, and upload; what they are told where it is refused."""
        visitor = browser(self.site, person)
        post(visitor, f"{BASE}/join", accept="1")
        fields = {"league": leagues, "leagues_shown": "1", "kind": "entry"}
        answer = visitor.call(
            "POST",
            f"{BASE}/phases/feedback/submit",
            data=fields,
            files={"file": ("method.zip", content)},
            headers={"accept": "text/html"},
            follow_redirects=False,
        )
        return "" if answer.status_code == 303 else answer.text

    def answer(self, person: Person, league: str, **said: str) -> str:
        sent = {f"{league}_{key}": text for key, text in said.items()}
        done = post(browser(self.site, person), f"{BASE}/leagues/{league}/answers", **sent)
        return "" if done.status_code == 303 else done.text

    def decide(self, owner: Person, league: str, team: str, deed: str, reason: str = "") -> None:
        row = self._entry(owner, f"?league={league}&q={team}")
        done = post(owner, f"{BASE}/manage/entries", entry=row, deed=deed, reason=reason)
        assert flash(done) == "1 of 1 entries changed."

    def _entry(self, owner: Person, query: str) -> str:
        (found,) = re.findall(
            r'name="entry" value="(\w+)"', page(owner, f"{BASE}/manage/entries{query}").text
        )
        return found

    def launch(self, owner: Person, replace: str = "", **consent: str) -> str:
        shown = page(owner, f"{BASE}/manage/final").text
        late = re.findall(r'name="replace" value="(\w+)"', shown) if replace else []
        waiting = re.findall(r"Launch (\d+) entr", shown)
        fields = {"expected": waiting[0]} if waiting and not late else {}
        done = post(owner, f"{BASE}/manage/final/final/launch", replace=late, **fields, **consent)
        return flash(done) or done.text

    def publish(self, owner: Person) -> None:
        post(owner, f"{BASE}/manage/final/final/publish", winners="1", confirm="final")

    def disqualify(self, owner: Person, team: str) -> None:
        row = self._entry(owner, f"?phase=final&league=free-style&q={team}")
        post(owner, f"{BASE}/manage/entries", entry=row, deed="disqualify", reason="it used the test data")

    def results(self, visitor: Person) -> Table:
        return {league: self._table(visitor, league) for league in LEAGUES}

    def _table(self, visitor: Person, league: str) -> list[tuple[int, str, float, int]]:
        text = page(visitor, f"{BASE}/results/final/{league}.csv").text
        return [
            (int(row["rank"]), row["team"], float(row["score"]), int((row["prize"] or "0").split()[0]))
            for row in csv.DictReader(io.StringIO(text))
        ]


class Commands(Pages):
    """The same at the command line."""

    where = ""

    def run(self, person: Person, *words: str) -> str:
        said = CliRunner().invoke(main, [*words, "--server", self.where, "--token", person.token])
        return said.output if said.exit_code else f"ok {said.output}"

    def bring_in(self, owner: Person, start: str) -> None:
        settings = self.site.services.settings
        environment = {
            "ANYSHOT_SECRET_KEY": settings.secret_key.get_secret_value(),
            "ANYSHOT_HOME": str(settings.home),
            "ANYSHOT_DATABASE_URL": settings.database_address,
        }
        words = ["admin", "import", SLUG, "--owner", owner.username, "--start", start]
        said = CliRunner().invoke(main, words, env=environment)
        assert said.exit_code == 0, said.output

    def submit(self, person: Person, content: bytes, leagues: list[str]) -> str:
        path = self.folder / "method.zip"
        path.write_bytes(content)
        options = [word for league in leagues for word in ("--league", league)]
        said = self.run(person, "submit", str(path), "--to", f"{SLUG}/feedback", "--join", *options)
        return "" if said.startswith("ok") else said

    def answer(self, person: Person, league: str, **said: str) -> str:
        words = [f"{key}={text}" for key, text in said.items()]
        found = self.run(person, "answer", SLUG, league, *words)
        return "" if found.startswith("ok") else found

    def decide(self, owner: Person, league: str, team: str, deed: str, reason: str = "") -> None:
        said = self.run(owner, "organize", "teams", SLUG, league, deed, team, "--reason", reason)
        assert said == f"ok {deed}: 1 of 1 teams.\n"

    def launch(self, owner: Person, replace: str = "", **consent: str) -> str:
        words = ["--replace", replace] if replace else []
        words += ["--override", "--yes", "final"] if consent else []
        return self.run(owner, "organize", "final", SLUG, "final", "launch", *words)

    def publish(self, owner: Person) -> None:
        said = self.run(
            owner, "organize", "final", SLUG, "final", "publish", "--winners", "1", "--yes", "final"
        )
        assert said.startswith("ok"), said

    def disqualify(self, owner: Person, team: str) -> None:
        wanted = ["--phase", "final", "--league", "free-style", "--text", team, "--json"]
        listed = self.run(owner, "organize", "entries", SLUG, "list", *wanted)
        (row,) = json.loads(listed.removeprefix("ok "))["items"]
        said = self.run(owner, "organize", "entries", SLUG, "disqualify", row["id"], "--reason", "test data")
        assert said == "ok disqualify: 1 entries.\n"

    def results(self, visitor: Person) -> Table:
        found = json.loads(self.run(visitor, "winners", f"{SLUG}/final", "--json").removeprefix("ok "))
        return {
            league["league"]: [
                (row["rank"], row["team"], round(row["score"], 6), int(row["prize"]))
                for row in league["rows"]
            ]
            for league in found["leagues"]
        }


def content_of(method: str) -> bytes:
    return make_zip(salt=method)


METHODS = {hashlib.sha256(content_of(method)).hexdigest(): method for method in PLAN}


def work(site: Site, worker: PaperWorker, done: dict[str, int]) -> None:
    """Hand in the recorded score of every run that waits."""
    while job := worker.claim():
        hand_in(site, worker, job, done)


def hand_in(site: Site, worker: PaperWorker, job: dict[str, Any], done: dict[str, int]) -> None:
    submission = site.submission(job["submission_id"])
    _, feedback, finals = PLAN[METHODS[submission.digest]]
    number = done.setdefault(submission.id, 0)
    done[submission.id] += 1
    score = finals[number] if submission.kind == "final" else feedback
    assert worker.complete(job, score).status_code == 204


def make_pools(site: Site) -> None:
    """What the bundle's pools are found by: their names."""
    for name in ("metadl-set-0", "metadl-set-1", "metadl-set-2"):
        pack_id = make_paper_pack(site.services, f"pack-of-{name}")
        with site.services.database.writing() as session:
            pool = create_pool(session, slug=name, name=name, owner_id=site.owner_id)
            create_pool_version(session, pool, [session.get_one(Pack, pack_id)], created_by=site.owner_id)


def open_it(site: Site) -> None:
    """The draft is published; this site's worker has no GPU."""
    with site.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="feedback").order_by(Phase.created_at.desc()).first()
        assert phase is not None and phase.competition.slug == SLUG
        phase.competition.state = CompetitionState.PUBLISHED
        for version in session.query(PhaseVersion):
            version.hardware_class, version.gpus = "cpu", 0


def close_feedback(site: Site) -> None:
    """Time passes: the feedback phase has ended."""
    with site.services.database.writing() as session:
        for phase in session.query(Phase).filter_by(slug="feedback"):
            if phase.competition.slug == SLUG:
                phase.ends_at = now() - timedelta(seconds=1)


def join_team(captain: Person, other: Person, name: str) -> None:
    for person in (captain, other):
        joined = post(person, f"{BASE}/join", accept="1")
        assert joined.status_code == 303, joined.text
    assert post(captain, f"{BASE}/team/name", name=name).status_code == 303
    invited = post(captain, f"{BASE}/team/invite", username=other.username)
    assert invited.status_code == 303, invited.text
    (link,) = re.findall(r'action="([^"]+/invitations/\w+/accept)"', page(other, f"{BASE}/team").text)
    assert post(other, link).status_code == 303


@pytest.fixture(params=[Pages, Commands])
def way(
    request: pytest.FixtureRequest, embedded_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pages]:
    """The pages, or the command line."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    made = request.param(embedded_site, tmp_path)
    if not isinstance(made, Commands):
        yield made
        return
    with served(embedded_site.app, free_port()) as where:
        made.where = where
        yield made


def test_the_whole_competition(embedded_site: Site, way: Pages) -> None:
    site, owner, worker, done = embedded_site, embedded_site.owner(), embedded_site.worker(), {}
    people = {name: site.person(name) for name in {method.split()[0] for method in PLAN} | {"dana", "lea"}}
    make_pools(site)
    way.bring_in(owner, f"{now() - timedelta(days=20):%Y-%m-%d}")
    open_it(site)
    join_team(browser(site, people["carl"]), browser(site, people["dana"]), "CDML")
    join_team(browser(site, people["bea"]), browser(site, people["ben"]), "Duo")

    assert post(browser(site, people["ben"]), f"{BASE}/team/leave").status_code == 303  # the team breaks up

    for method, (leagues, *_) in PLAN.items():
        if method != "leo late":
            assert way.submit(people[method.split()[0]], content_of(method), leagues) == ""
            work(site, worker, done)
    too_late = post(browser(site, people["dana"]), f"{BASE}/team/leave")
    assert (too_late.status_code, "Your team has submitted." in too_late.text) == (409, True)
    answer_the_questions(way, owner, people)
    post(owner, f"{BASE}/manage/people/add", username="oscar", role="organizer", confirm="oscar")

    assert way.submit(people["leo"], content_of("leo late"), ["free-style"]) == ""
    late = worker.claim()
    assert late is not None
    close_feedback(site)
    assert "closed" in way.submit(people["lea"], make_zip(salt="too late"), ["free-style"])
    assert "not ended yet" in way.launch(owner)  # leo's second upload still runs
    assert "12 entries are queued." in way.launch(owner, confirm="final", override="1")
    hand_in(site, worker, late, done)
    assert "1 entries are queued." in way.launch(owner, "leo", confirm="final", override="1")
    work(site, worker, done)
    way.publish(owner)

    visitor = site.person("vera")
    assert way.results(visitor) == WINNERS
    way.disqualify(owner, "emma")
    assert way.results(visitor) == AFTER
    with site.services.database.reading() as session:
        published = session.query(Submission).filter(Submission.code_published_at.is_not(None)).all()
        assert {one.team.name for one in published} == {"mia", "cd2", "nia", "Duo", "kofi"}


def answer_the_questions(way: Pages, owner: Person, people: dict[str, Person]) -> None:
    """Every member answers, then the organizers decide on teams, once."""
    women = {"qualifies": "yes"}
    assert way.answer(people["ada"], "women", **women) == ""
    assert way.answer(people["bea"], "women", **women) == ""
    assert "Confirm: I identify as a woman." in way.answer(people["ben"], "women", qualifies="no")
    for name in ("kofi", "tia"):
        said = {"country": "Ghana, by citizenship", "qualifies": "yes"}
        assert way.answer(people[name], "rarely-represented-country", **said) == ""
    for name in ("nia", "noa"):
        assert way.answer(people[name], "new-in-ml", publications="none", qualifies="yes") == ""
        way.decide(owner, "new-in-ml", name, "admit")
    way.decide(owner, "women", "ada", "admit")
    way.decide(owner, "women", "Duo", "admit")
    way.decide(owner, "rarely-represented-country", "kofi", "admit")
    way.decide(owner, "rarely-represented-country", "tia", "refuse", "its country is one of the ten")
