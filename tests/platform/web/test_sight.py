"""Every exit of a result, for everybody, in every state: what is seen is written down here, not read off the code."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from anyshot_core.exports.files import ESTIMATES, FILES, LAYERS, SNAPSHOTS
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.states import Audience, BoardShows
from anyshot_platform.contest.pools.models import Pool, PoolPack
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.domain_events import RunEnded
from anyshot_platform.judging.evaluations.models import FurtherTest
from anyshot_platform.judging.evaluations.points import list_points
from anyshot_platform.judging.execution.kinds import FURTHER
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.receipts.service import ReceiptMaker
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.submissions.actions import submitting
from anyshot_platform.judging.submissions.actions.bulk import SubmissionAct, act_on
from anyshot_platform.judging.submissions.actions.withdrawing import withdraw
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.visibility.faults import NOT_YOURS
from anyshot_platform.people.accounts.service import begin_session, create_user
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from anyshot_platform.standings.entries.service import stand
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from tests.contract.recording import part_failure
from tests.platform.core.test_access import ROUTES
from tests.platform.site import make_zip, the_app
from tests.platform.web.scene import DATASETS, HIDDEN_MEMORY, Scene

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
# The exits of the member's submission S (A is an earlier one, R its run, T its team), of its phase's board, and of its
# organizers. What is sent (mails, notifications, webhooks) has no address here: `Stage.sent` reads it.
EXITS: dict[str, dict[str, str]] = {
    "pages": {
        "page": "/submissions/S",
        "page's stream": "/submissions/S/stream",
        "API": "/api/v1/submissions/S",
        "API's stream": "/api/v1/submissions/S/stream",
        "API's evaluations": "/api/v1/submissions/S/evaluations",
        "compare": "/compare?id=S&id=A",
        "compare's choices": "/compare",
        "API's comparison": "/api/v1/submissions/S/compare/A",
        "confusion": "/submissions/S/confusion",
        "API's confusion": "/api/v1/submissions/S/confusion",
    },
    "files": {
        "figures": "/submissions/S/figures.csv",
        "API's figures": "/api/v1/submissions/S/figures",
        "tasks": "/submissions/S/tasks.csv",
        "report": "/submissions/S/report.html",
        "receipts": "/submissions/S/receipts.json",
        "API's receipts": "/api/v1/submissions/S/receipts",
        "everything": "/submissions/S/everything.zip",
        "API's everything": "/api/v1/submissions/S/everything",
        "log": "/submissions/S/log.txt",
        "page of the log": "/submissions/S/log",
        "search of the log": "/submissions/S/log?q=sandbox",
        "curves": "/submissions/S#",
        "stream's curves": "/submissions/S/stream#",
        "API's curves": "/api/v1/submissions/S/measures",
        "curves of hidden tasks": "/api/v1/submissions/S/measures#",
        "zip": "/api/v1/submissions/S/archive",
        "page of the code": "/submissions/S/code",
        "API's text of the code": "/api/v1/submissions/S/code",
        "changes": "/submissions/S/code/changes",
        "API's changes": "/api/v1/submissions/S/code/changes",
        "file of results": "/api/v1/submissions/S/runs/R/artifacts/results.parquet",
        "file of predictions": "/api/v1/submissions/S/runs/R/artifacts/predictions.npz",
        "file of the log": "/api/v1/submissions/S/runs/R/artifacts/log.txt",
    },
    "lists": {
        "home": "/",
        "own submissions": "/submissions",
        "team's submissions": "/competitions/C/submissions",
        "API's list": "/api/v1/competitions/C/submissions?everyone=true",
        "API's list of a team": "/api/v1/competitions/C/submissions",
        "API's own list": "/api/v1/submissions",
        "own data": "/account/data.json",
        "API's own data": "/api/v1/me/data",
        "entries": "/competitions/C/leagues",
        "API's entries": "/api/v1/competitions/C/phases/feedback/entries",
        "upload": "/competitions/C/phases/feedback/submit",
        "API's outlook": "/api/v1/competitions/C/phases/feedback/outlook",
    },
    "boards": {
        "competition": "/competitions/C",
        "board": "/competitions/C/leaderboard",
        "API's board": "/api/v1/competitions/C/phases/feedback/leaderboard",
        "history": "/api/v1/competitions/C/phases/feedback/leaderboard/history",
        "team": "/competitions/C/teams/T",
        "API's team": "/api/v1/competitions/C/teams/T",
        "profile": "/users/ada",
        "API's profile": "/api/v1/users/ada",
        "board's evaluations": "/api/v1/competitions/C/phases/feedback/evaluations",
        "evaluations as CSV": "/api/v1/competitions/C/phases/feedback/evaluations.csv",
        "results": "/competitions/C/results?phase=feedback",
        "newest results": "/competitions/C/results",
        "API's results": "/api/v1/competitions/C/phases/feedback/results",
        "row's receipts": "/competitions/C/results/feedback/receipts/S.json",
        "API's receipts of results": "/api/v1/competitions/C/phases/feedback/results/receipts",
        "results as CSV": "/competitions/C/results/feedback/free-style.csv",
        "results as LaTeX": "/competitions/C/results/feedback/free-style.tex",
        "API's table": "/api/v1/competitions/C/phases/feedback/results/free-style/table",
        "certificate": "/competitions/C/results/feedback/free-style/certificates/T.pdf",
    },
    "code": {
        "code": "/competitions/C/code",
        "API's code": "/api/v1/competitions/C/code",
        "code's zip": "/competitions/C/code/S.zip",
    },
    "organizers": {
        "manage": "/competitions/C/manage/submissions",
        "API's manage": "/api/v1/competitions/C/manage/submissions",
        "exported submissions": "/competitions/C/manage/exports/submissions.csv",
        "exported submissions, JSON": "/competitions/C/manage/exports/submissions.json",
        "exported boards": "/competitions/C/manage/exports/leaderboards.csv",
        "exported entries": "/competitions/C/manage/exports/entries.csv",
        "exported tasks": "/competitions/C/manage/exports/results.csv",
        "export of everything": "/competitions/C/manage/exports/archive.zip",
    },
    "messages": {"notifications": "/notifications", "mail": "", "webhook": ""},
}
PATHS = {exit_: path for room in EXITS.values() for exit_, path in room.items()}
# Exits that draw or pack: asked by one of each kind only.
SLOW = {
    "page",
    "report",
    "everything",
    "API's everything",
    "compare",
    "API's comparison",
    "confusion",
    "API's confusion",
    "board",
    "results",
    "certificate",
    "exported tasks",
    "export of everything",
}
ONE_OF_EACH = {"anonymous", "other", "member", "reviewer", "owner"}
STATES = (
    "shown",
    "hidden",
    "ladder",
    "unpublished",
    "frozen",
    "struck",
    "withdrawn",
    "disqualified",
    "deleted",
)
# Who sees the submission's figure at an exit; where the exit holds no figure, who gets the thing itself. A certificate
# is its team's: where S does not stand, it is for the earlier A, which moves up on a board that is not frozen.
TABLE = """
exit                      | shown | hidden| ladder| unpublished| frozen| struck| withdrawn| disqualified| deleted
page                      | team  | staff | staff | staff      | team  | team  | team     | team        | staff
page's stream             | -     | -     | -     | -          | -     | -     | -        | -           | -
API                       | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's stream              | -     | -     | -     | -          | -     | -     | -        | -           | -
API's evaluations         | team  | staff | staff | staff      | team  | team  | team     | team        | staff
compare                   | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's comparison          | team  | staff | staff | staff      | team  | team  | team     | team        | staff
compare's choices         | member| -     | -     | -          | member| member| member   | member      | -
confusion                 | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's confusion           | team  | staff | staff | staff      | team  | team  | team     | team        | staff
figures                   | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's figures             | team  | staff | staff | staff      | team  | team  | team     | team        | staff
tasks                     | team  | staff | staff | staff      | team  | team  | team     | team        | staff
report                    | team  | staff | staff | staff      | team  | team  | team     | team        | staff
receipts                  | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's receipts            | team  | staff | staff | staff      | team  | team  | team     | team        | staff
everything                | team  | staff | staff | staff      | team  | team  | team     | team        | staff
API's everything          | team  | staff | staff | staff      | team  | team  | team     | team        | staff
log                       | team  | team  | team  | team       | team  | team  | team     | team        | staff
page of the log           | team  | team  | team  | team       | team  | team  | team     | team        | staff
search of the log         | team  | team  | team  | team       | team  | team  | team     | team        | staff
curves                    | team  | team  | team  | team       | team  | team  | team     | team        | staff
stream's curves           | team  | team  | team  | team       | team  | team  | team     | team        | staff
API's curves              | team  | team  | team  | team       | team  | team  | team     | team        | staff
curves of hidden tasks    | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
zip                       | team  | team  | team  | team       | team  | team  | team     | team        | staff
page of the code          | team  | team  | team  | team       | team  | team  | team     | team        | staff
API's text of the code    | team  | team  | team  | team       | team  | team  | team     | team        | staff
changes                   | team  | team  | team  | team       | team  | team  | team     | team        | staff
API's changes             | team  | team  | team  | team       | team  | team  | team     | team        | staff
file of results           | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
file of predictions       | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
file of the log           | team  | team  | team  | team       | team  | team  | team     | team        | staff
home                      | member| -     | -     | -          | member| member| member   | member      | -
own submissions           | member| -     | -     | -          | member| member| member   | member      | -
team's submissions        | member| -     | -     | -          | member| member| member   | member      | -
API's own list            | member| -     | -     | -          | member| member| member   | member      | -
own data                  | member| -     | -     | -          | member| member| member   | member      | -
API's own data            | member| -     | -     | -          | member| member| member   | member      | -
API's list of a team      | member| -     | -     | -          | member| member| member   | member      | -
API's list                | team  | staff | staff | staff      | team  | team  | team     | team        | -
entries                   | member| -     | -     | -          | member| -     | -        | -           | -
API's entries             | member| -     | -     | -          | member| -     | -        | -           | -
upload                    | member| -     | -     | -          | member| -     | -        | -           | -
API's outlook             | member| -     | -     | -          | member| -     | -        | -           | -
competition               | member| -     | -     | -          | member| -     | -        | -           | -
board                     | all   | staff | -     | staff      | -     | -     | -        | -           | -
API's board               | all   | staff | -     | staff      | -     | -     | -        | -           | -
history                   | all   | staff | -     | staff      | -     | -     | -        | -           | -
team                      | all   | staff | -     | staff      | -     | -     | -        | -           | -
API's team                | all   | staff | -     | staff      | -     | -     | -        | -           | -
profile                   | all   | staff | -     | staff      | -     | -     | -        | -           | -
API's profile             | all   | staff | -     | staff      | -     | -     | -        | -           | -
board's evaluations       | all   | staff | -     | staff      | -     | -     | -        | -           | -
evaluations as CSV        | all   | staff | -     | staff      | -     | -     | -        | -           | -
results                   | all   | staff | -     | staff      | -     | -     | -        | -           | -
newest results            | all   | staff | -     | -          | -     | -     | -        | -           | -
API's results             | all   | staff | -     | staff      | -     | -     | -        | -           | -
row's receipts            | all   | staff | staff | -          | -     | -     | -        | -           | -
API's receipts of results | all   | staff | staff | -          | -     | -     | -        | -           | -
results as CSV            | all   | staff | -     | staff      | -     | -     | -        | -           | -
API's table               | all   | staff | -     | staff      | -     | -     | -        | -           | -
results as LaTeX          | all   | staff | -     | staff      | -     | -     | -        | -           | -
certificate               | team  | staff | team  | -          | -     | -     | team     | team        | team
code                      | all   | staff | staff | -          | all   | -     | -        | -           | -
API's code                | all   | staff | staff | -          | all   | -     | -        | -           | -
code's zip                | all   | all   | all   | -          | all   | -     | -        | -           | -
manage                    | staff | staff | staff | staff      | staff | staff | staff    | staff       | -
API's manage              | staff | staff | staff | staff      | staff | staff | staff    | staff       | -
exported submissions      | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
exported submissions, JSON| staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
exported boards           | staff | staff | -     | staff      | -     | -     | -        | -           | -
exported entries          | -     | -     | -     | -          | -     | -     | -        | -           | -
exported tasks            | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
export of everything      | staff | staff | staff | staff      | staff | staff | staff    | staff       | staff
notifications             | member| -     | -     | -          | member| member| member   | member      | -
mail                      | member| -     | -     | -          | member| member| member   | member      | -
webhook                   | -     | -     | -     | -          | -     | -     | -        | -           | -
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
        self.addresses: dict[str, str] = {}
        with services.database.writing() as session:
            self._mark(session)
            self._test_further(session)
            self._add_files(session)
            session.flush()
            ReceiptMaker("https://site.example").run_ended(
                session, RunEnded(session.get_one(Run, self.run_id))
            )
            stand(session, self.phase(session), scene.version, session.get_one(Team, scene.team.id))
            session.add(
                Webhook(
                    competition_id=scene.competition.id,
                    url="https://example.org/hook",
                    created_by=scene.organizer.id,
                )
            )
            for name, user in self._people(session).items():
                self.addresses[name] = user.email or ""
                self.cookies[name] = begin_session(session, user, user_agent="test", days=1).secret

    def _people(self, session: Session) -> dict[str, User]:
        found = {"other": "bob", "member": "ada", "owner": "olga", "administrator": "root-admin"}
        people = {
            role: session.scalars(select(User).where(User.username == name)).one()
            for role, name in found.items()
        }
        people["member"].profile_public = True
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
                row.summary = replace(row.summary, mean=SCORE, half_width=HALF_WIDTH)
        row = session.scalars(select(BoardRow).where(BoardRow.submission_id == submission.id)).one()
        row.value, row.half_width, row.sort_value = SCORE, HALF_WIDTH, -SCORE
        change = session.scalars(select(BoardChange).where(BoardChange.submission_id == submission.id)).one()
        change.value, change.at = SCORE, now() - timedelta(days=50)

    def _test_further(self, session: Session) -> None:
        """Give its further evaluation the same figure."""
        submission, phase = self.submission(session), self.phase(session)
        phase.evaluations = "shots numbers=1 tasks=4"
        (point,) = list_points(session, phase.live)
        source = session.scalars(select(Run).where(Run.submission_id == submission.id)).one()
        score = session.scalars(select(RunScore).where(RunScore.run_id == source.id)).one()
        (test,) = FURTHER.plan_tests(session, submission, source, [point])
        test.run.state, test.summary, test.scored_at = RunState.FINISHED, score.summary, now()
        session.add(test)

    def _add_files(self, session: Session) -> None:
        """Put bytes behind the submission's digest, and files beside its run."""
        submission = self.submission(session)
        run = session.scalars(select(Run).where(Run.submission_id == submission.id)).one()
        self.run_id = run.id
        older = session.get_one(Submission, self.scene.submissions["older"].id)
        for one, text in ((submission, b"the_code = 1"), (older, b"older = 1")):
            code = make_zip({"model.py": text})
            digest = hashlib.sha256(code).hexdigest()
            session.add(Blob(digest=digest, size=len(code)))
            session.flush()
            one.digest = digest
            self._store(digest, code)
        self.add_files(session, ("results.parquet", "predictions.npz", "log.txt"))

    def add_files(self, session: Session, names: Iterable[str]) -> None:
        """Files of its run that hold their names."""
        for name in names:
            known = select(Artifact).where(Artifact.run_id == self.run_id, Artifact.name == name)
            if session.scalars(known).first() is None:
                digest = hashlib.sha256(name.encode()).hexdigest()
                session.add(Blob(digest=digest, size=len(name)))
                session.flush()
                session.add(
                    Artifact(
                        run_id=self.run_id, name=name, epoch=1, digest=digest, size=len(name), final=True
                    )
                )
                self._store(digest, name.encode())

    def _store(self, digest: str, content: bytes) -> None:
        file = self.services.settings.home / digest
        file.write_bytes(content)
        self.services.storage.put(digest, file)

    def score_again(self) -> None:
        """Let the submission's run end once more, so that everybody is told."""
        with self.services.database.writing() as session:
            self.submission(session).status = SubmissionStatus.RUNNING
            settle(session, session.get_one(Run, self.run_id))

    def sent(self, role: str, exit_: str) -> str:
        """What was mailed to somebody, or posted to the organizers' webhook."""
        with self.services.database.reading() as session:
            if exit_ == "webhook":
                told = session.scalars(select(WebhookDelivery)).all() if role in STAFF else []
                return "\n".join(str(one.payload) for one in told)
            mails = session.scalars(select(Email).where(Email.to == self.addresses.get(role, ""))).all()
            return "\n".join(f"{mail.subject} {mail.body}" for mail in mails)

    def submission(self, session: Session) -> Submission:
        return session.get_one(Submission, self.submission_id)

    def phase(self, session: Session) -> Phase:
        return session.get_one(Phase, self.scene.phase.id)

    def get(self, role: str, exit_: str) -> Response:
        """What the exit answers somebody in this role."""
        path = re.sub(r"\bS\b", self.submission_id, PATHS.get(exit_, exit_))
        path = re.sub(r"\bR\b", self.run_id, re.sub(r"\bT\b", self.scene.team.id, path))
        path = re.sub(r"\bA\b", self.scene.submissions["older"].id, path)
        path = re.sub(r"\bC\b", self.scene.competition.slug, path)
        self.client.cookies.clear()
        if role in self.cookies:
            self.client.cookies.set(SESSION_COOKIE, self.cookies[role])
        page = not path.startswith("/api/") and not path.endswith((".csv", ".zip", ".json"))
        headers = {"accept": "text/html" if page else "*/*"}
        answer = self.client.get(path, headers=headers, follow_redirects=False)
        assert answer.status_code < 500
        return answer

    def text(self, role: str, exit_: str) -> str:
        """The same as text; of a zip, all texts in it. Nothing, where it is refused."""
        if exit_ in ("mail", "webhook"):
            return self.sent(role, exit_)
        answer = self.get(role, exit_)
        if answer.status_code != 200:
            return ""
        if answer.headers["content-type"] == "application/zip":
            return _unzipped(answer.content)
        return answer.content.decode("utf-8", "replace")

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
    with TestClient(the_app(scene_services), base_url=scene_services.settings.base_url) as client:
        yield Stage(scene_services, scene, client)


