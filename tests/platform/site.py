"""A site with a small competition, its people, and a worker that plays what real ones were recorded saying."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.app import create_app
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import add_member, create_competition
from anyshot_platform.contest.competitions.states import CompetitionState, Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.receipts.service import make_key
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.people.accounts.service import create_token, create_user
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.standings.leaderboards.memo import forget_all
from anyshot_scoring.summary import Group, RunSummary
from tests.contract.recording import name_of_end, play, recorded

PASSWORD = "a passphrase for tests"
MODEL = b"class MyMetaLearner: pass\nclass MyLearner: pass\n"
SLUG = "small"


def make_zip(files: dict[str, bytes] | None = None, *, salt: str = "") -> bytes:
    """A submission zip; `salt` makes its digest its own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in (files or {"model.py": MODEL + f"# {salt}\n".encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), content)  # a fixed date, so a fixed digest
    return buffer.getvalue()


def summary(mean: float, tasks: int, datasets: dict[str, float] | None = None) -> dict[str, Any]:
    """A recorded summary with these numbers; of what the tests give no numbers for, there is no group."""
    by_dataset = (datasets or {"alpha": mean}).items()
    found = RunSummary.from_dict(recorded("complete-evaluate")["summary"])
    changed = replace(
        found,
        mean=mean,
        half_width=0.02,
        tasks=tasks,
        by_dataset=tuple(Group(key, value, 0.01, tasks) for key, value in by_dataset),
        by_domain=(),
        by_ways=(),
        by_shots=(),
        metrics=(),
    )
    return changed.to_dict()


