"""A small site with everything that pages show: made row by row, so that each state is there at will."""

import math
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.data.digests import digest_file
from anyshot_core.protocols import protocol_from_dict
from anyshot_core.results import write_predictions, write_results
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Complete, Measure, Series, Stage
from anyshot_platform.contest.competitions.models import Competition, CompetitionPage, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.leagues.models import Gate, League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import PhaseKind
from anyshot_platform.contest.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.kinds import starting_kind
from anyshot_platform.judging.receipts.service import make_key
from anyshot_platform.judging.run_logs.measures import keep_measures
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.discussion.models import Post, Thread
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.contract.recording import recorded

PASSWORD = "three small foxes"
DATASETS = tuple(
    f"{name}_Mini" for name in ("DOG", "INS", "PLT", "MED", "PNU", "RSICB", "APL", "TEX", "ACT", "MD")
)  # hidden: participants see `Hidden 1` to `Hidden 10`
DOMAINS = ("Animals", "Plants", "Vehicles", "OCR", "Remote sensing") * 2
TASKS = 200
HIDDEN_MEMORY = 2_777_000_000  # bytes in use in meta-testing: what code could say of hidden images

OVERVIEW = """\
Build a learner that can learn **any-way any-shot** tasks from any domain: 2 to 20 classes, 1 to 20 examples of each,
from ten datasets that your code has never seen.

## How it works

1. Your code is meta-trained on a public pool, inside the time budget.
2. It then meets hidden tasks, one at a time: a labelled support set first, and only then the query images.
3. The score is the mean *normalized accuracy*: 0 is chance, 1 is perfect.

| phase | tasks | budget |
| --- | --- | --- |
| feedback | 1,000 | 5 hours |
| final | 6,000 | 9 hours, three seeds |

## Before you submit

Install the starting kit, run `anyshot init my-method` and `anyshot dry-run my-method --quick`.
"""

TRACEBACK = """\
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/anyshot_starting_kit/runner/session.py", line 118, in fit
    predictor = learner.fit(support)
  File "/scratch/run/program/model.py", line 57, in fit
    prototypes = self.backbone(images).reshape(ways, shots, -1).mean(1)
  File "/scratch/run/program/layers.py", line 12, in forward
    return self.norm(self.conv(x))
RuntimeError: shape '[5, 3, -1]' is invalid for input of size 12288
"""


@dataclass
class Scene:
    """What was made, by name."""

    admin: User
    organizer: User
    ada: User  # a participant with every kind of submission
    bob: User  # another one
    visitor: User  # signed up, no member
    competition: Competition
    phase: Phase
    version: PhaseVersion
    leagues: dict[str, League]
    team: Team
    storage: Storage | None = None
    submissions: dict[str, Submission] = field(default_factory=dict)


def make_table(quality: float, seed: int, tasks: int = TASKS) -> TaskTable:
    """Per-task results that look like real ones: harder with ways, easier with shots, datasets differ."""
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(7)
    ways = shared.integers(2, 21, tasks)
    shots = shared.integers(1, 21, tasks)
    place = np.arange(tasks) % len(DATASETS)
    difficulty = shared.normal(0, 0.08, tasks)
    level = quality + 0.22 * (1 - np.exp(-shots / 4)) - 0.011 * ways + np.linspace(0.12, -0.12, 10)[place]
    score = np.clip(level + difficulty + rng.normal(0, 0.05, tasks), -0.1, 1.0)
    accuracy = score * (1 - 1 / ways) + 1 / ways
    return TaskTable.from_columns(
        {
            "task": np.arange(tasks),
            "dataset": np.array(DATASETS)[place],
            "domain": np.array(DOMAINS)[place],
            "ways": ways,
            "shots": shots,
            "queries": ways * 20,
            "normalized_accuracy": score,
            "balanced_accuracy": accuracy,
            "accuracy": accuracy,
            "macro_f1": accuracy * 0.98,
            "macro_precision": accuracy,
            "macro_recall": accuracy,
            "fit_seconds": 0.4 + 0.01 * ways * shots * rng.uniform(0.8, 1.2, tasks),
            "predict_seconds": rng.uniform(0.05, 0.1, tasks),
        }
    )


