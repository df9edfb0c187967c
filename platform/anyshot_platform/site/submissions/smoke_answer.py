"""What a smoke test that is through says: its score on public tasks, and how long the phase would take."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import count, duration
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.site.submissions.schemas import SmokeOut


class SmokeAnswer(SmokeOut):
    """The result of a smoke test as its page shows it."""

    memory_bytes: int


def read_smoke_answer(
    session: Session, submission: Submission, runs: Sequence[Run], version: PhaseVersion | None
) -> SmokeAnswer | None:
    """The answer of a smoke test that is through; None for everything else. Its tasks are public: nothing is hidden."""
    run = runs[0] if runs else None
    if submission.kind != SubmissionKind.SMOKE or run is None or run.state != RunState.FINISHED:
        return None
    score = session.scalars(select(RunScore).where(RunScore.run_id == run.id)).first()
    if score is None or version is None:
        return None
    words, fits = project(run, score.tasks, version)
    return SmokeAnswer(
        score=score.value,
        half_width=score.half_width,
        tasks=score.tasks,
        memory_bytes=run.used.memory_peak_bytes,
        projection=words,
        fits=fits,
    )


def public_scores(session: Session, submissions: Sequence[Submission]) -> dict[str, RunScore]:
    """What smoke tests that are through scored on their public tasks, by the submission."""
    smoke = [one.id for one in submissions if one.kind == SubmissionKind.SMOKE]
    query = (
        select(Run.submission_id, RunScore)
        .join(RunScore, RunScore.run_id == Run.id)
        .where(Run.submission_id.in_(smoke), Run.state == RunState.FINISHED)
    )
    return {str(key): score for key, score in session.execute(query)} if smoke else {}


def project(run: Run, tasks: int, version: PhaseVersion) -> tuple[str, bool | None]:
    """How long the phase's tasks would take at the speed of this run, and whether its time is enough for them.

    Meta-training is left out: methods train as long as their budget lets them.
    """
    tested = run.used.meta_test_seconds
    if tasks < 1 or tested <= 0 or version.each_dataset:
        return "", None
    each = tested / tasks
    whole, budget = each * version.tasks, version.run_seconds
    number = count(version.tasks, "task")
    words = f"At this speed ({duration(each)} a task) the {number} of the phase take {duration(whole)}"
    if whole >= budget:
        return f"{words}: more than the budget of {duration(budget)}, before any meta-training.", False
    left = duration(budget - whole)
    return f"{words} of the budget of {duration(budget)}, which leaves {left} for meta-training.", True