def _strike(stage: Stage, session: Session) -> None:
    """It stood on the board when that was frozen, and was disqualified then."""
    stage.phase(session).frozen_at = now()
    session.flush()
    _act(SubmissionAct.DISQUALIFY)(stage, session)


def _act(act: SubmissionAct) -> Callable[[Stage, Session], None]:
    def do(stage: Stage, session: Session) -> None:
        submission = stage.submission(session)
        done = act_on(session, [submission], act, stage.scene.organizer.id, "why")
        assert done.done

    return do


def _freeze(stage: Stage, session: Session) -> None:
    """The board was frozen before the score came."""
    stage.phase(session).frozen_at = now()
    for table in (BoardRow, BoardChange):
        session.execute(delete(table).where(table.submission_id == stage.submission_id))
    submitting.refresh_boards(session, stage.submission(session))


def _climb(stage: Stage, session: Session) -> None:
    """The board is a Ladder, and the phase is open: it shows 0.77 for 0.765."""
    stage.phase(session).board_shows = BoardShows.LADDER
    submitting.refresh_boards(session, stage.submission(session))
    session.execute(delete(BoardChange).where(BoardChange.value == SCORE))


def _set(**values: Any) -> Callable[[Stage, Session], None]:
    def change(stage: Stage, session: Session) -> None:
        for name, value in values.items():
            setattr(stage.phase(session), name, value)

    return change


