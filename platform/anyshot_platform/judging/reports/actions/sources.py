"""What each report is computed from: a row for each says what it needs, and how its inputs are gathered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS
from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict
from anyshot_core.wire import reports
from anyshot_core.wire.reports import ReportDescription, ReportParameters
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.judging.execution.pairs import MOST_ON_A_BOARD
from anyshot_platform.judging.reports.actions.inputs import (
    BoardInputs,
    NothingToReport,
    files_of,
    gather_board,
    results_of,
)
from anyshot_platform.judging.reports.actions.submissions import (
    count_predicted,
    count_tested,
    find_chosen,
    find_exported,
    list_choices,
    of_run,
    read_predicted,
    read_tested,
)
from anyshot_platform.judging.reports.records import ExportedFile, ReportInputs
from anyshot_platform.standings.leaderboards.models import BoardRow

Gathered = tuple[ReportInputs, ReportParameters]
OnExports = reports.PredictorTrust | reports.Calibration | reports.SnapshotAdvice | reports.FeatureDiversity


@dataclass(frozen=True)
class ReportRequest:
    """What a report was asked for: about a phase's version, and a league's board or submissions of the phase."""

    session: Session
    version: PhaseVersion
    kind: type[ReportDescription]
    league: League | None
    submissions: Sequence[str]
    settings: Mapping[str, float]

    def board(self) -> BoardInputs:
        """All who stand on the league's board. Raises `NothingToReport` where there is none."""
        if self.league is None:
            raise NothingToReport("This competition has no league, so no board.")
        return gather_board(self.session, self.version, self.league)

    def protocol(self) -> Protocol:
        """The tasks of the phase. Raises `NothingToReport` where no pool or protocol gives any."""
        if self.version.meta_test_pool_version_id is None:
            raise NothingToReport("This phase has no meta-test pool yet.")
        try:
            return protocol_from_dict(self.version.protocol)
        except ProtocolError as error:
            raise NothingToReport(f"The phase's task protocol cannot be used: {error!s}") from error

    @cached_property
    def names(self) -> dict[str, str]:
        """The shown names of the submissions that were chosen, by their ids."""
        return find_chosen(self.session, self.version.phase, self.kind, self.submissions)

    def exported(self, file: str) -> tuple[ExportedFile, ...]:
        """What all runs of the chosen submissions exported under a name."""
        return find_exported(self.session, self.version, self.names, file)

    def of_exports(self, exports: tuple[ExportedFile, ...]) -> ReportInputs:
        """Exported files as the inputs, and of whom they are."""
        return ReportInputs(exports=exports, subjects=tuple(self.names.values()))


@dataclass(frozen=True)
class Stock:
    """How much a phase's version and a league's board have of what reports are computed from."""

    session: Session
    version: PhaseVersion
    league: League | None

    @cached_property
    def on_board(self) -> list[bool]:
        """Of each row of the board whose results are kept, whether it is ranked."""
        if self.league is None:
            return []
        rows = self.session.execute(
            select(BoardRow.submission_id, BoardRow.ranked).where(
                BoardRow.phase_version_id == self.version.id, BoardRow.league_id == self.league.id
            )
        ).all()
        kept = {row.submission for row in results_of(self.session, self.version, [own for own, _ in rows])}
        return [ranked for own, ranked in rows if own in kept]

    @cached_property
    def newest(self) -> list[str]:
        """The submissions that a report can be asked for."""
        return [own for own, _ in list_choices(self.session, self.version.phase)]

    @property
    def pools(self) -> int:
        """Whether there is a meta-test pool, as a number."""
        return int(self.version.meta_test_pool_version_id is not None)

    def runs(self, file: str) -> int:
        """How many runs exported a file."""
        return len(files_of(self.session, self.version, self.newest, file))

    def exporters(self, file: str) -> int:
        """How many submissions exported a file."""
        return len({own for own, *_ in files_of(self.session, self.version, self.newest, file)})


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


@dataclass(frozen=True)
class ReportSource:
    """What a report needs, in words and as a number, how many of it are there, and how its inputs are gathered.

    `gather` gives the inputs and the parameters of the analysis. It raises `Invalid` for submissions that the report
    cannot be about, and `NothingToReport` where something lacks; it says what the phase would have to ask for.
    """

    words: str
    least: int
    count: Callable[[Stock], int]
    gather: Callable[[ReportRequest], Gathered]


def find_needs(session: Session, phase: Phase, league: League | None) -> dict[str, Need]:
    """By name of a report what it needs of a phase's live version, or of a league's board there."""
    stock = Stock(session, live_version(session, phase), league)
    return {kind.name: Need(one.words, one.least, one.count(stock)) for kind, one in SOURCES.items()}