def make_scene(session: Session, storage: Storage | None = None) -> Scene:
    """The whole site; with a storage, finished runs have their results of each task."""
    make_key(session)
    people = {
        name: create_user(
            session, username=name, email=f"{name}@example.org", password=PASSWORD, display_name=shown
        )
        for name, shown in (
            ("root-admin", "Site administrator"),
            ("olga", "Olga Organizer"),
            ("ada", "Ada Lovelace"),
            ("bob", "Bob Noyce"),
            ("vera", "Vera Visitor"),
        )
    }
    people["root-admin"].is_site_admin = True
    competition = _competition(session, people["olga"])
    leagues = _leagues(session, competition)
    phase, version = _phases(session, competition, people["olga"])
    session.add(
        Membership(
            competition_id=competition.id,
            user_id=people["olga"].id,
            role=Role.OWNER,
            status=MemberStatus.APPROVED,
        )
    )
    team = add_team(session, competition, "Analytical Engines", people["ada"])
    scene = Scene(
        admin=people["root-admin"],
        organizer=people["olga"],
        ada=people["ada"],
        bob=people["bob"],
        visitor=people["vera"],
        competition=competition,
        phase=phase,
        version=version,
        leagues=leagues,
        team=team,
        storage=storage,
    )
    _ada_submissions(session, scene)
    _board(session, scene)
    _texts(session, scene)
    session.flush()
    return scene


def _competition(session: Session, owner: User) -> Competition:
    competition = Competition(
        slug="cross-domain-2026",
        title="Cross-Domain MetaDL 2026",
        summary="Any-way any-shot learning on ten hidden datasets from ten domains, inside a time budget.",
        state=CompetitionState.PUBLISHED,
        terms="One account per person. Winners publish their code.\n\n- No labels of the test datasets.\n",
        terms_version=2,
        team_size=4,
        fact_sheet=[{"key": "method", "label": "What is your method, in two sentences?", "required": False}],
        prizes="400, 250 and 150 euros in each league",
        created_by=owner.id,
    )
    competition.pages = [
        CompetitionPage(slug="overview", title="Overview", body=OVERVIEW, position=0),
        CompetitionPage(
            slug="data", title="Data", body="## Data\n\nMeta-Album, 128 x 128 images.", position=1
        ),
        CompetitionPage(slug="rules", title="Rules", body="## Rules\n\nBe fair.", position=2),
    ]
    session.add(competition)
    session.flush()
    other = Competition(
        slug="within-domain-2025",
        title="Within-Domain MetaDL 2025",
        summary="Five-way five-shot learning within one dataset at a time, three seeded runs, the worst counts.",
        state=CompetitionState.ARCHIVED,
        created_by=owner.id,
    )
    session.add(other)
    session.flush()
    return competition


def _leagues(session: Session, competition: Competition) -> dict[str, League]:
    made = {}
    rows = (
        (
            "free-style",
            "Free-style",
            Admission.ALL,
            "Any solution within the rules; pretrained models allowed.",
        ),
        (
            "meta-learning",
            "Meta-learning",
            Admission.FROM_SCRATCH,
            "From scratch: no pretraining of any kind.",
        ),
        ("new-in-ml", "New in ML", Admission.APPROVAL, "Fewer than ten publications in machine learning."),
    )
    for position, (slug, name, admission, words) in enumerate(rows):
        made[slug] = League(
            competition_id=competition.id,
            slug=slug,
            name=name,
            description=words,
            admission=admission,
            position=position,
            prizes="400, 250, 150 euros",
        )
    session.add_all(made.values())
    session.flush()
    return made