TO_STATE: dict[str, Callable[[Stage, Session], None]] = {
    "shown": _set(),
    "hidden": _set(scores_visible=False),
    "ladder": _climb,
    "unpublished": _set(published_at=None),
    "frozen": _freeze,
    "struck": _strike,
    "withdrawn": lambda stage, session: withdraw(session, stage.submission(session)),
    "disqualified": _act(SubmissionAct.DISQUALIFY),
    "deleted": _act(SubmissionAct.DELETE),
}


# Exits that hold no figure, or not this one: what they hold instead.
HOLDS = {
    "confusion": "mistakes",
    "API's confusion": "together",
    "code's zip": "the_code",
    "zip": "the_code",
    "page of the code": "the_code",
    "API's text of the code": "the_code",
    "changes": "the_code",
    "API's changes": "the_code",
    "tasks": "run,task,dataset",
    "log": "Sandbox started",
    "page of the log": "Sandbox started",
    "search of the log": "Sandbox started",
    "curves": "Accuracy while training",
    "stream's curves": "event: measures",
    "API's curves": "cpu_cores",
    "curves of hidden tasks": str(HIDDEN_MEMORY),
    "file of predictions": "predictions.npz",
    "file of the log": "log.txt",
    "file of results": "PAR1",
    "certificate": "%PDF",
}


