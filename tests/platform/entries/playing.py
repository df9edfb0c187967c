"""A competition played by people: in the browser, and at the command line. The scores are the caller's."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.words import count_of
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.site import Person, Site
from tests.services.processes import free_port
from tests.services.sites import served

Table = dict[str, list[tuple[int, str, float, int]]]  # by league: rank, team, score, prize


class Browser(Person):
    """A person who is logged in with a browser: a cookie, and the form token of its pages."""

    def call(self, method: str, path: str, **options: Any) -> Any:
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

    def __init__(self, site: Site, folder: Path, slug: str) -> None:
        self.site, self.folder, self.slug = site, folder, slug
        self.base = f"/competitions/{slug}"

    def bring_in(self, owner: Person, start: str) -> None:
        assert post(owner, "/organize/import", ready=self.slug, start=start).status_code == 303

    def submit(self, person: Person, content: bytes, leagues: list[str]) -> str:
        """Join where they have not, and upload; what they are told where it is refused."""
        visitor = browser(self.site, person)
        post(visitor, f"{self.base}/join", accept="1")
        fields = {"league": leagues, "leagues_shown": "1", "kind": "entry"}
        answer = visitor.call(
            "POST",
            f"{self.base}/phases/feedback/submit",
            data=fields,
            files={"file": ("method.zip", content)},
            headers={"accept": "text/html"},
            follow_redirects=False,
        )
        return "" if answer.status_code == 303 else answer.text

    def answer(self, person: Person, league: str, **said: str) -> str:
        sent = {f"{league}_{key}": text for key, text in said.items()}
        done = post(browser(self.site, person), f"{self.base}/leagues/{league}/answers", **sent)
        return "" if done.status_code == 303 else done.text

    def decide(self, owner: Person, league: str, team: str, act_name: str, reason: str = "") -> None:
        row = self._entry(owner, f"?league={league}&q={team}")
        done = post(owner, f"{self.base}/manage/entries", entry=row, act=act_name, reason=reason)
        assert flash(done) == "1 of 1 entries changed."

    def _entry(self, owner: Person, query: str) -> str:
        (found,) = re.findall(
            r'name="entry" value="(\w+)"', page(owner, f"{self.base}/manage/entries{query}").text
        )
        return found

    def launch(self, owner: Person, replace: str = "", **consent: str) -> str:
        shown = page(owner, f"{self.base}/manage/final").text
        late = re.findall(r'name="replace" value="(\w+)"', shown) if replace else []
        waiting = re.findall(r"Launch (\d+) entr", shown)
        fields = {"expected": waiting[0]} if waiting and not late else {}
        done = post(owner, f"{self.base}/manage/final/final/launch", replace=late, **fields, **consent)
        return flash(done) or done.text

    def verify(self, owner: Person) -> list[str]:
        """The organizers note that they know everybody who wins; who these are."""
        shown = page(owner, f"{self.base}/manage/final").text
        forms = re.findall(r'action="([^"]+/winners/([^"/]+))"', shown)
        for address, _ in forms:
            assert "noted as verified" in flash(post(owner, address, identity="verified", reason="a call"))
        return sorted(name for _, name in forms)

    def publish(self, owner: Person) -> None:
        post(owner, f"{self.base}/manage/final/final/publish", winners="1", confirm="final")

    def disqualify(self, owner: Person, league: str, team: str) -> None:
        """Past public results, so it is asked for by name."""
        row = self._entry(owner, f"?phase=final&league={league}&q={team}")
        said = {"entry": row, "act": "disqualify", "reason": "it used the test data"}
        asked = post(owner, f"{self.base}/manage/entries", **said).text
        (name,) = re.findall(r"Type <code>(.*?)</code>", asked)
        post(owner, f"{self.base}/manage/entries", **said, confirm=name, override="1")

    def results(self, visitor: Person) -> Table:
        shown = page(visitor, f"{self.base}/results").text
        found = dict.fromkeys(re.findall(rf'"{self.base}/results/final/([\w-]+)\.csv', shown))
        return {league: self._table(visitor, league) for league in found}

    def _table(self, visitor: Person, league: str) -> list[tuple[int, str, float, int]]:
        text = page(visitor, f"{self.base}/results/final/{league}.csv").text
        return [
            (
                int(row["rank"]),
                row["team"],
                round(float(row["score"]), 6),
                int((row["prize"] or "0").split()[0]),
            )
            for row in csv.DictReader(io.StringIO(text))
        ]


class Commands(Pages):
    """The same at the command line."""

    where = ""

    def run(self, person: Person, *words: str) -> str:
        said = CliRunner().invoke(main, [*words, "--server", self.where, "--token", person.token])
        return said.output if said.exit_code else f"ok {said.stdout}"

    def bring_in(self, owner: Person, start: str) -> None:
        words = ["admin", "import", self.slug, "--owner", owner.username, "--start", start]
        said = CliRunner().invoke(main, words, env=self.site.environment)
        assert said.exit_code == 0, said.output

    def submit(self, person: Person, content: bytes, leagues: list[str]) -> str:
        path = self.folder / "method.zip"
        path.write_bytes(content)
        options = [word for league in leagues for word in ("--league", league)]
        said = self.run(person, "submit", str(path), "--to", f"{self.slug}/feedback", "--join", *options)
        return "" if said.startswith("ok") else said

    def answer(self, person: Person, league: str, **said: str) -> str:
        words = [f"{key}={text}" for key, text in said.items()]
        found = self.run(person, "answer", self.slug, league, *words)
        return "" if found.startswith("ok") else found

    def decide(self, owner: Person, league: str, team: str, act_name: str, reason: str = "") -> None:
        rows = self.show(owner, "teams", self.slug)
        (identity,) = [row["team"] for row in rows if (row["league"], row["team_name"]) == (league, team)]
        said = self.do(owner, f"team.{act_name}", league, identity, "--reason", reason)
        assert json.loads(said.removeprefix("ok "))["changed"]

    def launch(self, owner: Person, replace: str = "", **consent: str) -> str:
        rows = self.show(owner, "final", self.slug, "final") if replace else []
        words = [w for row in rows if row["team"] == replace for w in ("--set", f"replace={row['team_id']}")]
        words += ["--override", "--yes", "final"] if consent else []
        said = self.do(owner, "final.launch", "final", *words)
        if not said.startswith("ok "):
            return said
        launched = json.loads(said.removeprefix("ok "))["submissions"]
        return f"{count_of(len(launched), 'entry is', 'entries are')} queued."

    def verify(self, owner: Person) -> list[str]:
        rows = self.show(owner, "winners", self.slug, "final")
        people = [one["username"] for row in rows for one in row["members"] if one["identity"] == "open"]
        for name in people:
            words = ("--set", "identity=verified", "--reason", "a call")
            assert self.do(owner, "winner.check", "final", name, *words).startswith("ok ")
        return sorted(people)

    def publish(self, owner: Person) -> None:
        said = self.do(owner, "final.publish", "final", "--set", "winners=1", "--yes", "final")
        assert said.startswith("ok"), said

    def disqualify(self, owner: Person, league: str, team: str) -> None:
        wanted = [w for one in ("phase=final", f"league={league}", f"text={team}") for w in ("--where", one)]
        (row,) = self.show(owner, "entries", self.slug, *wanted)["items"]
        consent = ("--reason", "test data", "--override", "--yes", row["submission"][:12])
        said = self.do(owner, "submission.disqualify", row["submission"], *consent)
        assert said.startswith("ok"), said

    def show(self, owner: Person, *words: str) -> Any:
        return json.loads(self.run(owner, "organize", "show", *words, "--json").removeprefix("ok "))

    def do(self, owner: Person, act: str, *words: str) -> str:
        return self.run(owner, "organize", "do", self.slug, act, *words)

    def results(self, visitor: Person) -> Table:
        found = json.loads(self.run(visitor, "winners", f"{self.slug}/final", "--json").removeprefix("ok "))
        return {
            league["league"]: [
                (row["rank"], row["team"], round(row["score"], 6), int(row["prize"]))
                for row in league["rows"]
            ]
            for league in found["leagues"]
        }


def open_it(site: Site, slug: str, **changes: Any) -> None:
    """The draft is published; this site's worker has no GPU. `changes` are of every phase's version."""
    with site.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="feedback").order_by(Phase.created_at.desc()).first()
        assert phase is not None and phase.competition.slug == slug
        phase.competition.state = CompetitionState.PUBLISHED
        for version in session.query(PhaseVersion):
            version.hardware_class, version.gpus = "cpu", 0
            for name, value in changes.items():
                if version.phase.competition_id == phase.competition_id:
                    setattr(version, name, value)


def close_feedback(site: Site, slug: str) -> None:
    """Time passes: the feedback phase has ended."""
    with site.services.database.writing() as session:
        for phase in session.query(Phase).filter_by(slug="feedback"):
            if phase.competition.slug == slug:
                phase.ends_at = now() - timedelta(seconds=1)


def join_team(base: str, captain: Person, other: Person, name: str) -> None:
    """Both join; the captain invites under a name, the other accepts."""
    for person in (captain, other):
        joined = post(person, f"{base}/join", accept="1")
        assert joined.status_code == 303, joined.text
    assert post(captain, f"{base}/team/name", name=name).status_code == 303
    invited = post(captain, f"{base}/team/invite", username=other.username)
    assert invited.status_code == 303, invited.text
    (link,) = re.findall(r'action="([^"]+/invitations/\w+/accept)"', page(other, f"{base}/team").text)
    assert post(other, link).status_code == 303


@contextmanager
def opened(kind: type[Pages], site: Site, folder: Path, slug: str) -> Iterator[Pages]:
    """One of the two ways; the command line talks to a server."""
    made = kind(site, folder, slug)
    if not isinstance(made, Commands):
        yield made
        return
    with served(site.app, free_port()) as where:
        made.where = where
        yield made
