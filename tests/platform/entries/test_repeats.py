"""A failed run of a final is repeated by rule, with its seeds; code that failed is not tried again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.server.sweeper import sweep
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.core.test_each_dataset import hand_in
from tests.platform.entries.test_entries import names, scored
from tests.platform.entries.test_finals import FINAL, end_feedback, final, launch
from tests.platform.entries.test_members import log_of
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_paper_pack
from tests.services.processes import free_port
from tests.services.sites import served

__all__ = ["final"]
OURS, THEIRS = "TASK_SERVER_BUG", "RUNTIME_ERROR"


@dataclass
class Played:
    """A launched final of two runs, of ada and of whoever else was named."""

    site: Site
    worker: PaperWorker
    owner: Person
    entries: dict[str, str]  # team: its entry in the final

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs that wait, in the order of their seeds."""
        found = []
        while job := self.worker.claim():
            found.append(job)
        return sorted(found, key=lambda job: job["test_seed"])

    def lose(self, job: dict[str, Any]) -> None:
        """The run fails through no fault of its team, as often as it is tried."""
        for _ in range(10):
            assert self.worker.fail(job, OURS).status_code == 204
            with self.site.services.database.writing() as session:
                run = session.get_one(Run, job["run_id"])
                run.available_at = now()
                if run.finished_at is not None:
                    return
            again = self.worker.claim()
            assert again is not None and (again["train_seed"], again["test_seed"]) == seeds(job)
            job = again

    def failed(self) -> list[str]:
        return [row["words"] for row in self.owner.call("GET", f"{FINAL}/failed").json()]

    def status(self, team: str = "ada") -> str:
        return self.site.submission(self.entries[team]).status.value


def seeds(job: dict[str, Any]) -> tuple[Any, Any]:
    return job["train_seed"], job["test_seed"]


def play(site: Site, *teams: str) -> Played:
    worker, owner = site.worker(), site.owner()
    for name in teams or ("ada",):
        scored(worker, site.member(name), 0.5)
    end_feedback(site)
    made = {site.submission(entry): entry for entry in launch(owner)}
    with site.services.database.reading() as session:
        return Played(
            site, worker, owner, {session.merge(one, load=False).team.name: key for one, key in made.items()}
        )


@pytest.fixture
def played(final: Site) -> Played:
    return play(final)


def test_only_the_run_that_failed_is_repeated_with_its_seeds(played: Played) -> None:
    first, second = played.jobs()
    assert seeds(first) != seeds(second)
    played.lose(first)
    assert not played.worker.beat(second).json()["cancel"]  # its result is not lost with the first
    assert played.worker.complete(second, 0.4).status_code == 204
    assert played.status() == "failed"
    assert played.failed() == [
        "ada: run 1 of 2 failed through no fault of the team; repeated with the same seeds; the other one is kept."
    ]
    shown = page(played.owner, f"{BASE}/final").text
    assert played.failed()[0] in shown and f'action="{BASE}/final/final/repeat"' in shown
    done = post(played.owner, f"{BASE}/final/final/repeat")
    assert flash(done) == "1 run is queued again, with the same seeds."
    (again,) = played.jobs()
    assert (seeds(again), again["run_id"] != first["run_id"]) == (seeds(first), True)
    assert played.status() == "running"
    played.worker.complete(again, 0.6)
    assert (played.status(), played.site.submission(played.entries["ada"]).score) == ("finished", 0.4)
    board = played.owner.call("GET", f"/api/v1/competitions/{SLUG}/phases/final/leaderboard").json()
    assert [(row["team"], row["score"], row["runs"]) for row in board["rows"]] == [("ada", 0.4, 2)]
    assert names(played.site, "free") == [("ada", 0.5)]
    (logged,) = log_of(played.site, "final.repeat")
    assert logged[1] == {"repeated": {played.entries["ada"]: [1]}}
    assert (
        flash(post(played.owner, f"{BASE}/final/final/repeat"))
        == "No run of this phase waits to be repeated."
    )


def test_code_that_failed_gets_no_second_try(final: Site) -> None:
    played = play(final, "ada", "bob")
    for job in played.jobs():
        mine = job["submission_id"] == played.entries["ada"]
        played.worker.fail(job, THEIRS) if mine else played.worker.complete(job, 0.7)
    assert played.failed() == ["ada: runs 1 and 2 of 2 ended with “error in the code”; not repeated."]
    assert "Repeat the failed runs" not in page(played.owner, f"{BASE}/final").text
    assert (
        flash(post(played.owner, f"{BASE}/final/final/repeat"))
        == "No run of this phase waits to be repeated."
    )
    assert played.jobs() == []


def test_a_run_that_failed_by_itself_beside_code_that_failed_is_not_repeated(played: Played) -> None:
    first, second = played.jobs()
    played.worker.fail(first, THEIRS)
    assert played.worker.beat(second).json()["cancel"]  # no score will come of it
    played.worker.fail(second, OURS)
    assert played.failed() == ["ada: runs 1 and 2 of 2 ended with “error in the code”; not repeated."]


def test_what_the_team_withdrew_or_cancelled_is_not_repeated(final: Site) -> None:
    played = play(final, "ada", "bob")
    for job in played.jobs():
        played.lose(job)
    act = {"act": "disqualify", "ids": [played.entries["bob"]], "reason": "two accounts"}
    played.owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=act)
    repeated = played.owner.call("POST", f"{FINAL}/acts/repeat", json={}).json()["items"]
    assert [(row["team"], row["runs"]) for row in repeated] == [("ada", [1, 2])]
    stop = {"act": "cancel", "ids": [played.entries["ada"]]}
    played.owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=stop)
    assert played.failed() == ["ada: runs 1 and 2 of 2 ended with “cancelled”; not repeated."]


