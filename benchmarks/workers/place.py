"""A running site as its only participant sees it, with a look into its database."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Run
from benchmarks.chaos import machines
from benchmarks.chaos.stage import submit

ENDED = ("finished", "failed", "cancelled", "timed_out")


@dataclass
class Place:
    """A running site and its workers; not all of them work."""

    services: Services
    client: httpx.Client
    workers: list[machines.Process]
    number: int = 0

    def submit(self, content: Callable[[int], bytes]) -> str:
        """Submit the next bundle; returns the submission's id."""
        self.number += 1
        return submit(self.client, f"bundle{self.number}", content(self.number))

    def wait(self, ids: list[str], seconds: float = 300.0) -> list[Run]:
        """The runs of these submissions, once all have ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            runs = self.runs(ids)
            if all(run.state in ENDED for run in runs):
                return runs
            time.sleep(0.2)
        raise RuntimeError(f"the runs did not end:\n{self.workers[0].log_tail()}")

    def runs(self, ids: list[str]) -> list[Run]:
        """The runs of these submissions, as they are."""
        with self.services.database.reading() as session:
            return list(_find_runs(session, ids))


def _find_runs(session: Session, ids: list[str]) -> list[Run]:
    return list(session.scalars(select(Run).where(Run.submission_id.in_(ids)).order_by(Run.queued_at)))