# As a number of its own: a moment such as 10:15:30.088 holds these digits too.
_FIGURES = {text for value in (SCORE, HALF_WIDTH) for text in (str(value), f"{value:.3f}")}
_FIGURE = re.compile(r"(?<!\d)(" + "|".join(map(re.escape, _FIGURES)) + ")")


def _sees(exit_: str, stage: Stage, role: str) -> bool:
    text = stage.text(role, exit_)
    if exit_ in HOLDS:
        return HOLDS[exit_] in text
    if exit_ == "exported tasks":
        return stage.submission_id in text
    return _FIGURE.search(text) is not None


@pytest.mark.rotating
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("room", EXITS)
def test_who_sees_the_figure_of_a_submission(stage: Stage, room: str, state: str) -> None:
    with stage.services.database.writing() as session:
        TO_STATE[state](stage, session)
    if room == "messages":
        stage.score_again()
    wrong = []
    for exit_ in EXITS[room]:
        who = _expected()[exit_, state]
        asked = ONE_OF_EACH if exit_ in SLOW else WHO["all"]
        wanted, seen = WHO[who] & asked, {role for role in asked if _sees(exit_, stage, role)}
        if seen != wanted:
            wrong.append(f"{exit_}: expected {who}; too many {seen - wanted}, missing {wanted - seen}")
    assert not wrong, f"{state}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("state", STATES)
