"""Every page says when submissions run without a sandbox."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from anyshot_platform.foundation.database import now
from anyshot_platform.judging.workers.models import Worker
from tests.platform.site import Site

WORDS = "Submissions run here without a sandbox"


def announce(site: Site, sandbox: str, **changes: object) -> None:
    site.worker("w").claim()
    with site.services.database.writing() as session:
        worker = session.scalars(select(Worker)).one()
        assert worker.info is not None
        worker.info = worker.info.model_copy(update={"sandbox": sandbox})
        for name, value in changes.items():
            setattr(worker, name, value)


@pytest.mark.parametrize("path", ["/", "/competitions/small", "/login", "/docs/"])
def test_a_worker_without_a_sandbox_is_told_of_on_every_page(site: Site, path: str):
    assert WORDS not in site.client.get(path).text
    announce(site, "trusted")
    assert WORDS in site.client.get(path).text


@pytest.mark.parametrize(
    ("sandbox", "changes"),
    [
        ("docker", {}),
        ("trusted", {"stopped_at": now()}),
        ("trusted", {"last_seen_at": now() - timedelta(days=2)}),
    ],
)
def test_others_are_not(site: Site, sandbox: str, changes: dict[str, object]):
    announce(site, sandbox, **changes)
    assert WORDS not in site.client.get("/").text
