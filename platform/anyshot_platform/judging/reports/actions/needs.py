"""What each report is computed from, and how much of it a phase has."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.evaluations import BaseClasses, NovelClasses
from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.judging.evaluations.reading import read_scores
from anyshot_platform.judging.reports.actions.inputs import files_of, results_of
from anyshot_platform.judging.reports.actions.submissions import list_choices
from anyshot_platform.standings.leaderboards.models import BoardRow


@dataclass(frozen=True)
class Need:
    """What a report needs at least, and how many of it are there."""

    words: str
    least: int
    found: int

    @property
    def met(self) -> bool:
        """Whether the report can be computed."""
        return self.found >= self.least


def find_needs(session: Session, phase: Phase, league: League | None) -> dict[str, Need]:
    """By name of a report what it needs of a phase's live version, or of a league's board there."""
    version = live_version(session, phase)
    ranked, others = _on_board(session, version, league) if league else (0, 0)
    newest = [own for own, _ in list_choices(session, phase)]
    pool = int(version.meta_test_pool_version_id is not None)
    rows = Need("2 ranked entries with results", 2, ranked)
    return {
        "flips": rows,
        "plan": rows,
        "difficulty": Need("2 entries or baselines with results", 2, ranked + others),
        "diversity": Need("a meta-test pool", 1, pool),
        "audit": Need("a meta-test pool", 1, pool),
        "submission-shift": Need(
            "a submission tested on base and on novel classes", 1, _count_tested(session, version, newest)
        ),
        "n-way-flips": Need("2 submissions with predictions", 2, _count_predicted(session, version, newest)),
        "representations": Need(
            "2 runs with exported features", 2, len(files_of(session, version, newest, LAYERS))
        ),
        **{
            name: Need(words, 1, len({own for own, *_ in files_of(session, version, newest, file)}))
            for name, words, file in (
                ("feature-diversity", "a submission with exported features", LAYERS),
                ("predictor-trust", "a submission with exported estimates", ESTIMATES),
                ("calibration", "a submission with exported probabilities", PROBABILITIES),
                ("snapshots", "a submission with exported snapshots", SNAPSHOTS),
            )
        },
    }


def _on_board(session: Session, version: PhaseVersion, league: League) -> tuple[int, int]:
    """How many of a board's rows have results that are kept: ranked ones, and those out of the ranking."""
    rows = session.execute(
        select(BoardRow.submission_id, BoardRow.ranked).where(
            BoardRow.phase_version_id == version.id, BoardRow.league_id == league.id
        )
    ).all()
    kept = {row.submission for row in results_of(session, version, [own for own, _ in rows])}
    found = [ranked for own, ranked in rows if own in kept]
    return sum(found), len(found) - sum(found)


def _count_tested(session: Session, version: PhaseVersion, submissions: Sequence[str]) -> int:
    needed = {BaseClasses.name, NovelClasses.name}
    return sum(
        needed <= {score.evaluation for score in scores if score.mean is not None}
        for scores in read_scores(session, version, submissions).values()
    )


def _count_predicted(session: Session, version: PhaseVersion, submissions: Sequence[str]) -> int:
    rows = results_of(session, version, submissions)
    without = {row.submission for row in rows if row.predictions is None}
    return len({row.submission for row in rows} - without)