def test_who_is_told_that_a_submission_is_scored(stage: Stage, state: str) -> None:
    """Its team, by mail and on the page, unless the submission is deleted; the organizers' webhook always."""
    with stage.services.database.writing() as session:
        TO_STATE[state](stage, session)
    before = stage.text("member", "notifications").count("is scored")
    stage.score_again()
    told = {role for role in WHO["all"] if "is scored" in stage.sent(role, "mail")}
    assert told == (set() if state == "deleted" else {"member"})
    assert stage.text("member", "notifications").count("is scored") - before == len(told)
    assert "submission.finished" in stage.sent("owner", "webhook")


def test_who_sees_a_board_by_its_audience(stage: Stage) -> None:
    for audience, who in zip(Audience, ("all", "participants", "staff"), strict=True):
        stage.change(board_audience=audience)
        for exit_ in ("API's board", "history", "API's results", "results as CSV"):
            assert {role for role in WHO["all"] if _sees(exit_, stage, role)} == WHO[who], (audience, exit_)


def test_further_evaluations_can_be_the_organizers_alone(stage: Stage) -> None:
    """Where the phase says so; and on a frozen board there is none that was scored later."""
    exits = ("API's evaluations", "board's evaluations", "evaluations as CSV")
    stage.change(frozen_at=now() - timedelta(days=1))
    for exit_, who in zip(exits, ("team", "staff", "staff"), strict=True):
        assert {role for role in WHO["all"] if _sees(exit_, stage, role)} == WHO[who], exit_
    stage.change(frozen_at=None, evaluations_visible=False)
    for exit_ in exits:
        assert {role for role in WHO["all"] if _sees(exit_, stage, role)} == STAFF, exit_


