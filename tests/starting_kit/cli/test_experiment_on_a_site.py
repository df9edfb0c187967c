"""`anyshot experiment send` and `collect` against the real web service: a site's workers carry an experiment out."""

import csv
import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import select

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.evaluations.points import list_points
from anyshot_platform.judging.execution.kinds import FURTHER
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.tables import make_rows, pooled
from tests.contract.recording import part_failure
from tests.platform.admin.results import draw_table, finish_with_table
from tests.platform.site import SLUG, Site
from tests.starting_kit.cli.test_platform_commands import (  # noqa: F401 - fixtures
    address,
    call,
    folder,
)

SKILLS = {"prototypical_networks": 0.7, "nearest_prototype": 0.4}


def test_a_sites_workers_carry_out_an_experiment_and_its_report_is_the_same(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Each baseline is run in a phase; collected, tables and findings are those of the same runs at home."""
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    early = call("experiment", "collect", SLUG, "-o", str(tmp_path / "none"))
    assert early.exit_code == 2, early.output
    assert "no runs of baselines" in " ".join(early.output.split())
    sent = call("experiment", "send", SLUG, "feedback", *SKILLS, "--settings", "quick")
    assert sent.exit_code == 0, sent.output
    assert "prototypical_networks: 1 run queued" in sent.output
    waiting = call("experiment", "collect", SLUG, "-o", str(tmp_path / "none"))
    assert waiting.exit_code == 2 and "No run has finished yet" in waiting.output
    worker, tables = site.worker(), {}
    for place, (name, skill) in enumerate(SKILLS.items()):
        tables[name] = draw_table(skill, site_tasks(site), place)
        finish_with_table(worker, tables[name])
    give_evaluations(site)
    done = call("experiment", "collect", SLUG, "--phase", "feedback", "-o", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    here = [Done(name, 1, table, 0.0) for name, table in tables.items()]
    expected = [asdict(row) for row in make_rows(pooled(here))]
    assert json.loads((tmp_path / "out" / "scores.json").read_text()) == expected
    said = (tmp_path / "out" / "findings.md").read_text()
    assert "| prototypical networks is above nearest prototype | holds |" in said
    assert "the workers of a site, in the phase feedback" in said and "Number of shots" in said
    other = call("experiment", "collect", SLUG, "--phase", "final", "-o", str(tmp_path / "out"))
    assert other.exit_code == 2 and "they ran in feedback" in " ".join(other.output.split())


def test_the_archive_has_the_further_evaluations(site: Site) -> None:
    site.member("ada").submit()
    finish_with_table(site.worker(), draw_table(0.5, site_tasks(site), 0))
    give_evaluations(site)
    content = site.owner().call("GET", f"/competitions/{SLUG}/manage/exports/archive.zip").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("evaluations.csv").decode())))
        assert "evaluations.csv" in archive.read("README.md").decode()
    assert [(row["phase"], row["team"], row["evaluation"], row["point"]) for row in rows] == [
        ("feedback", "ada", "shots", "1")
    ]
    assert float(rows[0]["mean"]) > 0.3
    page = site.owner().call("GET", f"/competitions/{SLUG}/manage/exports/evaluations.json").json()
    assert [row["submission"] for row in page] == [rows[0]["submission"]]


def site_tasks(site: Site) -> int:
    with site.services.database.reading() as session:
        return session.get_one(Phase, site.phase_id).live.tasks


def give_evaluations(site: Site) -> None:
    """Give every submission the score of its run at one point of a further evaluation."""
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        phase.evaluations = "shots numbers=1 tasks=4"
        for submission in session.scalars(select(Submission)):
            source = session.scalars(select(Run).where(Run.submission_id == submission.id)).one()
            score = session.scalars(select(RunScore).where(RunScore.run_id == source.id)).one()
            (test,) = FURTHER.plan_tests(session, submission, source, list_points(session, phase.live))
            test.run.state, test.summary, test.scored_at = RunState.FINISHED, score.summary, now()
            session.add(test)


def test_a_failed_evaluation_says_why_in_the_terminal(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    """Once for all of its points that the same thing stopped, with the traceback, as of a run."""
    ada = site.member("ada")
    entry = ada.submit().json()["id"]
    finish_with_table(site.worker(), draw_table(0.5, site_tasks(site), 0))
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        phase.evaluations = "shots numbers=1,2,3 tasks=4"
        source = session.scalars(select(Run)).one()
        submission = session.scalars(select(Submission)).one()
        score = session.scalars(select(RunScore)).one()
        tests = FURTHER.plan_tests(session, submission, source, list_points(session, phase.live))
        tests[0].summary, tests[0].run.state = score.summary, RunState.FINISHED
        for test in tests[1:]:
            test.failure = part_failure(test.place, detail="in fit\nin step")
        session.add_all(tests)
    assert call("login", "--server", address, "--token", ada.token).exit_code == 0
    said = call("results", entry).output
    assert "  2 shots: failed\n  3 shots: failed\n" in said
    assert said.endswith(
        "Number of shots: 2 shots, Number of shots: 3 shots\n"
        "  RUNTIME_ERROR: ValueError in fit (model.py, line 10).\n  at task number 4: 5-way, 2-shot\n"
        "    in fit\n    in step\n"
    )
