"""The demo's participants: they use the public API like anybody else."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyshot_core.client import Client
from anyshot_platform.server.demo.organizer import DemoCompetition

ENDED = {"finished", "failed", "cancelled"}
LEAGUES = ("free-style", "meta-learning")


class DemoFailed(Exception):
    """A submission of the demo did not end as it should."""


@dataclass(frozen=True)
class Entrant:
    """A participant and the zip that they hand in."""

    name: str
    title: str
    bundle: Path


class Participant:
    """Signed up and signed in, over the client of the starting kit."""

    def __init__(self, address: str, stage: DemoCompetition, entrant: Entrant) -> None:
        self.entrant, self._stage = entrant, stage
        self.password = secrets.token_urlsafe(9)
        self.submission = ""
        with Client(address) as nobody:
            nobody.sign_up(entrant.name, f"{entrant.name}@example.org", self.password)
            token = nobody.log_in(entrant.name, self.password, "demo")
        self._client = Client(address, token)

    def close(self) -> None:
        """Drop the connection."""
        self._client.__exit__()

    def enter(self) -> None:
        """Join the competition, upload the zip and hand it in."""
        stage = self._stage
        self._client.join(stage.competition, accepts_terms=True)
        made = self._client.submit(
            self.entrant.bundle, stage.competition, stage.phase, comment=self.entrant.title, leagues=LEAGUES
        )
        self.submission = made["id"]

    def look(self) -> dict[str, Any]:
        """The submission as its owner sees it."""
        return self._client.submission(self.submission)

    def leaderboard(self, league: str) -> list[dict[str, Any]]:
        """The rows of a league's board."""
        return self._client.leaderboard(self._stage.competition, self._stage.phase, league)["rows"]


@contextmanager
def entering(
    address: str, stage: DemoCompetition, entrants: Sequence[Entrant]
) -> Iterator[list[Participant]]:
    """Sign every entrant up and submit for them."""
    participants: list[Participant] = []
    try:
        for entrant in entrants:
            participants.append(Participant(address, stage, entrant))
            participants[-1].enter()
        yield participants
    finally:
        for participant in participants:
            participant.close()


def follow(
    participants: Sequence[Participant],
    on_change: Callable[[Participant, dict[str, Any]], None],
    still_up: Callable[[], None],
    seconds: float,
) -> None:
    """Report every submission until all have ended; raises `DemoFailed` for one without a score.

    `still_up` raises when the server is gone; `seconds` is how long to wait in all.
    """
    open_ones, deadline = list(participants), time.monotonic() + seconds
    while open_ones:
        still_up()
        for participant in list(open_ones):
            seen = participant.look()
            on_change(participant, seen)
            if seen["status"] in ENDED:
                open_ones.remove(participant)
                _require_score(participant, seen)
        if time.monotonic() > deadline:
            waiting = ", ".join(p.entrant.name for p in open_ones)
            raise DemoFailed(f"after {seconds:.0f} s the submissions of {waiting} have not ended")
        time.sleep(0.5)


def _require_score(participant: Participant, seen: dict[str, Any]) -> None:
    if seen["status"] == "finished":
        return
    run = seen["runs"][0] if seen["runs"] else {}
    why = f"{seen.get('verdict')} {run.get('message', '')}\n{run.get('detail', '')}"
    raise DemoFailed(f"the submission of {participant.entrant.name} ended {seen['status']}: {why}")
