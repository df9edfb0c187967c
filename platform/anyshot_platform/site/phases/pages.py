"""The page of a phase: when, how it is scored, what the limits are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.weights import list_weights
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.errors import NotFound
from anyshot_platform.kernel.filters import count, duration, size
from anyshot_platform.kernel.language import say, together
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.ranking import rule_words
from anyshot_platform.phases.service import find_phase, live_version, status_of
from anyshot_platform.phases.states import BOARD_WORDS, BoardShows, PhaseKind, PhaseStatus
from anyshot_platform.runs.secrets import committed, weaknesses
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.sight.logs import shown_logs
from anyshot_platform.sight.phases import look_at_phase
from anyshot_platform.sight.smoke import smoke_pool
from anyshot_platform.site.phases.protocol_words import protocol_words, task_words
from anyshot_platform.site.shell.page_header import TONES, read_header
from anyshot_platform.site.submissions.quota_view import quota_view
from anyshot_platform.web.access import visible_competition
from anyshot_platform.web.rendering import render
from anyshot_platform.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
_LOG_WORDS = {
    LogPolicy.EVERYTHING: say("all output of your code"),
    LogPolicy.META_TRAIN: say(
        "full output of meta-training; of meta-testing only type, file and line of an error"
    ),
    LogPolicy.NOTHING: say("none"),
}


@router.get("/competitions/{slug}/phases/{phase_slug}")
def show_phase(
    request: Request,
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
    phase_slug: str,
) -> Response:
    """The page of a phase: dates, limits, tasks, leagues."""
    phase = find_phase(session, access.competition, phase_slug)
    try:
        version = live_version(session, phase)
    except NotFound:
        version = None
    status = status_of(phase)
    head = read_header(session, access)
    base = f"/competitions/{access.competition.slug}"
    member = head.join_state == "member"
    return render(
        request,
        "phases/show.html",
        section="competitions",
        head=head,
        tab="overview",
        phase={
            "slug": phase.slug,
            "name": phase.name,
            "description": phase.description,
            "status": status.value,
            "tone": TONES[status],
            "starts_at": phase.starts_at,
            "ends_at": phase.ends_at,
            "board_href": f"{base}/leaderboard?phase={phase.slug}"
            if status != PhaseStatus.UPCOMING
            else None,
            "can_submit": member and phase.accepts_uploads and status == PhaseStatus.OPEN,
        },
        scoring=[] if _runs_nothing(phase) else _scoring(phase, version),
        committed=[] if _runs_nothing(phase) else _committed(phase, version, status),
        limits=[
            *_limits(phase, version, services.settings.weights_folder),
            *_smoke_test(session, phase),
        ],
        quota=quota_view(session, phase, access.membership.team_id)
        if member and access.membership and phase.accepts_uploads and status != PhaseStatus.CLOSED
        else None,
    )


def _runs_nothing(phase: Phase) -> bool:
    """Whether the phase only shows kit and data: then it promises neither tasks nor machines."""
    return phase.kind == PhaseKind.PUBLIC and not phase.accepts_uploads


def _scoring(phase: Phase, version: PhaseVersion | None) -> list[tuple[str, Any]]:
    if version is None:
        return [(say("Settings"), say("The organizers have not set this phase up yet."))]
    rows: list[tuple[str, Any]] = [
        (say("Tasks"), say("%(tasks)s, the same for everybody", tasks=count(version.tasks, "hidden task")))
    ]
    rows.append((say("Protocol"), protocol_words(version.protocol)))
    rows.append((say("A task"), task_words(version.protocol)))
    for label, named in (
        (say("Training tasks"), version.train_protocol),
        (say("Validation tasks"), version.validation_protocol),
    ):
        if named:
            words = say("%(protocol)s; code sees no other images", protocol=protocol_words(named))
            rows.append((label, words))
    if version.each_dataset:
        rows.append(
            (
                say("Meta-training"),
                say("dataset by dataset: a fresh learner for each, trained on its other classes"),
            )
        )
    if version.seeded_runs > 1:
        rows.append((say("Seeded runs"), version.seeded_runs))
    rows.append((say("Ranking"), rule_words(version.rule, version.seeded_runs)))
    counts = say("%(which)s of each team in each league", which=BOARD_WORDS[phase.board_shows])
    chooses = say("a team may choose another") if phase.team_chooses else ""
    rows.append((say("What counts"), together((counts, chooses), by=say("; "))))
    if phase.board_shows == BoardShows.LADDER:
        rows.append((say("Step of the Ladder"), f"{phase.ladder_step:g}"))
    if any(True for _ in weaknesses(version)):
        rows.append((say("Secrecy"), say("tasks follow from small numbers: for comparison, not for prizes")))
    rows.append((say("Dataset names"), say("shown") if look_at_phase(phase, None).names else say("hidden")))
    return rows


def _committed(phase: Phase, version: PhaseVersion | None, status: PhaseStatus) -> list[tuple[str, str]]:
    known = committed(phase, version, status) if version else None
    if known is None:
        return []
    rows = [
        ("SHA-256", known.commitment),
        (say("Key"), known.key),
        (say("Test seeds"), ", ".join(map(str, known.test_seeds))),
        (say("Split seed"), "" if known.split_seed is None else str(known.split_seed)),
    ]
    return [(term, value) for term, value in rows if value]


def _smoke_test(session: Session, phase: Phase) -> list[tuple[str, str]]:
    """What a smoke test is of and how long it may take, where the phase offers one."""
    if not phase.accepts_uploads or smoke_pool(session, phase) is None:
        return []
    a_day = phase.smoke_quota_day
    words = (
        count(phase.smoke_tasks, "public task"),
        say("%(time)s for all of it", time=duration(phase.smoke_seconds)),
        say("no quota") if a_day is None else say("no quota, at most %(number)s a day", number=a_day),
    )
    return [(say("Smoke test"), together(words, by=", "))]


def _weights(folder: Path | None) -> list[tuple[str, str]]:
    """The pretrained weights that runs may read, where there are any."""
    offered = [
        say("%(name)s (%(licence)s)", name=one.name, licence=one.licence or say("licence not recorded"))
        for one in list_weights(folder)
    ]
    return [(say("Pretrained weights in /weights"), together(offered, by=", "))] if offered else []


def image_words(version: PhaseVersion) -> str:
    """Which sandbox image the runs of a version use."""
    if version.image_digest is not None:
        return say("%(image)s, and no other", image=version.image_digest)
    return say("%(image)s; the page of a run says which it was", image=version.image or say("the usual one"))


def _limits(phase: Phase, version: PhaseVersion | None, weights: Path | None) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    if phase.accepts_uploads:
        parts = [
            say(words, limit=limit)
            for limit, words in (
                (phase.quota_day, say("%(limit)s a day (UTC)")),
                (phase.quota_phase, say("%(limit)s in all")),
                (phase.quota_concurrent, say("%(limit)s at a time")),
            )
            if limit is not None
        ]
        rows.append((say("Submissions"), together(parts, by=", ") or say("no limit")))
    else:
        rows.append((say("Submissions"), say("none are taken in this phase")))
    if _runs_nothing(phase):
        return rows
    if version is not None:
        each = version.each_dataset and version.budget_each_dataset
        shared = say("in equal parts for its datasets") if version.each_dataset and not each else ""
        label = say("Time of a dataset") if each else say("Time of a run")
        rows.append((label, together((duration(version.run_seconds), shared), by=", ")))
        if version.meta_train_seconds:
            rows.append((say("of which meta-training"), duration(version.meta_train_seconds)))
        if version.task_seconds:
            each_task = say("%(time)s for fit and predict", time=duration(version.task_seconds))
            rows.append((say("Time of a task"), each_task))
        memory = say("%(size)s memory", size=size(version.memory_bytes))
        gpus = count(version.gpus, "GPU") if version.gpus else say("no GPU")
        rows.append((say("Machine"), together((count(version.cpus, "core"), memory, gpus), by=", ")))
        rows.append((say("Scratch space"), size(version.scratch_bytes)))
        rows.append((say("Image"), image_words(version)))
    rows.append((say("Logs"), _LOG_WORDS[shown_logs(phase)]))
    return [*rows, *_weights(weights)]