def _phases(session: Session, competition: Competition, owner: User) -> tuple[Phase, PhaseVersion]:
    today = now().replace(minute=0, second=0, microsecond=0)
    pool = Pool(slug="set-1", name="Set-1", owner_id=owner.id)
    session.add(pool)
    session.flush()
    pool_version = PoolVersion(pool_id=pool.id, number=1, digest="ab" * 32, created_by=owner.id)
    session.add(pool_version)
    session.flush()
    public = Pool(slug="set-0", name="Set-0", owner_id=owner.id, published_at=now())
    session.add(public)
    session.flush()
    smoke_version = PoolVersion(pool_id=public.id, number=1, digest="cd" * 32, created_by=owner.id)
    session.add(smoke_version)
    session.flush()
    for position, name in enumerate(DATASETS):
        digest = f"{position:02x}" * 32
        session.add(Blob(digest=digest, size=1000))
        session.flush()
        pack = Pack(name=name, digest=digest, size=1000, images=400, classes=20, domain=DOMAINS[position])
        session.add(pack)
        session.flush()
        session.add(PoolPack(pool_version_id=pool_version.id, position=position, pack_id=pack.id))
    spans = (
        ("public", "Public phase", PhaseKind.PUBLIC, -30, -15, False),
        ("feedback", "Feedback phase", PhaseKind.FEEDBACK, -14, 40, True),
        ("final", "Finals 2026", PhaseKind.FINAL, 41, 71, False),
    )
    phases = {}
    for position, (slug, name, kind, start, end, uploads) in enumerate(spans):
        phase = Phase(
            competition_id=competition.id,
            slug=slug,
            name=name,
            kind=kind,
            position=position,
            description="Scores within hours, on tasks of ten hidden datasets." if uploads else "",
            starts_at=today + timedelta(days=start),
            ends_at=today + timedelta(days=end),
            accepts_uploads=uploads,
            quota_day=2,
            quota_phase=100,
            smoke_pool_version_id=smoke_version.id if uploads else None,
        )
        session.add(phase)
        session.flush()
        version = PhaseVersion(
            phase_id=phase.id,
            meta_train_pool_version_id=pool_version.id,
            meta_test_pool_version_id=pool_version.id,
            protocol=protocol_from_dict({"name": "any_way_any_shot"}).to_dict(),
            tasks=TASKS,
            train_seeds=[93] if uploads else [1, 2, 3],
            test_seeds=[1093] if uploads else [4, 5, 6],
            run_seconds=18000.0,
            ranking_rule="worst_run",
            live_at=now(),
        )
        session.add(version)
        session.flush()
        phases[slug] = (phase, version)
    phases["final"][0].gate_phase_id = phases["feedback"][0].id
    return phases["feedback"]


def add_team(session: Session, competition: Competition, name: str, *members: User) -> Team:
    """A team whose members are participants that accepted the terms."""
    team = Team(
        competition_id=competition.id,
        name=name,
        name_key=name.casefold(),
        captain_id=members[0].id if members else None,
    )
    session.add(team)
    session.flush()
    for user in members:
        session.add(
            Membership(
                competition_id=competition.id,
                user_id=user.id,
                status=MemberStatus.APPROVED,
                team_id=team.id,
                terms_version=competition.terms_version,
                terms_accepted_at=now(),
            )
        )
    session.flush()
    return team


def add_submission(
    session: Session,
    scene: Scene,
    state: RunState,
    *,
    team: Team | None = None,
    user: User | None = None,
    number: int = 1,
    filename: str = "proto-net.zip",
    comment: str = "",
    kind: SubmissionKind = SubmissionKind.ENTRY,
    age_hours: float = 1.0,
    **run_values: Any,
) -> tuple[Submission, Run]:
    """A submission with one run in `state`."""
    created = now() - timedelta(hours=age_hours)
    digest = f"{number:02d}" * 32
    if session.get(Blob, digest) is None:
        session.add(Blob(digest=digest, size=48_213_000))
        session.flush()
    statuses = {
        RunState.QUEUED: SubmissionStatus.QUEUED,
        RunState.FINISHED: SubmissionStatus.FINISHED,
        RunState.CANCELLED: SubmissionStatus.CANCELLED,
        RunState.FAILED: SubmissionStatus.FAILED,
        RunState.TIMED_OUT: SubmissionStatus.FAILED,
    }
    verdict = run_values.get("verdict")
    submission = Submission(
        competition_id=scene.competition.id,
        phase_id=scene.phase.id,
        team_id=(team or scene.team).id,
        user_id=(user or scene.ada).id,
        people=list(
            session.scalars(select(Membership.id).where(Membership.team_id == (team or scene.team).id))
        ),
        kind=kind,
        number=number,
        filename=filename,
        comment=comment,
        digest=digest,
        size=48_213_000,
        status=statuses.get(state, SubmissionStatus.RUNNING),
        verdict=verdict,
        cause=verdict.cause if verdict else None,
        quota_day=date.today(),
        created_at=created,
        finished_at=created + timedelta(minutes=40) if state in ENDED else None,
        checks=[],
    )
    session.add(submission)
    session.flush()
    run = Run(
        kind=starting_kind(submission).name,
        competition_id=scene.competition.id,
        phase_id=scene.phase.id,
        phase_version_id=scene.version.id,
        submission_id=submission.id,
        team_id=submission.team_id,
        state=state,
        queued_at=created,
        created_at=created,
        tasks_total=TASKS,
        cause=verdict.cause if verdict else None,
        **run_values,
    )
    session.add(run)
    session.flush()
    return submission, run


