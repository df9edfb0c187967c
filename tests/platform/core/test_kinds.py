"""A kind of run is one object: what it is planned as, what makes scores, what a person reads of it."""

from typing import Any

import pytest
from sqlalchemy import select

from anyshot_core.wire import jobs
from anyshot_platform.contest.phases.description import SETTINGS
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.rows import sent_settings
from anyshot_platform.contest.phases.states import RescoreMode
from anyshot_platform.foundation.schema.settings import Column
from anyshot_platform.judging.execution.kinds import KINDS, derived_kind, starting_kind
from anyshot_platform.judging.runs.states import RunKind
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.standings.baselines.actions import gates
from tests.platform.site import Site, make_zip

MANAGE = "/api/v1/competitions/small/manage"


def test_every_kind_is_one_object_with_a_name_for_people() -> None:
    assert sorted(kind.name for kind in KINDS) == sorted(RunKind)
    assert len({kind.title for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", SubmissionKind)
@pytest.mark.parametrize("gate_of", [None, "proto"])
def test_every_submission_starts_with_one_kind_of_run(kind: SubmissionKind, gate_of: str | None) -> None:
    if gate_of is not None and kind != SubmissionKind.BASELINE:
        return  # only baselines measure gates
    found = starting_kind(Submission(kind=kind, gate_of=gate_of))
    assert found.counts == (kind != SubmissionKind.SMOKE and gate_of is None)


def test_a_version_is_scored_again_from_predictions_or_learners() -> None:
    assert derived_kind(RescoreMode.SCORE).source_file == "predictions.parquet"
    assert derived_kind(RescoreMode.META_TEST).source_file == "learner.bin"
    with pytest.raises(ValueError):
        derived_kind(RescoreMode.EVERYTHING)


def test_what_a_phase_sends_to_its_workers_is_read_off_its_description() -> None:
    """Each limit of the sandbox is a setting of a phase, and no setting is sent that no assignment has room for."""
    sent = {column.name for one in SETTINGS if (column := one.mark(Column)) is not None and column.sent}
    assert set(jobs.Limits.model_fields) <= sent
    assert sent <= {*jobs.Limits.model_fields, *jobs.Budget.model_fields, *jobs.Evaluate.model_fields}
    version = PhaseVersion(**{name: object() for name in sent})
    for message in (jobs.Limits, jobs.Budget, jobs.Tested):
        told = sent_settings(version, message)
        assert told == {name: getattr(version, name) for name in sent & set(message.model_fields)}


def measure(site: Site, monkeypatch: pytest.MonkeyPatch, seeds: int) -> Submission:
    """A baseline of the organizers, queued for the measurement of a gate."""
    monkeypatch.setattr(gates.measure_gate, "__defaults__", (seeds,))
    owner = site.owner()
    upload = owner.upload(make_zip(salt="baseline"))
    made = owner.call(
        "POST", f"{MANAGE}/baselines", json={"name": "Proto", "upload_id": upload, "leagues": ["free"]}
    )
    assert made.status_code == 201, made.text
    asked = owner.call("POST", f"{MANAGE}/baselines/proto/acts/measure", json={"phase": "feedback"})
    assert asked.status_code == 202, asked.text
    with site.services.database.reading() as session:
        return session.scalars(select(Submission).where(Submission.gate_of == "proto")).one()


def test_runs_for_a_gate_say_so_and_make_no_score(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    submission, worker = measure(site, monkeypatch, seeds=2), site.worker()
    for score in (0.3, 0.5):
        job = worker.claim()
        assert job is not None and job["kind"] == "evaluate"
        assert worker.complete(job, score).status_code == 204
    found = site.owner().call("GET", f"/api/v1/submissions/{submission.id}").json()
    assert (found["status"], found["score"]) == ("finished", None)
    assert [run["kind"] for run in found["runs"]] == ["gate", "gate"]
    page = site.owner().call("GET", f"/submissions/{submission.id}", headers={"accept": "text/html"}).text
    assert "Run for a gate, seed 1" in page and "Run for a gate, seed 2" in page
    assert site.board("free")["rows"] == []


def test_jobs_say_whether_runs_share_their_tasks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the phase where it says so; each run for a gate has tasks of its own, whatever the phase says."""
    worker = site.worker()
    site.set_version(train_seeds=[1, 2], test_seeds=[], same_test_tasks=True)
    site.member("alice").submit(make_zip())

    def two_jobs() -> list[dict[str, Any]]:
        found = []
        for score in (0.3, 0.5):
            job = worker.claim()
            assert job is not None and worker.complete(job, score).status_code == 204
            found.append(job)
        return found

    seeded = two_jobs()
    measure(site, monkeypatch, seeds=2)
    for (one, two), told in ((seeded, True), (two_jobs(), False)):
        assert one["same_test_tasks"] is two["same_test_tasks"] is told
        for drawn in ("test_seed", "query_key", "tasks_mark"):
            assert (one[drawn] == two[drawn]) is told, drawn


@pytest.mark.parametrize("what", ["smoke", "gate"])
def test_what_makes_no_score_is_not_scored_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    worker = site.worker()
    if what == "gate":
        submission_id = measure(site, monkeypatch, seeds=1).id
    else:
        site.offer_smoke_tests("open-a")
        submission_id = site.member("alice").submit(smoke=True).json()["id"]
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.4).status_code == 204
    answer = site.owner().call(
        "POST", f"{MANAGE}/submissions/acts", json={"act": "rescore", "ids": [submission_id]}
    )
    assert answer.status_code == 200, answer.text
    assert "is run again, not scored again" in answer.text
    assert worker.claim() is None
