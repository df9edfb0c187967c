"""A distributed site with a small competition, and a participant who submits to it."""

import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from sqlalchemy import select

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_platform.app import make_services
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.service import add_pack
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.people.accounts.service import create_token, create_user
from anyshot_platform.people.users.viewer import Scope
from benchmarks.load.stage import SLUG, make_competition

DATASETS = ("OCR_LAT", "SHP_FIL")
TASKS = 4


def services_of(environment: Mapping[str, str]) -> Services:
    """What the site's web service works with, to look at its database from here."""
    settings = PlatformSettings.model_validate(
        {
            "secret_key": environment["ANYSHOT_SECRET_KEY"],
            "home": environment["ANYSHOT_HOME"],
            "database_url": environment.get("ANYSHOT_DATABASE_URL"),
        }
    )
    return make_services(settings)


def make_stage(services: Services, home: Path) -> None:
    """A competition with two small generated datasets."""
    folder = make_demo_data(home / "data", classes=6, images=12, datasets=DATASETS)
    packs = [add_pack(services, pack_dataset(folder / name, home).path).id for name in DATASETS]
    make_competition(services, packs, tasks=TASKS)


def make_tokens(services: Services) -> tuple[str, str]:
    """A participant's and a worker's token."""
    with services.database.writing() as session:
        user = create_user(session, username="alice", email="alice@example.org", password=None)
        competition = session.scalars(select(Phase)).one().competition
        add_member(session, competition, user, Role.PARTICIPANT)
        token = create_token(session, user.id, name="chaos", scopes=list(Scope)).secret
        return token, create_worker_token(session, "chaos")


def submit(client: httpx.Client, name: str, content: bytes) -> str:
    """Upload and submit one bundle, again and again while the database is away; returns the submission's id.

    `name` becomes the submission's comment, by which it is found again.
    """
    while True:
        try:
            begun = client.post(
                "/api/v1/uploads", json={"filename": f"{name}.zip", "size": len(content)}
            ).raise_for_status()
            path = f"/api/v1/uploads/{begun.json()['id']}"
            client.put(path, params={"offset": 0}, content=content).raise_for_status()
            body = {"upload_id": begun.json()["id"], "comment": name}
            answer = client.post(f"/api/v1/competitions/{SLUG}/phases/feedback/submissions", json=body)
            return answer.raise_for_status().json()["id"]
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            print(f"submitting again: {error}", flush=True)
            time.sleep(1)