def test_publishing_waits_for_what_is_to_be_repeated_and_repeating_for_a_word_once_it_is_public(
    played: Played,
) -> None:
    first, second = played.jobs()
    played.worker.complete(first, 0.6)
    played.lose(second)
    body = {"confirm": "final"}
    refused = played.owner.call("POST", f"{FINAL}/acts/publish", json=body)
    assert "Runs of ada failed through no fault of theirs. Repeat them first." in refused.text
    assert (
        played.owner.call("POST", f"{FINAL}/acts/publish", json={**body, "override": True}).status_code == 200
    )
    asked = played.owner.call("POST", f"{FINAL}/acts/repeat", json={})
    assert "The results of “Final” are public." in asked.text
    assert played.owner.call("POST", f"{FINAL}/acts/repeat", json={"override": True, **body}).json()["items"][
        0
    ]["repeated"]


def test_shards_of_a_seed_are_repeated_together(final: Site) -> None:
    """They share the learner of the first one."""
    with final.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="final").one()
        phase.versions[0].shards = 2
    played = play(final)
    jobs = played.jobs()  # the first shard of each seed; the others wait for its learner
    assert [job["shard"] for job in jobs] == [[0, 5], [0, 5]]
    for job in jobs:
        played.lose(job)
    assert played.status() == "failed"  # nothing waits for a learner that will never come
    assert played.owner.call("POST", f"{FINAL}/acts/repeat", json={}).json()["items"][0]["runs"] == [1, 2]
    again = played.jobs()
    assert [(job["shard"], seeds(job)) for job in again] == [([0, 5], seeds(job)) for job in jobs]


def test_a_dataset_of_a_seed_is_repeated_alone(final: Site, tmp_path: Path) -> None:
    pack_id = make_paper_pack(final.services, "beta")
    with final.services.database.writing() as session:
        version: PhaseVersion = session.query(Phase).filter_by(slug="final").one().versions[0]
        assert version.meta_test is not None
        pool, packs = version.meta_test.pool, [entry.pack for entry in version.meta_test.entries]
        both = [*packs, session.get_one(Pack, pack_id)]
        new = create_pool_version(session, pool, both, created_by=final.owner_id)
        version.meta_test_pool_version_id, version.meta_train_pool_version_id = new.id, new.id
        version.protocol, version.ranking_rule = (
            {"name": "within_domain", "split_seed": 7},
            "dataset_ranks_worst",
        )
        version.each_dataset, version.tasks, version.test_seeds = True, 7, [3, 3]
    played = play(final)
    jobs = played.jobs()
    assert len(jobs) == 4
    lost, *others = sorted(jobs, key=lambda job: (job["train_seed"], job["dataset"]))
    for job in others:
        hand_in(played.worker, job, tmp_path)
    played.lose(lost)
    sweep(final.services)
    assert played.failed()[0].startswith("ada: run 1 of 2 failed through no fault of the team")
    played.owner.call("POST", f"{FINAL}/acts/repeat", json={})
    (again,) = played.jobs()
    assert (seeds(again), again["dataset"]) == (seeds(lost), lost["dataset"])
    hand_in(played.worker, again, tmp_path)
    sweep(final.services)
    assert played.status() == "finished"


def test_scoring_again_finishes_no_entry_that_lacks_a_run(final: Site) -> None:
    """The entry became finished without a score, its team was told so, and its lost run could not be repeated."""
    played = play(final, "ada", "bob")
    for number, job in enumerate(played.jobs()):
        mine = job["submission_id"] == played.entries["ada"]
        played.lose(job) if mine and number > 1 else played.worker.complete(job, 0.4)
    before = played.failed()
    assert "run 2 of 2 failed through no fault of the team" in before[0] and played.status() == "failed"
    act = {"act": "rescore", "ids": list(played.entries.values())}
    done = played.owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=act).json()
    assert done["done"] == [played.entries["bob"]]
    assert done["skipped"] == {
        played.entries[
            "ada"
        ]: "Not all of its seeded runs are finished: there is no whole result to score again."
    }
    assert played.jobs() == [] and played.status("bob") == "finished"  # his predictions were not kept
    assert (played.status(), played.failed()) == ("failed", before)
    played.owner.call("POST", f"{FINAL}/acts/repeat", json={})
    (again,) = played.jobs()
    played.worker.complete(again, 0.6)
    assert (played.status(), played.site.submission(played.entries["ada"]).score) == ("finished", 0.4)


@pytest.fixture
def where(final: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with served(final.app, free_port()) as address:
        yield address


def test_the_command_repeats(final: Site, where: str) -> None:
    played = play(final)
    first, second = played.jobs()

    def run(*words: str) -> Any:
        said = ["organize", *words, "--server", where, "--token", played.owner.token]
        return json.loads(CliRunner().invoke(main, said).stdout)

    failed = ("show", "failed", SLUG, "final", "--json")
    assert run(*failed) == []
    played.worker.complete(first, 0.6)
    played.lose(second)
    which = "run 2 of 2 failed through no fault of the team"
    words = f"ada: {which}; repeated with the same seeds; the other one is kept."
    assert [row["words"] for row in run(*failed)] == [words]
    assert [row["words"] for row in run("do", SLUG, "final.repeat", "final")["items"]] == [words]
    (again,) = played.jobs()
    assert seeds(again) == seeds(second)
