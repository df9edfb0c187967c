"""Scores and boards of a competition that moves: runs in parts, versions that were given up or are no longer live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.database import now
from tests.platform.admin.test_acts import draft
from tests.platform.admin.test_manage import BASE, finish, flash, page, phase_form, post
from tests.platform.admin.test_transfers import (  # noqa: F401 the fixture
    Elsewhere,
    altered,
    bring,
    other,
    take,
)
from tests.platform.core import test_each_dataset as each_dataset
from tests.platform.core import test_shards as shards
from tests.platform.site import Site, make_zip


def dataset_by_dataset(site: Site, folder: Path) -> None:
    """One submission that went through, and one whose code failed on a dataset."""
    each_dataset.by_dataset(site, ranking_rule="dataset_ranks_worst")
    worker = site.worker()
    site.member("ada").submit()
    for job in each_dataset.claim_all(worker):
        each_dataset.hand_in(worker, job, folder)
    site.member("ben").submit()
    failing, answered = each_dataset.claim_all(worker)
    worker.fail(failing, "RUNTIME_ERROR")
    each_dataset.hand_in(worker, answered, folder)
    assert len(site.board()["rows"]) == 2


def shard_by_shard(site: Site, folder: Path) -> None:
    site.set_version(shards=3)
    worker = site.worker()
    site.member("ada").submit()
    while (job := worker.claim()) is not None:
        shards.hand_in(worker, job, folder)
    assert len(site.board()["rows"]) == 1


def expire(site: Site, name: str) -> None:
    with site.services.database.writing() as session:
        for artifact in session.query(Artifact).filter_by(name=name):
            artifact.expired_at = now()


def swap_answers(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    """One part's answers in the place of another's, whose score stays."""
    answers = [row for row in rows["artifacts"] if row["name"] == "predictions.parquet"]
    first, second = answers[:2]
    assert first["digest"] != second["digest"]
    second["digest"] = first["digest"]


def raise_whole(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["run_scores"][0]["summary"]["mean"] = rows["run_scores"][0]["value"] = 0.999


def fewer_tasks(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    """As if fewer had been asked than were answered: the mean over them would be larger."""
    score = rows["run_scores"][0]
    share = score["tasks"] / (score["tasks"] - 1)
    score["tasks"] = score["summary"]["tasks"] = score["tasks"] - 1
    for where, name in ((score, "value"), (score["summary"], "mean"), (score["summary"], "half_width")):
        where[name] *= share
    score["summary"]["metrics"] = []


def later_ids(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    """The runs that others started from come after them, as ids of one millisecond do now and then."""
    text = json.dumps(rows)
    for id_ in {row["source_run_id"] for row in rows["runs"]} - {None}:
        text = text.replace(id_, f"f{id_[1:]}")
    rows.update(json.loads(text))


@pytest.mark.seconds("two sites")
@pytest.mark.parametrize("play", [dataset_by_dataset, shard_by_shard])
def test_a_competition_with_runs_in_parts_moves(
    site: Site,
    other: Elsewhere,  # noqa: F811
    tmp_path: Path,
    play: Any,
) -> None:
    """The table of the whole was compared with the answers of the first part, and each archive refused."""
    play(site, tmp_path)
    content, dora = take(site), other.person("dora")
    answered = play is shard_by_shard  # the other failed on a dataset: its table is shorter than its run
    for change in (swap_answers, raise_whole, *([fewer_tasks] if answered else [])):
        refused = bring(dora, altered(content, change))
        assert refused.status_code == 422, change.__name__
        assert "A score of the archive is not what its files give." in refused.json()["message"]
    expire(site, "predictions.parquet")
    reordered = altered(content, later_ids)
    for slug, archive in (("with-answers", content), ("without", take(site)), ("reordered", reordered)):
        made = bring(dora, archive, slug)
        assert made.status_code == 201, made.text


@pytest.mark.seconds("two sites")
def test_boards_of_versions_that_are_not_live_hinder_no_move(
    site: Site,
    other: Elsewhere,  # noqa: F811
) -> None:
    """Their rows are gone, or of settings of before: made again they were others, and the move was refused."""
    owner, worker, pia = site.owner(), site.worker(), site.member("pia")
    for score in (0.7, 0.5):
        pia.submit(make_zip(salt=str(score)))
        finish(worker, score)
    version = draft(site, **{"scoring.ranking": "mean_run"})
    post(owner, f"{version}/rescore", mode="everything")
    finish(worker, 0.7)
    finish(worker, 0.5)
    post(owner, f"{version}/make-live", confirm="feedback")
    # The board shows the best from now on; that of version 1 keeps the last.
    changed = phase_form(**{"scoring.ranking": "mean_run", "scoring.board_shows": "best"})
    assert flash(post(owner, f"{BASE}/phases/feedback", **changed)) == "Saved."
    assert take_and_bring(site, other, "first") == [0.7]
    form = phase_form(**{"tasks.count": "20", "scoring.ranking": "mean_run", "scoring.board_shows": "best"})
    made = post(owner, f"{BASE}/phases/feedback", act="version", **form)
    given_up = made.headers["location"]
    post(owner, f"{given_up}/rescore", mode="everything")
    finish(worker, 0.6)
    finish(worker, 0.6)
    assert "0.6" in page(owner, given_up).text
    post(owner, f"{given_up}/discard")
    assert take_and_bring(site, other, "second") == [0.7]


def take_and_bring(site: Site, other: Elsewhere, slug: str) -> list[float]:  # noqa: F811
    """The scores of the board there."""
    owner = other.person(f"{slug}-owner")
    made = bring(owner, take(site), slug)
    assert made.status_code == 201, made.text
    board = owner.call("GET", f"/api/v1/competitions/{slug}/phases/feedback/leaderboard").json()
    return [row["score"] for row in board["rows"]]