@pytest.mark.parametrize(
    ("verdict", "told"), [(Verdict.RUNTIME_ERROR, "team"), (Verdict.SANDBOX_START, "staff")]
)
@pytest.mark.parametrize("alone", [False, True])
def test_why_a_further_evaluation_failed_is_told_as_of_a_run(
    stage: Stage, verdict: Verdict, told: str, alone: bool
) -> None:
    """Its team reads what its own code did; what is ours is told in one sentence, and a board says no reason."""
    why = "a reason that stands nowhere else"
    with stage.services.database.writing() as session:
        test = session.scalars(select(FurtherTest)).one()
        test.summary = None
        if alone:  # others of its run did not fail
            test.failure = part_failure(0, verdict=verdict, message=why)
        else:
            test.run.state, test.run.verdict, test.run.cause = RunState.FAILED, verdict, verdict.cause
            test.run.message = why
    exits = ("page", "API's evaluations", "everything", "board", "board's evaluations", "evaluations as CSV")
    for exit_ in exits:
        people = WHO["all"] if exit_ not in SLOW else ONE_OF_EACH
        expected = WHO[told] & people if exit_ in exits[:3] else set()
        assert {role for role in people if why in stage.text(role, exit_)} == expected, exit_
    assert (str(NOT_YOURS) in stage.text("member", "API's evaluations")) is (told == "staff")
    stage.change(evaluations_visible=False)
    assert {role for role in WHO["all"] if why in stage.text(role, exits[1])} == STAFF