def finish(
    session: Session, scene: Scene, submission: Submission, run: Run, table: TaskTable
) -> SubmissionScore:
    """Give a finished run its scores."""
    summary = summarize(table, len(table))
    run.tasks_done = len(table)
    if scene.storage is not None:
        keep_table(session, scene.storage, run, table)
    session.add(
        RunScore(
            run_id=run.id,
            submission_id=submission.id,
            phase_version_id=scene.version.id,
            seed_index=0,
            value=summary.mean,
            half_width=summary.half_width,
            tasks=summary.tasks,
            summary=summary,
        )
    )
    submission.score, submission.half_width = summary.mean, summary.half_width
    score = SubmissionScore(
        submission_id=submission.id,
        phase_version_id=scene.version.id,
        team_id=submission.team_id,
        submitted_at=submission.created_at,
        value=summary.mean,
        half_width=summary.half_width,
        tasks=summary.tasks,
        runs=1,
        seconds=run.seconds_used,
        by_dataset={str(group.key): group.mean for group in summary.by_dataset},
    )
    session.add(score)
    session.flush()
    return score


def add_events(session: Session, run: Run, lines: list[tuple[str, str]]) -> None:
    """Log lines of a run's first attempt."""
    start = datetime.now(UTC)
    session.add_all(
        RunEvent(
            run_id=run.id, epoch=1, seq=seq, at=start, stream=stream, stage=Stage.META_TRAINING, text=text
        )
        for seq, (stream, text) in enumerate(lines)
    )
    session.flush()