@dataclass
class Person:
    """A user with an API token."""

    id: str
    username: str
    token: str
    client: TestClient = field(repr=False)

    def call(self, method: str, path: str, **options: Any) -> Response:
        """An API request as this user."""
        headers = {"authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    @property
    def headers(self) -> dict[str, str]:
        """What a request of this person carries, for pages too."""
        return {"authorization": f"Bearer {self.token}"}

    def upload(self, content: bytes, filename: str = "submission.zip") -> str:
        """Upload bytes in one part and return the upload's id."""
        begun = self.call("POST", "/api/v1/uploads", json={"filename": filename, "size": len(content)})
        assert begun.status_code == 201, begun.text
        upload_id = begun.json()["id"]
        sent = self.call("PUT", f"/api/v1/uploads/{upload_id}", params={"offset": 0}, content=content)
        assert sent.status_code == 200, sent.text
        return upload_id

    def submit(self, content: bytes | None = None, *, phase: str = "feedback", **wishes: Any) -> Response:
        """Upload and submit."""
        upload_id = self.upload(content if content is not None else make_zip(salt=self.username))
        path = f"/api/v1/competitions/{SLUG}/phases/{phase}/submissions"
        return self.call("POST", path, json={"upload_id": upload_id, **wishes})


@dataclass
class PaperWorker:
    """Evaluates nothing: says what real workers were recorded saying, about its own runs and with other numbers.

    `call` sends whatever it is given; everything else is checked by the wire's models before it is sent.
    """

    client: TestClient
    token: str
    name: str = "paper"
    hardware_class: str = "cpu"
    images: tuple[str, ...] = ()
    image_digests: Mapping[str, str] = field(default_factory=dict)
    cpu_images: tuple[str, ...] = ()
    inventories: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    analyses: bool = True
    gpus: tuple[str, ...] = ()
    memory_bytes: int = 64 << 30

    def call(self, method: str, path: str, **options: Any) -> Response:
        """A worker API request."""
        headers = {"authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return self.client.request(method, f"/api/worker/v1{path}", headers=headers, **options)

    def claim(self) -> dict[str, Any] | None:
        """Claim a run; None if there is nothing."""
        answer = self.ask()
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.status_code == 200 else None

    def ask(self) -> Response:
        """The answer to a claim."""
        known = recorded("claim")["worker"]
        own = {"name": self.name, "hardware_class": self.hardware_class, "images": list(self.images)}
        own |= {"image_digests": self.image_digests, "cpu_images": list(self.cpu_images)}
        own |= {"inventories": self.inventories}
        machine = {"cores": 16, "memory_bytes": self.memory_bytes, "gpus": list(self.gpus)}
        box = {"sandbox": "docker", "sandbox_reduced": False}
        worker = known | own | machine | box | {"analyses": self.analyses}
        return self.call("POST", "/claim", json=play("claim", worker=worker))

    def beat(
        self,
        job: dict[str, Any],
        stage: str = "meta_testing",
        measures: list[dict[str, Any]] | None = None,
        **progress: Any,
    ) -> Response:
        """A heartbeat; each of the measures gives what of the recorded one is other."""
        known = recorded("heartbeat")["progress"]
        told = {**dict.fromkeys(known, 0), "stage": stage, **progress}
        body = play("heartbeat", epoch=job["epoch"], progress=told)
        if measures:
            (one, *_) = recorded("heartbeat-measures")["measures"]
            body = play(
                "heartbeat-measures",
                epoch=job["epoch"],
                progress=told,
                measures=[one | measure for measure in measures],
            )
        return self.call("POST", f"/runs/{job['run_id']}/heartbeat", json=body)

    def tell(self, job: dict[str, Any], *lines: dict[str, Any]) -> Response:
        """Lines of a run's log; each gives what of the recorded line is other."""
        (known, *_) = recorded("events")["events"]
        body = play("events", epoch=job["epoch"], events=[known | line for line in lines])
        return self.call("POST", f"/runs/{job['run_id']}/events", json=body)

    def release(self, job: dict[str, Any], unreadable: str = "") -> Response:
        """Give a run back, because the worker stops or cannot read the job."""
        changes = {"epoch": job["epoch"]} | ({"unreadable": unreadable} if unreadable else {})
        body = play("release-unreadable" if unreadable else "release", **changes)
        return self.call("POST", f"/runs/{job['run_id']}/release", json=body)

    def put(self, job: dict[str, Any], name: str, content: bytes) -> Response:
        """Upload an artifact."""
        return self.call(
            "PUT",
            f"/runs/{job['run_id']}/artifacts/{name}",
            params={"epoch": job["epoch"]},
            content=content,
            headers={"x-digest": hashlib.sha256(content).hexdigest()},
        )

    def complete(self, job: dict[str, Any], mean: float, **changes: Any) -> Response:
        """Hand in a result without artifacts; the inspection found nothing unless `evidence` says so."""
        start, stop = job["shard"] or (0, job["tasks"])
        name = name_of_end("complete", job, {})
        found = {"evidence": recorded("evidence-clean")} if "evidence" in recorded(name) else {}
        known = {"summary": summary(mean, stop - start), "artifacts": [], **found, **changes}
        body = play(name, epoch=job["epoch"], **self._of_machine(name, job, known))
        return self.call("POST", f"/runs/{job['run_id']}/complete", json=body)

    def fail(self, job: dict[str, Any], verdict: str, message: str = "it failed", **more: Any) -> Response:
        """Hand in a failure."""
        known = {"message": message, "detail": "", "artifacts": [], **more}
        name = f"fail-{verdict}"
        body = play(name, epoch=job["epoch"], **self._of_machine(name, job, known))
        return self.call("POST", f"/runs/{job['run_id']}/fail", json=body)

    def _of_machine(self, name: str, job: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
        """What was used, and on what: as it was recorded, but for what a test gives."""
        message = recorded(name)
        told = {"worker": self.name, "protocol_digest": job.get("fingerprint", "")}
        provenance = message["provenance"] | told | changes.get("provenance", {})
        return changes | {"usage": message["usage"] | changes.get("usage", {}), "provenance": provenance}


_APPS: list[FastAPI] = []


def the_app(services: Services) -> FastAPI:
    """One application for all tests, on each test's own services: building its routes takes a second."""
    if not _APPS:
        _APPS.append(create_app(services.settings, services))
    _APPS[0].state.services = services
    return _APPS[0]


class Site:
    """The web service in this process, and a competition `small` with a feedback phase of ten tasks."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.app = the_app(services)
        self.client = TestClient(self.app)

    def __enter__(self) -> Site:
        forget_all()  # the same ids mean other rows than in the test before
        self.client.__enter__()
        self.owner_id, self.phase_id = find_small_site(self.services) or make_small_site(self.services)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.__exit__(kind, error, trace)

    @property
    def environment(self) -> dict[str, str]:
        """What an operator's command is given to find this site."""
        settings = self.services.settings
        return {
            "ANYSHOT_SECRET_KEY": settings.secret_key.get_secret_value(),
            "ANYSHOT_HOME": str(settings.home),
            "ANYSHOT_DATABASE_URL": settings.database_address,
        }

    def person(self, username: str, *, scopes: tuple[Scope, ...] = tuple(Scope), **changes: Any) -> Person:
        """A new user who is in no competition."""
        with self.services.database.writing() as session:
            user = make_user(session, username, **changes)
            token = create_token(session, user.id, name="tests", scopes=scopes, proved_at=now()).secret
            return Person(user.id, username, token, self.client)

    def owner(self) -> Person:
        """The competition's owner."""
        with self.services.database.writing() as session:
            token = create_token(
                session, self.owner_id, name="tests", scopes=tuple(Scope), proved_at=now()
            ).secret
        return Person(self.owner_id, "olga", token, self.client)

    def member(self, username: str, role: Role = Role.PARTICIPANT) -> Person:
        """A new user with a role in the competition."""
        person = self.person(username)
        with self.services.database.writing() as session:
            add_member(session, self.competition(session), session.get_one(User, person.id), role)
        return person

    def worker(self, name: str = "paper", **changes: Any) -> PaperWorker:
        """A worker with a token of its own."""
        with self.services.database.writing() as session:
            token = create_worker_token(session, name)
        return PaperWorker(self.client, token, name, **changes)

    def competition(self, session: Session) -> Competition:
        """The competition."""
        return session.get_one(Phase, self.phase_id).competition

    def set_phase(self, **values: Any) -> None:
        """Change the phase."""
        with self.services.database.writing() as session:
            phase = session.get_one(Phase, self.phase_id)
            for name, value in values.items():
                setattr(phase, name, value)

    def offer_smoke_tests(self, *names: str) -> str:
        """Smoke tests of the phase, on a public pool of its own; the pool's short name."""
        ids = [make_paper_pack(self.services, name) for name in names or ("public",)]
        with self.services.database.writing() as session:
            pool = create_pool(session, slug="public", name="Public", owner_id=self.owner_id)
            pool.published_at = now()
            packs = [session.get_one(Pack, pack_id) for pack_id in ids]
            version = create_pool_version(session, pool, packs, created_by=self.owner_id)
            session.get_one(Phase, self.phase_id).smoke_pool_version_id = version.id
        return "public"

    def set_version(self, **values: Any) -> None:
        """Change the phase's live version, as no organizer could."""
        with self.services.database.writing() as session:
            for name, value in values.items():
                setattr(session.get_one(Phase, self.phase_id).versions[0], name, value)

    def submission(self, submission_id: str) -> Submission:
        """A submission as it is in the database now."""
        with self.services.database.reading() as session:
            return session.get_one(Submission, submission_id)

    def board(self, league: str | None = None) -> dict[str, Any]:
        """The public leaderboard."""
        path = f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard"
        answer = self.client.get(path, params={"league": league} if league else {})
        assert answer.status_code == 200, answer.text
        return answer.json()


def make_user(session: Session, username: str, **changes: Any) -> User:
    """A new user: without a password unless a test logs in, since argon2 is slow on purpose."""
    options = {"password": None, **changes}
    return create_user(session, username=username, email=f"{username}@example.org", **options)


def make_small_site(services: Services) -> tuple[str, str]:
    """Its owner and the competition `small`; returns the ids of owner and phase."""
    with services.database.writing() as session:
        make_key(session)
        owner_id = make_user(session, "olga").id
    return owner_id, make_small_competition(services, owner_id)


def find_small_site(services: Services) -> tuple[str, str] | None:
    """Those ids, where the database came with them."""
    owner = select(User.id).where(User.username == "olga").scalar_subquery()
    query = select(owner, Phase.id).join(Phase.competition).where(Competition.slug == SLUG)
    with services.database.reading() as session:
        found = session.execute(query).first()
    return None if found is None else (found[0], found[1])


def make_small_competition(services: Services, owner_id: str, *, slug: str = SLUG) -> str:
    """Create a published competition with one open phase and two leagues; returns the phase's id."""
    pack_id = make_paper_pack(services, "alpha" if slug == SLUG else f"{slug}-alpha")
    training_id = make_paper_pack(services, f"{slug}-training")
    with services.database.writing() as session:
        owner = session.get_one(User, owner_id)
        competition = create_competition(session, owner, slug=slug, title="A small competition")
        competition.state = CompetitionState.PUBLISHED
        session.add_all(
            [
                League(competition_id=competition.id, slug="free", name="Free style", position=0),
                League(
                    competition_id=competition.id,
                    slug="scratch",
                    name="From scratch",
                    position=1,
                    admission=Admission.FROM_SCRATCH,
                ),
            ]
        )
        pool = create_pool(session, slug=f"{slug}-pool", name="Pool", owner_id=owner.id)
        version = create_pool_version(session, pool, [session.get_one(Pack, pack_id)], created_by=owner.id)
        training = create_pool(session, slug=f"{slug}-train", name="Training", owner_id=owner.id)
        trained = create_pool_version(
            session, training, [session.get_one(Pack, training_id)], created_by=owner.id
        )
        phase = Phase(
            competition_id=competition.id,
            slug="feedback",
            name="Feedback",
            starts_at=now() - timedelta(days=1),
            ends_at=now() + timedelta(days=30),
            quota_day=3,
            quota_phase=100,
            quota_concurrent=3,
        )
        phase.versions = [
            PhaseVersion(
                number=1,
                meta_train_pool_version_id=trained.id,
                meta_test_pool_version_id=version.id,
                protocol={"name": "any_way_any_shot"},
                tasks=10,
                train_seeds=[93],
                test_seeds=[94],
                run_seconds=600.0,
            )
        ]
        session.add(phase)
        session.flush()
        return phase.id


def make_paper_pack(services: Services, name: str = "alpha") -> str:
    """A row for a pack whose content nobody reads; returns its id."""
    folder = Path(services.settings.home)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.anyshot-pack"
    path.write_bytes(f"a pack named {name}".encode())
    blob = keep_file(services, path)
    with services.database.writing() as session:
        row = Pack(name=name, domain="paper", digest=blob.digest, size=blob.size, images=400, classes=20)
        session.add(row)
        session.flush()
        return row.id


def in_one_line(text: str) -> str:
    """A page's text with its sentences in one line each: templates break them."""
    return re.sub(r"(?<=[a-z,.])\n\s+(?=[A-Za-z“])", " ", text)
