"""One attempt of one run: go through the chain of its kind of job, and only then announce how it ended."""

import logging
import traceback
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anyshot_core.data.problems import DataError
from anyshot_core.taskserver.job import Failure
from anyshot_core.wire.jobs import Job
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Complete, Fail
from anyshot_worker.attempt import BadAssignment, Failed, RunAttempt, Site, Stopped, failure_fields
from anyshot_worker.chain import KINDS
from anyshot_worker.client import PlatformUnreachable, RequestRefused, StaleEpoch, WorkerApiError
from anyshot_worker.events import LogShipper
from anyshot_worker.lease import Lease, StopReason
from anyshot_worker.sandbox import SandboxError

log = logging.getLogger(__name__)


def carry_out(assignment: Job, site: Site) -> None:
    """Do what the assignment asks and report how it ended; returns whatever happens to the submission, or here."""
    try:
        _attempt(assignment, site)
    except StaleEpoch as error:
        log.info("run %s went to another attempt: %s", assignment.run_id, error)
    except WorkerApiError as error:
        log.error("run %s: the platform did not take the result: %s", assignment.run_id, error)


def _attempt(assignment: Job, site: Site) -> None:
    scratch = site.workspace.scratch
    try:
        with (
            TemporaryDirectory(prefix="attempt-", dir=scratch, ignore_cleanup_errors=True) as folder,
            closing(LogShipper(site.client, assignment, Path(folder) / "log.txt")) as shipper,
            Lease(site.client, assignment, site.draining) as lease,
            site.workspace.hold() as files,
        ):
            attempt = RunAttempt(site, assignment, Path(folder), lease, shipper, files)
            outcome = _outcome(attempt)
            lease.flush()
            _announce(attempt, outcome)
    except WorkerApiError:
        raise
    except Exception:  # noqa: BLE001 - a full disk, a bug of ours: untold, the worker would count as lost
        site.client.fail(assignment.run_id, _fail(assignment, _our_error()))


def _outcome(attempt: RunAttempt[Any]) -> Complete | Failure | None:
    """What it ended with; None means that it was stopped."""
    try:
        return KINDS[type(attempt.assignment)](attempt)
    except Stopped:
        return None
    except Failed as error:
        return error.failure
    except BadAssignment as error:
        if isinstance(error.__cause__, DataError) and attempt.files.drop_damaged():
            return _our_error()
        return Failure(error.verdict, str(error))
    except SandboxError as error:
        return Failure(
            error.verdict, "The sandbox could not be used; this is not your fault.", private=str(error)
        )
    except RequestRefused as error:
        return _refused(error)
    except PlatformUnreachable as error:
        return _cut_off(error)
    except WorkerApiError:
        raise
    except Exception:  # noqa: BLE001 - a bug of ours must end the run as ours, never leave it without an end
        attempt.files.drop_damaged()
        return _our_error()


def _our_error() -> Failure:
    """For the exception that is being handled."""
    return Failure(
        Verdict.TASK_SERVER_BUG,
        "The platform made an error; this is not your fault.",
        private=traceback.format_exc(),
    )


def _announce(attempt: RunAttempt[Any], outcome: Complete | Failure | None) -> None:
    run, epoch, client = attempt.assignment.run_id, attempt.assignment.epoch, attempt.site.client
    if isinstance(outcome, Complete):
        try:
            client.complete(run, outcome)
            return
        except PlatformUnreachable as error:
            outcome = _cut_off(error)
        except RequestRefused as error:
            outcome = _refused(error)
    if attempt.lease.stop_reason is StopReason.LOST:
        log.warning("run %s: the lease is lost, its attempt ends without a word", run)
    elif attempt.lease.stop_reason is StopReason.DRAINING:
        client.release(run, epoch)
    elif outcome is None or attempt.lease.stop_reason is StopReason.CANCELLED:
        client.fail(run, _failure(attempt, Failure(Verdict.CANCELLED, "The run was cancelled.")))
    else:
        client.fail(run, _failure(attempt, outcome))


def _refused(error: RequestRefused) -> Failure:
    return Failure(Verdict.TASK_SERVER_BUG, "The platform refused what this worker sent.", private=str(error))


def _cut_off(error: PlatformUnreachable) -> Failure:
    """A file or a result did not get through while the lease lives: told, so that the run is tried again later."""
    return Failure(
        Verdict.TASK_SERVER_BUG,
        "The worker lost its connection to the platform; this is not your fault.",
        private=str(error),
    )


def _failure(attempt: RunAttempt[Any], failure: Failure) -> Fail:
    """What is told of a failed attempt; its log is worth keeping, but not worth failing for."""
    path = attempt.log.close()
    try:
        attempt.store(path)
    except StaleEpoch:
        raise
    except WorkerApiError as error:
        log.warning("log of run %s was not stored: %s", attempt.assignment.run_id, error)
    return _fail(attempt.assignment, failure, progress=attempt.lease.progress, **attempt.account.fields())


def _fail(assignment: Job, failure: Failure, **known: Any) -> Fail:
    """A failure as the platform is told it, with what is `known` of its attempt."""
    if failure.private:
        log.error("run %s: %s %s", assignment.run_id, failure.verdict, failure.private)
    early = {"before_training": True} if failure.before_training else {}
    return Fail(
        epoch=assignment.epoch,
        private=failure.private,
        **failure_fields(failure),
        **early,
        **known,
    )