def add_measures(session: Session, run: Run, *, testing: bool = True) -> None:
    """What the first attempt of a run used and logged: 40 stretches of meta-training, then 8 of meta-testing."""
    told: list[Measure] = []

    def tell(series: Series, place: int, **figures: float) -> None:
        stage = Stage.META_TRAINING if place <= 40 else Stage.META_TESTING
        told.append(
            Measure.model_validate(
                {
                    "seq": len(told),
                    "series": series,
                    "stage": stage,
                    "seconds": 100.0 * place,
                    "width": 100.0,
                    **figures,
                }
            )
        )

    for place in range(1, 49 if testing else 41):
        tell(
            Series.RESOURCES,
            place,
            cpu_cores=3.1 + 0.4 * math.sin(place),
            memory_bytes=int(1.2e9 + 3e7 * place) if place <= 40 else HIDDEN_MEMORY,
        )
        if place <= 40:
            means = {"loss": 2.3 / (1 + place / 6), "accuracy": 0.3 + place / 90}
            tell(
                Series.TRAINING,
                place,
                step=25 * place,
                rows=25,
                normalized_accuracy=0.1 + place / 80,
                **means,
            )
            if place % 5 == 0:
                means = {"loss": 2.5 / (1 + place / 8), "accuracy": 0.28 + place / 100}
                tell(Series.VALIDATION, place, step=place // 5, rows=10, **means)
    keep_measures(session, run, told)


def _ada_submissions(session: Session, scene: Scene) -> None:
    times = {"prepare": 2.1, "sandbox_start": 1.7, "transport": 14.8, "scoring": 0.6, "upload": 0.4}
    done = Complete.model_validate(recorded("complete-evaluate"))
    usage = {
        "participant_seconds": 8040.0,
        "meta_train_seconds": 6600.0,
        "meta_test_seconds": 1440.0,
        "platform_seconds": times,
        "cpu_seconds": 15900.0,
        "memory_peak_bytes": 3_100_000_000,
        "meta_train_memory_peak_bytes": 2_600_000_000,
    }
    provenance = {
        "image": "anyshot/torch-cpu:1",
        "image_digest": "sha256:" + "9f" * 32,
        "sandbox": "docker, runc",
        "kit_version": "1.0.0",
        "hardware": "4 cores, Tesla T4",
        "worker": "worker-7",
        "protocol_digest": "c3" * 32,
    }
    rows: list[tuple[str, dict[str, Any]]] = [
        ("queued", {"state": RunState.QUEUED, "number": 6, "comment": "bigger backbone", "age_hours": 0.1}),
        (
            "running",
            {
                "state": RunState.META_TESTING,
                "number": 5,
                "tasks_done": 83,
                "seconds_used": 4210.0,
                "age_hours": 1.6,
            },
        ),
        (
            "failed",
            {
                "state": RunState.FAILED,
                "number": 4,
                "verdict": Verdict.RUNTIME_ERROR,
                "message": "RuntimeError: shape '[5, 3, -1]' is invalid for input of size 12288",
                "detail": TRACEBACK,
                "task_index": 41,
                "task_ways": 5,
                "task_shots": 3,
                "tasks_done": 41,
                "seconds_used": 812.0,
                "age_hours": 20,
            },
        ),
        (
            "lost",
            {
                "state": RunState.FAILED,
                "number": 3,
                "verdict": Verdict.WORKER_LOST,
                "message": "The worker vanished three times.",
                "seconds_used": 40.0,
                "age_hours": 30,
            },
        ),
        (
            "finished",
            {
                "state": RunState.FINISHED,
                "number": 2,
                "comment": "prototypes, pretrained",
                "age_hours": 44,
            },
        ),
        (
            "older",
            {
                "state": RunState.FINISHED,
                "number": 1,
                "comment": "first try",
                "age_hours": 70,
                "filename": "first.zip",
            },
        ),
    ]
    for name, values in rows:
        submission, run = add_submission(session, scene, **values)
        scene.submissions[name] = submission
        run.claimed_at = run.queued_at + timedelta(seconds=41)
        run.provenance = done.provenance.model_copy(update=provenance)
        run.usage = done.usage.model_copy(update=usage)
        if run.state in ENDED:
            run.finished_at = run.queued_at + timedelta(seconds=8130)
        if name in ("finished", "older"):
            run.seconds_used = 8040.0
            table = make_table(0.46 if name == "finished" else 0.4, len(name))
            finish(session, scene, submission, run, table)
            if scene.storage is not None:
                keep_predictions(session, scene.storage, run, make_predictions(table, len(name)))
        if name in ("running", "finished", "failed"):
            run.epoch = 1
            add_measures(session, run, testing=name != "failed")
        if run.state not in (RunState.QUEUED,):
            add_events(
                session,
                run,
                [
                    ("platform", "Sandbox started (docker, runc), torch 2 on 4 cores"),
                    *(
                        ("stdout", f"step {step:>5}  loss {2.3 / (1 + step / 400):.4f}")
                        for step in range(0, 3000, 100)
                    ),
                    ("stderr", "UserWarning: lr_scheduler.step() before optimizer.step()"),
                    ("logger", "validation: 300 tasks, normalized accuracy 0.512"),
                ],
            )
    league = scene.leagues["free-style"]
    session.add_all(
        LeagueEntry(submission_id=submission.id, league_id=league.id)
        for submission in scene.submissions.values()
    )


def add_board_row(
    session: Session,
    scene: Scene,
    league: League,
    team: Team,
    submission: Submission,
    score: SubmissionScore,
    **values: Any,
) -> BoardRow:
    """A row on a board, as a new score would make it."""
    row = BoardRow(
        phase_version_id=scene.version.id,
        league_id=league.id,
        row_key=values.pop("row_key", team.id),
        team_id=team.id,
        submission_id=submission.id,
        submission_score_id=score.id,
        sort_value=-score.value,
        value=score.value,
        half_width=score.half_width,
        tasks=score.tasks,
        runs=1,
        seconds=score.seconds,
        by_dataset=score.by_dataset,
        submitted_at=submission.created_at,
        **values,
    )
    session.add(row)
    session.add(
        BoardChange(
            phase_version_id=scene.version.id,
            league_id=league.id,
            team_id=team.id,
            submission_id=submission.id,
            value=score.value,
            at=submission.created_at,
        )
    )
    session.flush()
    return row


def _board(session: Session, scene: Scene) -> None:
    league = scene.leagues["free-style"]
    own = scene.submissions["finished"]
    score = session.scalars(select(SubmissionScore).where(SubmissionScore.submission_id == own.id)).one()
    add_board_row(session, scene, league, scene.team, own, score)
    names = (
        "MetaBeyond",
        "Prototype Farm",
        "CDML",
        "Five Shots Later",
        "Köln Metalearners",
        "edamame",
        "Support Group",
    )
    for place, name in enumerate(names):
        members = (scene.bob,) if place == 0 else ()
        team = add_team(session, scene.competition, name, *members)
        submission, run = add_submission(
            session,
            scene,
            RunState.FINISHED,
            team=team,
            user=scene.bob,
            number=10 + place,
            age_hours=12 * (place + 1),
        )
        run.seconds_used = 3000.0 + 900 * place
        result = finish(
            session, scene, submission, run, make_table(0.53 - 0.025 * min(place, 5.2), 50 + place)
        )
        add_board_row(session, scene, league, team, submission, result)
    organizers = add_team(session, scene.competition, "Organizers")
    for place, (name, quality) in enumerate((("Prototypical Networks", 0.44), ("Train from scratch", 0.2))):
        submission, run = add_submission(
            session,
            scene,
            RunState.FINISHED,
            team=organizers,
            user=scene.organizer,
            number=30 + place,
            kind=SubmissionKind.BASELINE,
            filename=f"{name.lower().replace(' ', '-')}.zip",
            comment=name,
            age_hours=200,
        )
        run.seconds_used = 1200.0
        result = finish(session, scene, submission, run, make_table(quality, 80 + place))
        add_board_row(
            session, scene, league, organizers, submission, result, ranked=False, row_key=submission.id
        )
    final = session.scalars(select(Phase).where(Phase.gate_phase_id == scene.phase.id)).one()
    session.add(Gate(phase_id=final.id, league_id=league.id, score=0.5))


def _texts(session: Session, scene: Scene) -> None:
    session.add(
        Announcement(
            competition_id=scene.competition.id,
            title="The feedback phase is open",
            body="Set-1 is loaded, ten workers are up. **Good luck!**",
            created_by=scene.organizer.id,
        )
    )
    thread = Thread(
        competition_id=scene.competition.id,
        title="May I use timm backbones?",
        author_id=scene.ada.id,
        pinned=True,
    )
    session.add(thread)
    session.flush()
    session.add_all(
        [
            Post(
                thread_id=thread.id,
                author_id=scene.ada.id,
                body="In the **free-style** league?",
            ),
            Post(
                thread_id=thread.id,
                author_id=scene.organizer.id,
                body="Yes. In the meta-learning league not.",
            ),
        ]
    )
    session.add(
        Notification(
            user_id=scene.ada.id,
            kind="submission_finished",
            title="Submission 2 has a score: 0.612",
            url=f"/submissions/{scene.submissions['finished'].id}",
        )
    )


def keep_table(session: Session, storage: Storage, run: Run, table: TaskTable) -> None:
    """Store a run's results of each task, as its worker would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.parquet"
        write_results(path, table, {"tasks": len(table)})
        digest = digest_file(path)
        storage.put(digest, path)
        add_artifact(session, run, "results.parquet", digest, path.stat().st_size)


def make_predictions(table: TaskTable, seed: int) -> Predictions:
    """Predictions about as good as the table says, of datasets with 25 classes; neighbouring classes look alike."""
    rng = np.random.default_rng(seed)
    answers, labels, classes = [], [], []
    for ways, accuracy in zip(table.ways.tolist(), table.accuracy.tolist(), strict=True):
        true = np.repeat(np.arange(ways), 20)
        wrong = rng.random(len(true)) > accuracy
        answers.append(np.where(wrong, (true + rng.choice((1, 1, 1, 2), len(true))) % ways, true))
        labels.append(true)
        classes.append(np.sort(rng.choice(25, ways, replace=False)))
    return Predictions.from_tasks(
        task=table.task,
        dataset=table.dataset.tolist(),
        domain=table.domain.tolist(),
        ways=table.ways,
        shots=table.shots,
        predictions=answers,
        labels=labels,
        classes=classes,
    )


def keep_predictions(session: Session, storage: Storage, run: Run, predictions: Predictions) -> None:
    """Store a run's predictions, as its worker would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        write_predictions(path, predictions, {"tasks": len(predictions)})
        digest = digest_file(path)
        storage.put(digest, path)
        add_artifact(session, run, "predictions.parquet", digest, path.stat().st_size)


def add_artifact(session: Session, run: Run, name: str, digest: str, size: int) -> Artifact:
    """A stored file of a run."""
    if session.get(Blob, digest) is None:
        session.add(Blob(digest=digest, size=size))
        session.flush()
    artifact = Artifact(run_id=run.id, epoch=run.epoch, name=name, digest=digest, size=size, final=True)
    session.add(artifact)
    session.flush()
    return artifact