def _flips(request: ReportRequest) -> Gathered:
    board = request.board()
    chosen = board.of(board.ranked[: int(request.settings["entries"])])
    facts = {"names": chosen.names, "feedback": chosen.feedback, "submissions": chosen.submissions}
    parameters = {**request.settings, **facts, "rule": request.version.rule.name}
    return _two(chosen, "are ranked"), reports.Flips.model_validate(parameters)


def _plan(request: ReportRequest) -> Gathered:
    board = request.board()
    chosen = board.of(board.ranked[:MOST_ON_A_BOARD])  # the model of all of them knows how two differ
    parameters = {**request.settings, "rule": request.version.rule.name, "names": chosen.names}
    return _two(chosen, "are ranked"), reports.Plan.model_validate(parameters)


def _difficulty(request: ReportRequest) -> Gathered:
    board = request.board()
    baselines = [stander for stander in board.standers if stander.baseline]
    alone = len(baselines) > 1
    chosen = board.of(baselines if alone else board.standers)
    return _two(chosen, "have results"), reports.Difficulty(names=chosen.names, baselines=alone)


def _two(board: BoardInputs, what: str) -> ReportInputs:
    if len(board.standers) < 2:
        raise NothingToReport(f"Fewer than two entries on this board {what}.")
    return ReportInputs(runs=board.results)


def _diversity(request: ReportRequest) -> Gathered:
    parameters = {**request.settings, "protocol": request.protocol()}
    return ReportInputs(), reports.Diversity.model_validate(parameters)


def _audit(request: ReportRequest) -> Gathered:
    return ReportInputs(), reports.Audit(tasks=request.version.tasks, protocol=request.protocol())


def _submission_shift(request: ReportRequest) -> Gathered:
    return request.of_exports(()), read_tested(request.session, request.version, request.names)


def _n_way_flips(request: ReportRequest) -> Gathered:
    runs = read_predicted(request.session, request.version, list(request.names))
    parameters = reports.NWayFlips.model_validate({**request.settings, "names": request.names})
    return ReportInputs(runs=runs, subjects=tuple(request.names.values())), parameters


def _of_exports(kind: type[OnExports], what: str, file: str, *, one_run: bool = False) -> ReportSource:
    """The source of a report on a file that one submission exported, in all runs or in a chosen one."""

    def gather(request: ReportRequest) -> Gathered:
        files = request.exported(file)
        chosen = of_run(files, request.settings["run"]) if one_run else files
        return request.of_exports(chosen), kind.model_validate(request.settings)

    return ReportSource(f"a submission with exported {what}", 1, lambda stock: stock.exporters(file), gather)


def _representations(request: ReportRequest) -> Gathered:
    layers = request.exported(LAYERS)
    both = layers[:2] if len(request.names) == 1 else of_run(layers, request.settings["run"])
    if len(both) != 2:
        raise NothingToReport(
            "The layers of two runs are compared, and there are those of one: choose two submissions."
        )
    return request.of_exports(both), reports.Representations.model_validate(request.settings)


_RANKED = "2 ranked entries with results"
SOURCES: dict[type[ReportDescription], ReportSource] = {
    reports.Flips: ReportSource(_RANKED, 2, lambda s: sum(s.on_board), _flips),
    reports.Plan: ReportSource(_RANKED, 2, lambda s: sum(s.on_board), _plan),
    reports.Difficulty: ReportSource(
        "2 entries or baselines with results", 2, lambda s: len(s.on_board), _difficulty
    ),
    reports.Diversity: ReportSource("a meta-test pool", 1, lambda s: s.pools, _diversity),
    reports.Audit: ReportSource("a meta-test pool", 1, lambda s: s.pools, _audit),
    reports.SubmissionShift: ReportSource(
        "a submission tested on base and on novel classes",
        1,
        lambda s: count_tested(s.session, s.version, s.newest),
        _submission_shift,
    ),
    reports.NWayFlips: ReportSource(
        "2 submissions with predictions",
        2,
        lambda s: count_predicted(s.session, s.version, s.newest),
        _n_way_flips,
    ),
    **{
        kind: _of_exports(kind, what, file, one_run=one_run)
        for kind, what, file, one_run in (
            (reports.PredictorTrust, "estimates", ESTIMATES, False),
            (reports.Calibration, "probabilities", PROBABILITIES, False),
            (reports.SnapshotAdvice, "snapshots", SNAPSHOTS, True),
            (reports.FeatureDiversity, "features", LAYERS, True),
        )
    },
    reports.Representations: ReportSource(
        "2 runs with exported features", 2, lambda s: s.runs(LAYERS), _representations
    ),
}
