"""The kinds of runs, one object each: what to plan, what to send, what to do with the result, what it is called."""

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import RescoreMode
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.kinds.derived import DerivedRun
from anyshot_platform.judging.execution.kinds.evaluation import EVALUATION
from anyshot_platform.judging.execution.kinds.further import FURTHER
from anyshot_platform.judging.execution.kinds.gate import GATE, GATE_SEEDS
from anyshot_platform.judging.execution.kinds.kind import Case, Kind, NotAssignable, Planning
from anyshot_platform.judging.execution.kinds.meta_test import META_TEST
from anyshot_platform.judging.execution.kinds.report import REPORT
from anyshot_platform.judging.execution.kinds.rescoring import RESCORING
from anyshot_platform.judging.execution.kinds.smoke import SMOKE
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import HeldRun
from anyshot_platform.judging.submissions.models import Submission

__all__ = [
    "EVALUATION",
    "FURTHER",
    "GATE_SEEDS",
    "KINDS",
    "META_TEST",
    "REPORT",
    "RESCORING",
    "SMOKE",
    "DerivedRun",
    "Kind",
    "NotAssignable",
    "Planning",
    "counting_runs",
    "derived_kind",
    "fitting_runs",
    "kind_of",
    "make_job",
    "starting_kind",
]

KINDS: tuple[Kind, ...] = (EVALUATION, META_TEST, RESCORING, SMOKE, GATE, REPORT, FURTHER)
_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_of(run: Run | HeldRun) -> Kind:
    """What a run is for."""
    return _BY_NAME[run.kind]


def starting_kind(submission: Submission) -> Kind:
    """What kind of runs a submission is evaluated by."""
    (kind,) = (kind for kind in KINDS if kind.starts(submission))
    return kind


def derived_kind(mode: RescoreMode) -> DerivedRun:
    """The kind of run that scores an earlier result again in this way; raises `ValueError` where all is run again."""
    (kind,) = (kind for kind in KINDS if isinstance(kind, DerivedRun) and kind.mode == mode)
    return kind


def make_job(services: Services, session: Session, run: Run) -> Job:
    """What the worker that has just claimed a run is sent; raises `NotAssignable`."""
    version = session.get_one(PhaseVersion, run.phase_version_id)
    return kind_of(run).job(Case(services, session, run, version, session.get_one(Phase, run.phase_id)))


def counting_runs() -> ColumnElement[bool]:
    """Runs of which scores for boards are made: no smoke tests, measurements of gates, reports."""
    return Run.kind.in_([kind.name for kind in KINDS if kind.counts])


def fitting_runs(worker: WorkerInfo) -> ColumnElement[bool]:
    """Runs of the kinds that a worker can do."""
    return Run.kind.in_([kind.name for kind in KINDS if kind.fits(worker)])
