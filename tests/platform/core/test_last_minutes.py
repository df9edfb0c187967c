"""The last ten minutes of a phase with 200 participants, on a clock of the test's own and a real server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from anyshot_platform.foundation import database
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.server.sweeper import take_back_lost
from anyshot_platform.site.web.admission import Slots
from tests.platform.core.test_admission import served
from tests.platform.core.test_deadline import HAND_IN
from tests.platform.site import SLUG, Person, Site, make_zip

END = datetime(2031, 5, 1, 12, 0, tzinfo=UTC)
LONGER = 120  # seconds by which the end is moved, five seconds before it
GRACE = 900
REFUSAL = (
    "“Feedback” is closed: it ended at 1 May 2031, 12:02 UTC. Only its organizers can give you more time."
)
BOARD = f"/competitions/{SLUG}/leaderboard"


class Clock(datetime):
    """What the platform takes the present moment from."""

    present = END

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return cls.present


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(database, "datetime", Clock)
    Clock.present = END - timedelta(minutes=10)
    return Clock


@dataclass
class Team:
    """A participant, with what they are told; `in_time` says whether their submission counts."""

    person: Person
    in_time: bool
    upload_id: str = ""
    told: list[Any] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        return make_zip(salt=self.person.username)

    def begin(self) -> None:
        body = {"filename": "a.zip", "size": len(self.content)}
        self.upload_id = self._call("POST", "/api/v1/uploads", json=body)["id"]
        self.send(0, 10)

    def send(self, start: int, stop: int | None = None) -> None:
        path, part = f"/api/v1/uploads/{self.upload_id}", self.content[start:stop]
        self._call("PUT", path, params={"offset": start}, content=part)

    def finish(self) -> None:
        self.send(10)
        self._call("POST", HAND_IN, json={"upload_id": self.upload_id})

    def submit(self) -> None:
        self.begin()
        self.finish()

    def read_board(self) -> None:
        answer = self.person.call("GET", BOARD, headers={"accept": "text/html"})
        assert answer.status_code == 200 and "Leaderboard" in answer.text

    def _call(self, method: str, path: str, **what: Any) -> Any:
        answer = self.person.call(method, path, **what)
        self.told.append((answer.status_code, answer.json()))
        return answer.json()


class Play:
    """A real server that can be restarted, its participants, and what happens at which second before the end."""

    def __init__(self, site: Site, clock: type[Clock]) -> None:
        self.site, self._clock = site, clock
        self.teams: list[Team] = []
        self._script: list[tuple[float, Callable[[], None]]] = []
        self._server = ExitStack()
        self.restart()

    def restart(self) -> None:
        self._server.close()
        self.address = self._server.enter_context(served(self.site))
        for team in self.teams:
            team.person.client = self._client()

    def _client(self) -> Any:
        return self._server.enter_context(httpx.Client(base_url=self.address, timeout=60))

    def close(self) -> None:
        self._server.close()

    def team(self, *, in_time: bool) -> Team:
        person = self.site.member(f"team{len(self.teams):03}")
        person.client = self._client()
        self.teams.append(Team(person, in_time))
        return self.teams[-1]

    def at(self, second: float, happens: Callable[[], None]) -> None:
        self._script.append((second, happens))

    def run(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            for second in sorted({second for second, _ in self._script}):
                self._clock.present = END + timedelta(seconds=second)
                now = [happens for moment, happens in self._script if moment == second]
                for done in [pool.submit(happens) for happens in now]:
                    done.result(120)


@pytest.fixture
def stage(site: Site, clock: type[Clock]) -> Iterator[Play]:
    site.set_phase(starts_at=END - timedelta(days=30), ends_at=END, grace_seconds=float(GRACE))
    made = Play(site, clock)
    yield made
    made.close()


@pytest.mark.slow("200 participants")
def test_the_last_ten_minutes(stage: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    site, owner = stage.site, stage.site.owner()
    for number in range(100):  # they submit in the ten minutes before the end
        stage.at(-600 + 5.9 * number, stage.team(in_time=True).submit)
    for number in range(40):  # over a slow line: it begins before a restart, and is through after the end
        team = stage.team(in_time=True)
        stage.at(-300 + number, team.begin)
        stage.at(LONGER + GRACE - 1 - number, team.finish)
    for number in range(10):  # a line that is too slow
        team = stage.team(in_time=False)
        stage.at(-100 + number, team.begin)
        stage.at(LONGER + GRACE + 1 + number, team.finish)
    for number in range(20):  # between the first end and the one it is moved to
        stage.at(1 + number, stage.team(in_time=True).submit)
    for number in range(20):  # after it
        stage.at(LONGER + number, stage.team(in_time=False).submit)
    refused = [stage.team(in_time=True) for _ in range(10)]  # told that the site is full, a second before
    busy = set[str]()
    take = Slots.take

    async def take_or_not(slots: Slots) -> bool:
        return not busy and await take(slots)

    def refuse() -> None:
        monkeypatch.setattr(Slots, "take", take_or_not)
        busy.add("yes")
        for team in refused:
            body = {"filename": "a.zip", "size": len(team.content)}
            team.told.append(answer := team.person.call("POST", "/api/v1/uploads", json=body))
            assert answer.status_code == 503 and "Your place is kept" in answer.json()["message"]
        busy.clear()

    stage.at(LONGER - 1, refuse)
    for team in refused:
        stage.at(LONGER + 60, team.submit)
    worker, died = site.worker(), site.worker("dies")
    stage.at(-60, stage.restart)
    stage.at(-30, lambda: assert_claimed(died.claim()))
    stage.at(-5, lambda: extend(owner, END + timedelta(seconds=LONGER)))
    for team in stage.teams[:50]:
        stage.at(-1, team.read_board)
    stage.at(LONGER + 30, lambda: assert_one(take_back_lost(site.services)))
    stage.run()

    for team in stage.teams:
        status, said = team.told[-1]
        assert status == (201 if team.in_time else 409), (team.person.username, said)
        if not team.in_time:
            assert said["message"] == REFUSAL
    means = {team.person.id: 0.9 - 0.003 * (number * 7 % 200) for number, team in enumerate(stage.teams)}
    while (job := worker.claim()) is not None:
        with site.services.database.reading() as session:
            owner_id = session.scalar(select(Submission.user_id).join(Run).where(Run.id == job["run_id"]))
        assert worker.complete(job, means[str(owner_id)]).status_code == 204
    counted = [team.person for team in stage.teams if team.in_time]
    wanted = [one.username for one in sorted(counted, key=lambda one: -means[one.id])]
    path = f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard"
    rows = site.client.get(path, params={"limit": 500}).json()["rows"]
    assert [row["team"] for row in rows] == wanted
    assert [row["rank"] for row in rows] == list(range(1, 171))


def assert_claimed(job: dict[str, Any] | None) -> None:
    assert job is not None


def assert_one(taken_back: int) -> None:
    assert taken_back == 1


def extend(owner: Person, end: datetime) -> None:
    path = f"/api/v1/competitions/{SLUG}/manage/phases/feedback/acts/extend"
    answer = owner.call("POST", path, json={"end": end.isoformat()})
    assert answer.status_code == 200, answer.text
