"""A rehearsal: one command plays the competition of 2022 with its baselines, from the import to published results."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.texts import name_key
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.people.teams.models import Team
from anyshot_platform.server.sweeper import sweep
from anyshot_starting_kit.cli import organize
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.core.test_budgets import allow, begin
from tests.platform.core.test_each_dataset import by_dataset
from tests.platform.entries.playing import Commands, opened
from tests.platform.entries.test_competition_2022 import SLUG, make_pools
from tests.platform.site import SLUG as SMALL
from tests.platform.site import PaperWorker, Site, make_zip
from tests.platform.web.scene import add_artifact
from tests.services.known_answers import make_worker, scoring, write_coloured_pack

MANAGE = f"/api/v1/competitions/{SMALL}/manage"


@pytest.mark.slow("six baselines in two phases, 24 runs by a real worker")
def test_one_command_plays_the_competition_of_2022_to_published_results(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = site.owner()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    names = ("metadl-set-0", "metadl-set-1", "metadl-set-2")
    make_pools(
        site, {name: write_coloured_pack(tmp_path, name, 20, 40, salt) for salt, name in enumerate(names)}
    )
    worker = make_worker(site, tmp_path, lambda job: scoring(0.5, 2))

    def time_passes(seconds: float) -> None:
        sweep(site.services)
        worker.work()

    # Of this module alone: who waits for a process sleeps too, and would be kept from ending it.
    clock = SimpleNamespace(**(vars(time) | {"sleep": time_passes}))
    monkeypatch.setattr(organize, "time", clock)
    with opened(Commands, site, tmp_path, SLUG) as way:
        assert isinstance(way, Commands)
        way.bring_in(owner, f"{now() + timedelta(days=20):%Y-%m-%d}")
        assert owner.call("POST", "/api/v1/pools/metadl-set-0-and-1/acts/combine").status_code == 200
        with site.services.database.writing() as session:  # this site's worker has no GPU
            for version in session.query(PhaseVersion):
                version.hardware_class, version.gpus = "cpu", 0
        said = way.run(owner, "organize", "rehearse", SLUG, "--tasks", "2", "--teams", "120")
    assert said.startswith("ok "), said
    assert "All phases were played." in said
    assert "published: Free-style" in said
    assert "submissions of 120 teams" in said
    assert "[x] Rehearsal" in said
    with site.services.database.reading() as session:
        copy = session.query(Competition).filter(Competition.slug == f"{SLUG}-rehearsal").one()
        original = session.query(Competition).filter(Competition.slug == SLUG).one()
        assert original.state == CompetitionState.DRAFT
        assert session.query(Submission).filter_by(competition_id=original.id).count() == 0
        runs = session.query(Run).filter(Run.competition_id == copy.id).all()
        assert {run.tasks_total for run in runs} == {2}
        told = [row.title for row in session.query(Notification)]
    assert sorted(told) == sorted(
        [f"{copy.title}: results of Final phase", f"The rehearsal of {original.title} has ended"]
    )
    final = f"/competitions/{SLUG}-rehearsal/leaderboard?phase=final"
    assert owner.call("GET", final).status_code == 200
    assert site.person("sam").call("GET", final).status_code == 404  # nobody else sees the copy


@pytest.fixture
def ready(site: Site) -> Site:
    """The small competition with a baseline of its own."""
    with_file = site.owner().upload(make_zip(salt="a baseline"))
    added = site.owner().call(
        "POST", f"{MANAGE}/baselines", json={"name": "Simple", "upload_id": with_file, "leagues": ["free"]}
    )
    assert added.status_code == 201, added.text
    return site


def play(site: Site, worker: PaperWorker, ends: Callable[[PaperWorker, dict[str, Any]], object]) -> None:
    """Let the rehearsal go on until nothing happens any more."""
    for _ in range(10):
        sweep(site.services)
        while (job := worker.claim()) is not None:
            ends(worker, job)


def test_a_rehearsal_says_what_the_competition_will_need(ready: Site) -> None:
    site, owner = ready, ready.owner()
    started = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 50})
    assert started.status_code == 201, started.text
    again = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 50})
    assert again.json()["id"] == started.json()["id"]  # one at a time
    worker = site.worker()
    sweep(site.services)
    job = worker.claim()
    assert job is not None and job["tasks"] == 2
    used = {"participant_seconds": 50.0, "meta_train_seconds": 30.0, "meta_test_seconds": 20.0}
    assert worker.complete(job, 0.5, usage=used).status_code == 204
    with site.services.database.writing() as session:
        run = session.get_one(Run, job["run_id"])
        assert run.finished_at is not None
        run.claimed_at = run.finished_at - timedelta(seconds=60)  # 10 s of ours
        blob = session.scalars(select(Blob.digest).limit(1)).one()
        for name, length in (("predictions.parquet", 1000), ("log.txt", 70)):
            add_artifact(session, run, name, blob, length).final = True
        size = session.get_one(Submission, run.submission_id).size
    play(site, worker, lambda *_: None)
    found = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"][0]
    assert found["ended_at"] is not None
    (phase,) = found["forecast"]
    # 60 s with 2 tasks, of which 20 are testing; the phase has 10 tasks: 40 + 5 * 20.
    assert phase["typical"] == pytest.approx(140, abs=0.1)
    # 31 days, 3 a day: 93 uploads of each team, below the quota of 100.
    assert phase["submissions"] == 50 * 93
    assert phase["hours"] == pytest.approx(50 * 93 * 140 / 3600, rel=0.01)
    assert phase["busy"] == pytest.approx(50 * 3 * 140 / 86_400, rel=0.01)
    # The zip and the log as they are, and predictions of ten tasks where two took 1,000 bytes.
    assert phase["bytes"] == 50 * 93 * (size + 70 + 5 * 1000)
    assert phase["wait_hours"] == pytest.approx(50 * 3 * 140 / 3600, rel=0.01)
    shown = " ".join(page(owner, f"{BASE}/rehearsals").text.split())
    assert "Forecast for 50 teams" in shown and "All phases were played." in shown
    assert "1 × cpu: all uploads of one day are scored within 5.8 h." in shown


def test_baselines_that_look_alike_play_under_names_that_do_not(ready: Site) -> None:
    """By the rule of all teams: a name that grows in its key must fit the column too."""
    site, owner = ready, ready.owner()
    alike, grows = "\uff33imple", "\u00df" * 56
    for name in (alike, grows):
        body = {"name": name, "upload_id": owner.upload(make_zip(salt=name)), "leagues": ["free"]}
        assert owner.call("POST", f"{MANAGE}/baselines", json=body).status_code == 201
    assert owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5}).status_code == 201
    sweep(site.services)
    with site.services.database.reading() as session:
        copy = session.query(Competition).filter(Competition.slug != SMALL).one()
        teams = {team.name: team.name_key for team in session.query(Team).filter_by(competition_id=copy.id)}
    assert {"Simple", f"{alike} (2)", grows} <= teams.keys()
    assert all(key == name_key(name) for name, key in teams.items())


def test_a_failure_is_told_and_a_deleted_copy_ends_it(ready: Site) -> None:
    site, owner = ready, ready.owner()
    worker = site.worker()
    assert flash(post(owner, f"{BASE}/rehearsals", tasks="2", teams="5")) == "The rehearsal has started."
    play(site, worker, lambda worker, job: worker.fail(job, "RUNTIME_ERROR"))
    (row,) = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"]
    assert {"Feedback: 1 team submitted.", "Feedback: 0 of 1 submission has a score."} < set(row["story"])
    assert "Feedback: Simple has no score (failed)." in row["story"]
    assert row["forecast"] == [] and row["ended_at"] is not None
    assert flash(post(owner, f"{BASE}/rehearsals", tasks="2", teams="5")) == "The rehearsal has started."
    rows = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"]
    assert len(rows) == 2 and rows[0]["copy_slug"] != row["copy_slug"]
    copy = rows[0]["copy_slug"]
    assert post(owner, f"/competitions/{copy}/manage/delete", confirm=copy).status_code == 303
    sweep(site.services)
    (newest, _) = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"]
    assert newest["story"] == ["The copy was deleted: the rehearsal ended there."]


def add_to_scratch(site: Site) -> None:
    body = {"name": "Second", "upload_id": site.owner().upload(make_zip(salt="x")), "leagues": ["scratch"]}
    assert site.owner().call("POST", f"{MANAGE}/baselines", json=body).status_code == 201


GONE = (
    "“Second” is not run: it names the leagues scratch, and none of them is there. "
    "Restore one of them, or remove the baseline and add it again."
)


def test_a_competition_with_a_deleted_league_is_rehearsed_without_it(ready: Site) -> None:
    """It was refused: "there is no league scratch", which nothing could mend."""
    site, owner = ready, ready.owner()
    add_to_scratch(site)
    assert post(owner, f"{BASE}/leagues/scratch/delete").status_code == 303
    started = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5})
    assert started.status_code == 201, started.text
    worker = site.worker()
    play(site, worker, lambda worker, job: worker.complete(job, 0.5))
    (row,) = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"]
    assert row["story"][:2] == [GONE, "Feedback: 1 team submitted."]
    assert "All phases were played." in row["story"]
    assert post(owner, f"{BASE}/leagues/free/delete").status_code == 303
    refused = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5})
    assert refused.status_code == 409 and "There is no baseline that could play." in refused.json()["message"]


def test_a_baseline_whose_league_is_deleted_in_the_copy_plays_in_no_other(ready: Site) -> None:
    """It entered each league that is open to all."""
    site, owner = ready, ready.owner()
    add_to_scratch(site)
    started = owner.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5})
    assert started.status_code == 201, started.text
    copy = started.json()["copy_slug"]
    assert post(owner, f"/competitions/{copy}/manage/leagues/scratch/delete").status_code == 303
    sweep(site.services)
    (row,) = owner.call("GET", f"{MANAGE}/rehearsals").json()["rehearsals"]
    assert row["story"] == [GONE, "Feedback: 1 team submitted."]
    with site.services.database.reading() as session:
        assert [made.comment for made in session.query(Submission)] == ["Simple"]


def test_rehearsals_have_a_budget_of_their_own_and_need_no_room_for_drafts(ready: Site) -> None:
    """They use the workers of all; the copy is no draft, and stays among the competitions until it is deleted."""
    site, owner = ready, ready.owner()
    allow(site, drafts=1, rehearsals=2, competitions=4)
    assert begin(owner, 0) == 303 and begin(owner, 1) == 409
    path, refused = f"{MANAGE}/rehearsals", []
    for _ in range(3):
        begun = owner.call("POST", path, json={"tasks": 2})
        refused += [begun.json()["message"]] if begun.status_code != 201 else []
        for row in owner.call("GET", path).json()["rehearsals"]:
            copy = row["copy_slug"]
            owner.call("POST", f"/api/v1/competitions/{copy}/manage/acts/delete", json={"confirm": copy})
        sweep(site.services)
    assert len(refused) == 1 and "2 a day" in refused[0]
    assert len(owner.call("GET", path).json()["rehearsals"]) == 2
    allow(site, rehearsals=0, competitions=2)  # the small one and the draft
    assert owner.call("POST", path, json={"tasks": 2}).json()["error"] == "over_budget"


LEGACY = {"name": "legacy", "tasks_per_dataset": 5}


@pytest.mark.parametrize(
    ("version", "asked", "runs"),
    [
        ({}, 1, [1, 1]),
        ({}, 3, [1, 2]),
        ({"each_dataset": False, "protocol": LEGACY, "tasks": 10}, 1, [2]),
        ({"each_dataset": False, "protocol": LEGACY, "tasks": 10}, 5, [4]),
    ],
)
def test_each_dataset_that_needs_a_task_has_one_in_a_rehearsal(
    ready: Site, version: dict[str, Any], asked: int, runs: list[int]
) -> None:
    """A competition that is sound could not be rehearsed on fewer tasks than it has datasets."""
    by_dataset(ready)
    ready.set_version(**version)
    started = ready.owner().call("POST", f"{MANAGE}/rehearsals", json={"tasks": asked, "teams": 5})
    assert started.status_code == 201, started.text
    sweep(ready.services)
    with ready.services.database.reading() as session:
        copy = session.query(Competition).filter(Competition.slug != SMALL).one()
        made = session.query(Run).filter(Run.competition_id == copy.id).all()
        assert sorted(run.tasks_total for run in made) == runs
        (phase_version,) = {run.phase_version for run in made}
        assert phase_version.protocol.get("tasks_per_dataset", 0) == sum(runs) // 2 * bool(version)


def test_what_is_not_ready_is_not_rehearsed(site: Site) -> None:
    owner = site.owner()
    refused = owner.call("POST", f"{MANAGE}/rehearsals", json={})
    assert refused.status_code == 409 and "There is no baseline that could play." in refused.json()["message"]
    site.set_version(protocol={})
    refused = owner.call("POST", f"{MANAGE}/rehearsals", json={})
    assert "Feedback has no task protocol." in refused.json()["message"]
    checks = {row["title"]: row for row in owner.call("GET", f"{MANAGE}/rehearsals").json()["checklist"]}
    assert not checks["Everything that scores need is there"]["done"]
    assert checks["Dates"]["done"] and not checks["Rehearsal"]["done"]
