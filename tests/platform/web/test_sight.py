"""Every exit of a result, for everybody, in every state: what is seen is written down here, not read off the code."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.app import create_app
from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.database import now
from anyshot_platform.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.phases.models import Phase
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.submissions import service
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.organizing import Act, act_on
from anyshot_platform.submissions.withdrawing import withdraw
from anyshot_platform.users.models import User
from anyshot_platform.users.service import begin_session, create_user
from anyshot_platform.web.services import Services
from anyshot_platform.web.viewer import SESSION_COOKIE
from tests.platform.web.scene import Scene

SCORE, HALF_WIDTH = 0.7654321, 0.0876543
STAFF = {"reviewer", "organizer", "owner", "administrator"}
WHO: dict[str, set[str]] = {
    "all": {"anonymous", "other", "member", *STAFF},
    "participants": {"other", "member", *STAFF},
    "team": {"member", *STAFF},
    "member": {"member"},
    "staff": STAFF,
    "-": set(),
}
# The exits of the member's submission S (A is an earlier one), of its phase's board, and of its organizers.
EXITS = {
    "page": "/submissions/S",
    "page's stream": "/submissions/S/stream",
    "API": "/api/v1/submissions/S",
    "API's stream": "/api/v1/submissions/S/stream",
    "figures": "/submissions/S/figures.csv",
    "tasks": "/submissions/S/tasks.csv",
    "report": "/submissions/S/report.html",
    "everything": "/submissions/S/everything.zip",
    "API's everything": "/api/v1/submissions/S/everything",
    "compare": "/compare?id=S&id=A",
    "compare's choices": "/compare",
    "confusion": "/submissions/S/confusion",
    "home": "/",
    "own submissions": "/submissions",
    "team's submissions": "/competitions/C/submissions",
    "API's list": "/api/v1/competitions/C/submissions?everyone=true",
    "notifications": "/notifications",
    "competition": "/competitions/C",
    "board": "/competitions/C/leaderboard",
    "API's board": "/api/v1/competitions/C/phases/feedback/leaderboard",
    "history": "/api/v1/competitions/C/phases/feedback/leaderboard/history",
    "code": "/competitions/C/code",
    "API's code": "/api/v1/competitions/C/code",
    "code's zip": "/competitions/C/code/S.zip",
    "manage": "/competitions/C/manage/submissions",
    "API's manage": "/api/v1/competitions/C/manage/submissions",
    "exported submissions": "/competitions/C/manage/exports/submissions.csv",
    "exported boards": "/competitions/C/manage/exports/leaderboards.csv",
}
# Exits that draw or pack: asked by one of each kind only.
SLOW = {"page", "report", "everything", "API's everything", "compare", "confusion", "board"}
ONE_OF_EACH = {"anonymous", "other", "member", "reviewer", "owner"}
STATES = ("shown", "hidden", "unpublished", "frozen", "withdrawn", "disqualified", "deleted")
# Who sees the submission's figure at an exit (at the confusion its classes, at the code's zip the zip itself).
TABLE = """
exit                 | shown  | hidden | unpublished | frozen | withdrawn | disqualified | deleted
page                 | team   | staff  | staff       | team   | team      | team         | staff
page's stream        | -      | -      | -           | -      | -         | -            | -
API                  | team   | staff  | staff       | team   | team      | team         | staff
API's stream         | -      | -      | -           | -      | -         | -            | -
figures              | team   | staff  | staff       | team   | team      | team         | staff
tasks                | team   | staff  | staff       | team   | team      | team         | staff
report               | team   | staff  | staff       | team   | team      | team         | staff
everything           | team   | staff  | staff       | team   | team      | team         | staff
API's everything     | team   | staff  | staff       | team   | team      | team         | staff
compare              | team   | staff  | staff       | team   | team      | team         | staff
compare's choices    | member | -      | -           | member | member    | member       | -
confusion            | team   | staff  | staff       | team   | team      | team         | staff
home                 | member | -      | -           | member | member    | member       | -
own submissions      | member | -      | -           | member | member    | member       | -
team's submissions   | member | -      | -           | member | member    | member       | -
API's list           | team   | staff  | staff       | team   | team      | team         | -
notifications        | -      | -      | -           | -      | -         | -            | -
competition          | -      | -      | -           | -      | -         | -            | -
board                | all    | staff  | staff       | -      | -         | -            | -
API's board          | all    | staff  | staff       | -      | -         | -            | -
history              | all    | staff  | staff       | -      | -         | -            | -
code                 | all    | staff  | -           | all    | -         | -            | -
API's code           | all    | staff  | -           | all    | -         | -            | -
code's zip           | all    | all    | -           | all    | -         | -            | -
manage               | staff  | staff  | staff       | staff  | staff     | staff        | -
API's manage         | staff  | staff  | staff       | staff  | staff     | staff        | -
exported submissions | staff  | staff  | staff       | staff  | staff     | staff        | staff
exported boards      | staff  | staff  | staff       | -      | -         | -            | -
"""


def _expected() -> dict[tuple[str, str], str]:
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
    return {(row[0], state): who for row in rows for state, who in zip(head[1:], row[1:], strict=True)}


class Stage:
    """The scene's site, with somebody in every role, and the member's submission with a figure of its own."""

    def __init__(self, services: Services, scene: Scene, client: TestClient) -> None:
        self.services, self.scene, self.client = services, scene, client
        self.submission_id = scene.submissions["finished"].id
        self.cookies: dict[str, str] = {}
        with services.database.writing() as session:
            self._mark(session)
            for name, user in self._people(session).items():
                self.cookies[name] = begin_session(session, user, user_agent="test", days=1).secret

    def _people(self, session: Session) -> dict[str, User]:
        found = {"other": "bob", "member": "ada", "owner": "olga", "administrator": "root-admin"}
        people = {
            role: session.scalars(select(User).where(User.username == name)).one()
            for role, name in found.items()
        }
        for role in (Role.REVIEWER, Role.ORGANIZER):
            user = create_user(session, username=f"an-{role}", email=f"{role}@example.org", password=None)
            session.add(
                Membership(
                    competition_id=self.scene.competition.id,
                    user_id=user.id,
                    role=role,
                    status=MemberStatus.APPROVED,
                )
            )
            people[role.value] = user
        return people

    def _mark(self, session: Session) -> None:
        """Give the submission figures that stand nowhere else, everywhere; its code is published."""
        submission = self.submission(session)
        submission.score, submission.half_width = SCORE, HALF_WIDTH
        submission.code_published_at = now()
        phase = self.phase(session)
        phase.published_at, phase.needs_publishing, phase.show_confusion = now(), True, True
        phase.tasks_visible = True
        submission.competition.code_published_at = now()
        for table in (SubmissionScore, RunScore):
            row = session.scalars(select(table).where(table.submission_id == submission.id)).one()
            row.value, row.half_width = SCORE, HALF_WIDTH
            if isinstance(row, RunScore):
                row.summary = {**row.summary, "mean": SCORE, "half_width": HALF_WIDTH}
        row = session.scalars(select(BoardRow).where(BoardRow.submission_id == submission.id)).one()
        row.value, row.half_width, row.sort_value = SCORE, HALF_WIDTH, -SCORE
        change = session.scalars(select(BoardChange).where(BoardChange.submission_id == submission.id)).one()
        change.value, change.at = SCORE, now() - timedelta(days=50)

    def submission(self, session: Session) -> Submission:
        return session.get_one(Submission, self.submission_id)

    def phase(self, session: Session) -> Phase:
        return session.get_one(Phase, self.scene.phase.id)

    def get(self, role: str, exit_: str) -> Response:
        """What the exit answers somebody in this role."""
        path = re.sub(r"\bS\b", self.submission_id, EXITS.get(exit_, exit_))
        path = re.sub(r"\bA\b", self.scene.submissions["older"].id, path)
        path = re.sub(r"\bC\b", self.scene.competition.slug, path)
        self.client.cookies.clear()
        if role in self.cookies:
            self.client.cookies.set(SESSION_COOKIE, self.cookies[role])
        page = not path.startswith("/api/") and not path.endswith((".csv", ".zip"))
        headers = {"accept": "text/html" if page else "*/*"}
        answer: Response = self.client.get(path, headers=headers, follow_redirects=False)
        assert answer.status_code < 500
        return answer

    def text(self, role: str, exit_: str) -> str:
        """The same as text; of a zip, all texts in it. Nothing, where it is refused."""
        answer = self.get(role, exit_)
        if answer.status_code != 200:
            return ""
        if answer.headers["content-type"] == "application/zip":
            return _unzipped(answer.content)
        return answer.text

    def change(self, **values: Any) -> None:
        """Set columns of the phase."""
        with self.services.database.writing() as session:
            for name, value in values.items():
                setattr(self.phase(session), name, value)


def _unzipped(content: bytes) -> str:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


@pytest.fixture
def stage(scene_services: Services, scene: Scene) -> Iterator[Stage]:
    """The site before anything is hidden."""
    app = create_app(scene_services.settings, scene_services)
    with TestClient(app, base_url=scene_services.settings.base_url) as client:
        yield Stage(scene_services, scene, client)


def _act(act: Act) -> Callable[[Stage, Session], None]:
    def do(stage: Stage, session: Session) -> None:
        submission = stage.submission(session)
        done = act_on(session, submission.competition, [submission], act, stage.scene.organizer.id, "why")
        assert done.done

    return do


def _freeze(stage: Stage, session: Session) -> None:
    """The board was frozen before the score came."""
    stage.phase(session).frozen_at = now()
    for table in (BoardRow, BoardChange):
        session.execute(delete(table).where(table.submission_id == stage.submission_id))
    service.refresh_boards(session, stage.submission(session))


def _set(**values: Any) -> Callable[[Stage, Session], None]:
    def change(stage: Stage, session: Session) -> None:
        for name, value in values.items():
            setattr(stage.phase(session), name, value)

    return change


TO_STATE: dict[str, Callable[[Stage, Session], None]] = {
    "shown": _set(),
    "hidden": _set(scores_visible=False),
    "unpublished": _set(published_at=None),
    "frozen": _freeze,
    "withdrawn": lambda stage, session: withdraw(session, stage.submission(session)),
    "disqualified": _act(Act.DISQUALIFY),
    "deleted": _act(Act.DELETE),
}


def _sees(exit_: str, stage: Stage, role: str) -> bool:
    text = stage.text(role, exit_)
    if exit_ == "confusion":
        return "mistakes" in text
    if exit_ == "code's zip":
        return text == "the code"
    if exit_ == "tasks":
        return text.startswith("run,task,dataset")
    return any(f"{value:.3f}" in text or str(value) in text for value in (SCORE, HALF_WIDTH))


@pytest.mark.parametrize("state", STATES)
def test_who_sees_the_figure_of_a_submission(stage: Stage, state: str) -> None:
    _keep_a_zip(stage)
    with stage.services.database.writing() as session:
        TO_STATE[state](stage, session)
    wrong = []
    for exit_ in EXITS:
        who = _expected()[exit_, state]
        asked = ONE_OF_EACH if exit_ in SLOW else WHO["all"]
        wanted, seen = WHO[who] & asked, {role for role in asked if _sees(exit_, stage, role)}
        if seen != wanted:
            wrong.append(f"{exit_}: expected {who}; too many {seen - wanted}, missing {wanted - seen}")
    assert not wrong, f"{state}:\n" + "\n".join(wrong)


def test_the_table_names_every_exit_and_state() -> None:
    assert set(_expected()) == {(exit_, state) for exit_ in EXITS for state in STATES}


def _keep_a_zip(stage: Stage) -> None:
    """Put bytes behind the submission's digest, so that its zip can be downloaded."""
    with stage.services.database.reading() as session:
        digest = stage.submission(session).digest
    file = stage.services.settings.home / "code.zip"
    file.write_bytes(b"the code")
    stage.services.storage.put(digest, file)