def test_exports_are_the_organizers_until_the_phase_shows_them(stage: Stage) -> None:
    """A team has its own where it sees single tasks; layers only where the images are public."""
    address = "/api/v1/submissions/S/runs/R/artifacts/"
    exits = {name: address + name for name in FILES}
    with stage.services.database.writing() as session:
        stage.add_files(session, FILES)

    def seen(name: str) -> set[str]:
        return {role for role in WHO["all"] if stage.text(role, exits[name]) == name}

    assert all(seen(name) == STAFF for name in FILES)
    stage.change(exports_visible=True, tasks_visible=True)
    assert seen(SNAPSHOTS) == seen(ESTIMATES) == WHO["team"] and seen(LAYERS) == STAFF
    with stage.services.database.writing() as session:
        session.execute(update(Pool).values(published_at=now()))
    assert seen(LAYERS) == WHO["team"]
    stage.change(tasks_visible=False)
    assert all(seen(name) == STAFF for name in FILES), "they tell single tasks"
    stage.change(tasks_visible=True, scores_visible=False)
    assert all(seen(name) == STAFF for name in FILES)


def test_a_log_of_which_the_phase_shows_nothing_is_no_file_either(stage: Stage) -> None:
    stage.change(log_policy=LogPolicy.NOTHING)
    assert {role for role in WHO["all"] if "loss" in stage.text(role, "log")} == STAFF
    assert {role for role in WHO["all"] if _sees("file of the log", stage, role)} == STAFF


def test_a_dataset_that_left_the_pool_stays_hidden(stage: Stage) -> None:
    with stage.services.database.writing() as session:
        session.execute(delete(PoolPack))
    seen = stage.text("member", "figures")
    assert "Hidden, of another pool" in seen and not [name for name in DATASETS if name in seen]
    assert all(name in stage.text("owner", "figures") for name in DATASETS)


def test_the_table_names_every_exit_and_state() -> None:
    assert set(_expected()) == {(exit_, state) for exit_ in PATHS for state in STATES}


def test_a_moment_is_no_figure() -> None:
    assert not _FIGURE.search("2026-11-25T05:30:10.088411Z")
    assert _FIGURE.search('"half_width":0.088,') and _FIGURE.search(f"({SCORE})")


# What a route's address names, where the exits above have no letter for it.
NAMED = {
    "slug": "C",
    "submission_id": "S",
    "run_id": "R",
    "team_id": "T",
    "username": "ada",
    "phase_slug": "feedback",
    "league_slug": "free-style",
    "name": "results",
    "form": "csv",
    "number": "1",
    "path": "participants",
}


def _routes() -> set[str]:
    """The addresses of all routes that are read, their parameters named."""
    read = (route.path for route in ROUTES if "GET" in (route.methods or ()))
    return {re.sub(r"{(\w+)(?::\w+)?}", lambda match: NAMED.get(match[1], match[1]), path) for path in read}


def _givers(stage: Stage, paths: Iterable[str], role: str) -> list[str]:
    """The addresses at which somebody reads the submission's figure."""
    return sorted(path for path in paths if _FIGURE.search(stage.text(role, path)))


@pytest.mark.slow("asks every route of the site")
@pytest.mark.parametrize("role", ["other", "member"])
def test_no_route_but_the_exits_of_the_table_gives_a_figure(stage: Stage, role: str) -> None:
    """Every route of the site is asked, also one that is added tomorrow; while the figure may be seen."""
    assert _givers(stage, _routes() - set(PATHS.values()), role) == []
    assert _givers(stage, ["/submissions/S"], "member"), "the figure is looked for as it is written"
