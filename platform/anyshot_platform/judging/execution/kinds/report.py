"""An organizer's report, which a worker computes from packs or from results: of no submission, with no score."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.jobs import Analyse, ExportRef, ResultsRef
from anyshot_core.wire.reports import OnPools, ReportSummary
from anyshot_core.wire.worker_api import Complete, WorkerInfo
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.artifacts.service import blob_ref
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.kinds.kind import Case, Kind, common_fields
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.reports.records import FILES
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.secrets import secrets_of
from anyshot_platform.judging.runs.states import RunKind
from anyshot_platform.judging.scores.verification import WrongResult
from anyshot_platform.judging.workers.models import Worker


class ReportRun(Kind):
    """Computed once for the same inputs; what came is kept, though somebody cancelled it meanwhile."""

    name = RunKind.ANALYSE
    counts_steps = True
    title = "Report"
    artifacts = frozenset(FILES)
    keeps_late_result = True

    def plan_report(self, session: Session, phase: Phase, version: PhaseVersion, actor_id: str) -> Run:
        """The run of a report on a phase's version, not queued yet."""
        return Run(
            kind=self.name,
            competition_id=phase.competition_id,
            phase_id=phase.id,
            phase_version_id=version.id,
            requested_by=actor_id,
            priority=priorities.RERUN,
            bulk=True,
            hardware_class=_hardware_class(session, version),
        )

    def fits(self, worker: WorkerInfo) -> bool:
        """Only workers with the analysis package compute reports."""
        return worker.analyses

    def job(self, case: Case) -> Analyse:
        """Compute the report. Only one on pools needs packs; the others need what runs left."""
        report = _report_of(case.session, case.run)
        version = case.version
        pools = (version.meta_train_pool_version_id, version.meta_test_pool_version_id)
        train, test = (case.packs(pool) if isinstance(report.parameters, OnPools) else [] for pool in pools)
        return Analyse(
            **common_fields(case, version.tasks),
            same_test_tasks=secrets_of(version).same_tasks,
            meta_train=train,
            meta_test=test,
            results=_results(case, report),
            exports=_exports(case, report),
            parameters=report.parameters,
        )

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Keep the numbers of the report."""
        if not isinstance(result.summary, ReportSummary):
            raise WrongResult("A report was asked for, and a score came.")
        _report_of(session, run).answer = result.summary


REPORT = ReportRun()


def _report_of(session: Session, run: Run) -> Report:
    return session.scalars(select(Report).where(Report.run_id == run.id)).one()


def _results(case: Case, report: Report) -> list[ResultsRef]:
    """The tables that a report is computed from."""
    rows, services = report.results.runs if report.results else (), case.services
    return [
        ResultsRef(
            submission=row.submission,
            run=row.run,
            blob=blob_ref(services, row.digest, row.size),
            predictions=blob_ref(services, *row.predictions) if row.predictions else None,
        )
        for row in rows
    ]


def _exports(case: Case, report: Report) -> list[ExportRef]:
    """The files of runs that a report is computed from."""
    rows, services = report.results.exports if report.results else (), case.services
    return [
        ExportRef(submission=row.submission, run=row.run, blob=blob_ref(services, row.digest, row.size))
        for row in rows
    ]


def _hardware_class(session: Session, version: PhaseVersion) -> str:
    """A report needs no GPU: a worker of the class `cpu` where there is one, else one of the phase's own class."""
    known = session.scalar(
        select(Worker.id).where(Worker.hardware_class == "cpu", Worker.stopped_at.is_(None)).limit(1)
    )
    return "cpu" if known is not None else version.hardware_class
