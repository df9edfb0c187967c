"""Which generation of a submission's runs counts: the newest that has a score of every seeded run."""

from collections.abc import Sequence

from sqlalchemy import Subquery, func, select

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore


def newest_scored(version: PhaseVersion, submissions: Sequence[str]) -> Subquery:
    """`submission_id` and `generation` of the runs that count under a version; a re-run that was partly lost does not.

    Submissions without a score of every seed are left out.
    """
    whole = (
        select(Run.submission_id, Run.generation)
        .join(RunScore, RunScore.run_id == Run.id)
        .where(Run.phase_version_id == version.id, Run.submission_id.in_(submissions))
        .group_by(Run.submission_id, Run.generation)
        .having(func.count(Run.seed_index.distinct()) >= version.seeded_runs)
        .subquery()
    )
    return (
        select(whole.c.submission_id, func.max(whole.c.generation).label("generation"))
        .group_by(whole.c.submission_id)
        .subquery()
    )
