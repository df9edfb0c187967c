"""The page of a phase: when, how it is scored, what the limits are."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.protocols import PROTOCOLS
from anyshot_core.weights import list_weights
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import find_phase, live_version, status_of, takes_late
from anyshot_platform.contest.phases.states import BOARD_WORDS, BoardShows, PhaseKind, PhaseStatus
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.filters import count, decimal, duration, join_texts, size
from anyshot_platform.judging.runs.secrets import committed, weaknesses
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.logs import shown_logs
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.judging.visibility.smoke import smoke_pool
from anyshot_platform.site.shell.page_header import TONES, read_header
from anyshot_platform.site.submissions.quota_view import quota_view
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
_LOG_WORDS = {
    LogPolicy.EVERYTHING: "all output of your code",
    LogPolicy.META_TRAIN: (
        "full output of meta-training; of meta-testing only type, file and line of an error"
    ),
    LogPolicy.NOTHING: "none",
}

_NAMES = {
    "any_way_any_shot": "any-way any-shot, cross-domain",
    "fixed": "fixed ways and shots",
    "held_out_domains": "held-out domains",
    "within_domain": "within-domain",
    "legacy": "any-way any-shot, as drawn in 2022",
    "class_side": "classes split into base and novel ones",
    "base_novel": "base and novel classes together",
    "fixed_supports": "fixed support sets",
    "attribute_pairs": "pairs of attributes",
    "writers": "one task per writer",
}
# Which part of its datasets a protocol shows, where it divides them.
_SHOWN = {
    "side": {
        "base": "base classes",
        "valid": "validation classes",
        "novel": "novel classes",
    },
    "part": {
        "meta_train": "the training part",
        "meta_valid": "the validation part",
        "meta_test": "the test part",
    },
    "among": {
        "first": "the first half of the attributes",
        "second": "the second half of the attributes",
    },
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
            "time_zone": phase.time_zone,
            "board_href": f"{base}/leaderboard?phase={phase.slug}"
            if status != PhaseStatus.UPCOMING
            else None,
            "can_submit": member
            and (
                (phase.accepts_uploads and status_of(phase, team_id=access.team_id) == PhaseStatus.OPEN)
                or takes_late(phase, team_id=access.team_id)
            ),
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
        return [("Settings", "The organizers have not set this phase up yet.")]
    rows: list[tuple[str, Any]] = [
        ("Tasks", f"{count(version.tasks, 'hidden task')}, the same for everybody")
    ]
    rows.append(("Protocol", _protocol_words(version.protocol)))
    rows.append(("A task", _task_words(version.protocol)))
    for label, named in (
        ("Training tasks", version.train_protocol),
        ("Validation tasks", version.validation_protocol),
    ):
        if named:
            words = f"{_protocol_words(named)}; code sees no other images"
            rows.append((label, words))
    if version.each_dataset:
        rows.append(
            (
                "Meta-training",
                "dataset by dataset: a fresh learner for each, trained on its other classes",
            )
        )
    if version.seeded_runs > 1:
        rows.append(("Seeded runs", version.seeded_runs))
    rows.append(("Ranking", version.rule.words(version.seeded_runs)))
    counts = f"{BOARD_WORDS[phase.board_shows]} of each team in each league"
    chooses = "a team may choose another" if phase.team_chooses else ""
    rows.append(("What counts", join_texts((counts, chooses), by="; ")))
    if phase.board_shows == BoardShows.LADDER:
        rows.append(("Step of the Ladder", f"{phase.ladder_step:g}"))
    if any(True for _ in weaknesses(version)):
        rows.append(("Secrecy", "tasks follow from small numbers: for comparison, not for prizes"))
    rows.append(("Dataset names", "shown" if look_at_phase(phase, None).names else "hidden"))
    return rows


def _committed(phase: Phase, version: PhaseVersion | None, status: PhaseStatus) -> list[tuple[str, str]]:
    known = committed(phase, version, status) if version else None
    if known is None:
        return []
    rows = [
        ("SHA-256", known.commitment),
        ("Key", known.key),
        ("Test seeds", ", ".join(map(str, known.test_seeds))),
        ("Split seed", "" if known.split_seed is None else str(known.split_seed)),
    ]
    return [(term, value) for term, value in rows if value]


def _smoke_test(session: Session, phase: Phase) -> list[tuple[str, str]]:
    """What a smoke test is of and how long it may take, where the phase offers one."""
    if not phase.accepts_uploads or smoke_pool(session, phase) is None:
        return []
    a_day = phase.smoke_quota_day
    words = (
        count(phase.smoke_tasks, "public task"),
        f"{duration(phase.smoke_seconds)} for all of it",
        "no quota" if a_day is None else f"no quota, at most {a_day} a day",
    )
    return [("Smoke test", join_texts(words, by=", "))]


def _weights(folder: Path | None) -> list[tuple[str, str]]:
    """The pretrained weights that runs may read, where there are any."""
    offered = [f"{one.name} ({one.licence or 'licence not recorded'})" for one in list_weights(folder)]
    return [("Pretrained weights in /weights", join_texts(offered, by=", "))] if offered else []


def image_words(version: PhaseVersion) -> str:
    """Which sandbox image the runs of a version use."""
    if version.image_digest is not None:
        return f"{version.image_digest}, and no other"
    return f"{version.image or 'the usual one'}; the page of a run says which it was"


def _limits(phase: Phase, version: PhaseVersion | None, weights: Path | None) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    if phase.accepts_uploads:
        parts = [
            f"{limit} {period}"
            for limit, period in (
                (phase.quota_day, "a day (UTC)"),
                (phase.quota_phase, "in all"),
                (phase.quota_concurrent, "at a time"),
            )
            if limit is not None
        ]
        rows.append(("Submissions", join_texts(parts, by=", ") or "no limit"))
    else:
        rows.append(("Submissions", "none are taken in this phase"))
    if _runs_nothing(phase):
        return rows
    if version is not None:
        each = version.each_dataset and version.budget_each_dataset
        shared = "in equal parts for its datasets" if version.each_dataset and not each else ""
        label = "Time of a dataset" if each else "Time of a run"
        rows.append((label, join_texts((duration(version.run_seconds), shared), by=", ")))
        if version.meta_train_seconds:
            rows.append(("of which meta-training", duration(version.meta_train_seconds)))
        if version.task_seconds:
            each_task = f"{duration(version.task_seconds)} for fit and predict"
            rows.append(("Time of a task", each_task))
        memory = f"{size(version.memory_bytes)} memory"
        gpus = count(version.gpus, "GPU") if version.gpus else "no GPU"
        rows.append(("Machine", join_texts((count(version.cpus, "core"), memory, gpus), by=", ")))
        rows.append(("Scratch space", size(version.scratch_bytes)))
        if version.packages:
            rows.append(("Packages added", join_texts(version.packages.splitlines(), by=", ")))
        rows.append(("Image", image_words(version)))
    rows.append(("Logs", _LOG_WORDS[shown_logs(phase)]))
    return [*rows, *_weights(weights)]


def _shown(protocol: Mapping[str, Any]) -> Iterator[str]:
    for setting, words in _SHOWN.items():
        if found := words.get(str(protocol.get(setting))):
            yield found


def _counts(protocol: Mapping[str, Any]) -> Iterator[str]:
    least, most = _range(protocol.get("ways"))
    if least is not None:
        ways = f"{least} to {most} ways"
        yield count(least, "way") if least == most else ways
    least, most = _range(protocol.get("shots"))
    if least is not None:
        shots = f"{least} to {most} shots"
        yield count(least, "shot") if least == most else shots
    if isinstance(protocol.get("query"), int):
        yield (
            "1 query image per class"
            if protocol["query"] == 1
            else f"{decimal(protocol['query'])} query images per class"
        )


def _protocol_words(protocol: Mapping[str, Any]) -> str:
    """Its name, what it shows, ways, shots and query images, from what its dictionary says."""
    name = str(protocol.get("name", ""))
    return join_texts(
        [_NAMES.get(name, name.replace("_", " ")), *_shown(protocol), *_counts(protocol)], by=", "
    )


def _range(value: Any) -> tuple[int | None, int | None]:
    """A number, or the least and the most of one."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return value[0], value[1]
    return (value, value) if isinstance(value, int) else (None, None)


def _task_words(protocol: Mapping[str, Any]) -> str:
    """The sentence that the form of a phase says of the protocol; nothing for one that this release does not know."""
    kind = PROTOCOLS.get(str(protocol.get("name", "")))
    return (kind.__doc__ or "").strip().partition("\n")[0] if kind else ""
