"""Reports, runs and scores that the first release stored open as they did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, text

from anyshot_platform.app import make_services
from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import Database
from anyshot_platform.migration import migrate
from anyshot_platform.users.models import User
from tests.platform.admin.test_manage import page
from tests.platform.admin.test_old_rules import text_of, write_row
from tests.platform.conftest import make_settings
from tests.platform.site import Person, Site

PLAN = {"lead": 0.01, "flip": 0.05}
FLIPS = {"replicates": 1000, "seed": 0, "combination": "worst", "names": {"s": "pia"}, "feedback": {}}
DIVERSITY = {"tasks": 6, "floor_tasks": 2, "seed": 0, "protocol": {"name": "within_domain", "split_seed": 7}}
ANSWER = {
    "format": 1,
    "analysis": "plan",
    "title": "What a lead needs",
    "finding": "A lead of 1 points needs 900 tasks.",
    "population": "tasks",
    "notes": [],
    "result": {"tasks": 900},
}
ASKED: dict[str, dict[str, Any]] = {"plan": PLAN, "flips": FLIPS, "diversity": DIVERSITY}


def old_database(url: str) -> None:
    """A database of the last revision before reports had columns of their own, with a report of each kind."""
    database = Database(url)
    migrate(database, "0016")
    tables = MetaData()
    with database.engine.begin() as connection:
        tables.reflect(connection)

        def row(table: str, **values: Any) -> None:
            write_row(connection, tables, table, **values)

        row("users", id="u", username="owner", username_key="owner")
        row(
            "competitions",
            id="c",
            slug="old",
            title="Old",
            state="published",
            registration="open",
            retention={},
            created_by="u",
        )
        phase = {
            "kind": "feedback",
            "board_shows": "last",
            "board_audience": "everyone",
            "log_policy": "nothing",
        }
        row(
            "phases",
            id="p",
            competition_id="c",
            slug="p",
            name="Phase",
            time_zone="UTC",
            live_version=1,
            **phase,
        )
        version = {"state": "live", "rescore_mode": "nothing", "protocol": {}, "hardware_class": "cpu"}
        version |= {"ranking_rule": "worst_run", "query_order": "key", "root": "00" * 32}
        row("phase_versions", id="v", phase_id="p", number=1, train_seeds=[1], test_seeds=[1], **version)
        job = {"kind": "analyse", "state": "finished", "hardware_class": "cpu", "usage": {}, "provenance": {}}
        job |= {"stage_times": {"claimed": datetime(2026, 1, 1, tzinfo=UTC).isoformat()}, "evidence": {}}
        place = {"phase_id": "p", "phase_version_id": "v", "competition_id": "c"}
        for name, asked in ASKED.items():
            of_run = asked | {"analysis": name} | ({"result": ANSWER} if name == "plan" else {})
            row("runs", id=f"run-{name}", parameters=of_run, **job, **place)
            row(
                "reports", id=name, run_id=f"run-{name}", analysis=name, parameters=asked, results={}, **place
            )
    migrate(database)
    database.dispose()


@pytest.fixture
def migrated(tmp_path: Path, empty_database: str) -> Iterator[Site]:
    old_database(empty_database)
    services = make_services(make_settings(tmp_path, database_url=empty_database))
    with Site(services) as site:
        yield site
    services.database.dispose()


def organizer_of(site: Site) -> Person:
    organizer = site.person("orla")
    with site.services.database.writing() as session:
        (competition,) = [row for row in session.query(Competition) if row.slug == "old"]
        add_member(session, competition, session.get_one(User, organizer.id), Role.ORGANIZER)
    return organizer


def test_a_report_of_the_first_release_shows_what_it_was_asked_and_what_it_found(migrated: Site) -> None:
    organizer = organizer_of(migrated)
    api = "/api/v1/competitions/old/manage/reports"
    shown = {name: organizer.call("GET", f"{api}/{name}").json() for name in ASKED}
    assert {name: report["parameters"] for name, report in shown.items() if name != "diversity"} == {
        "plan": PLAN | {"rule": "worst_run", "names": {}},  # what it was made with, when none could be told
        "flips": FLIPS,
    }
    assert shown["plan"]["result"] == ANSWER | {"manifest": {}} and shown["flips"]["result"] is None
    assert shown["diversity"]["parameters"]["protocol"]["name"] == "within_domain"
    assert "split_seed" not in json.dumps(shown["diversity"])
    listed = text_of(page(organizer, "/competitions/old/manage/reports"))
    assert all(words in listed for words in ("What a lead needs", "Reliability of the ranking"))


def test_what_runs_stored_as_plain_json_is_shown_as_before(site: Site) -> None:
    """Fewer fields, more fields, and times as text: as rows of earlier and later releases have them."""
    alice = site.member("alice")
    shown = alice.submit().json()["id"]
    worker = site.worker()
    job = worker.claim() or {}
    worker.complete(job, 0.5)
    usage = {"participant_seconds": 12.5, "platform_seconds": {"prepare": 2.0}, "of_a_later_release": 1}
    times = {"claimed": "2026-01-01T00:00:00+00:00", "meta_testing": "2026-01-01T00:01:00+00:00"}
    summary = {
        "metric": "normalized_accuracy",
        "mean": 0.25,
        "half_width": None,
        "tasks": 10,
        "by_dataset": [{"key": "alpha", "mean": 0.25, "half_width": None, "tasks": 10}],
        "by_domain": [],
        "by_ways": [{"key": 5, "mean": 0.25, "half_width": 0.1, "tasks": 10}],
        "by_shots": [],
        "metrics": [{"key": "accuracy", "mean": 0.4, "half_width": 0.1, "tasks": 10}],
        "fit_seconds": 1.0,
        "predict_seconds": 1.0,
    }
    with site.services.database.writing() as session:
        columns = {"usage": usage, "provenance": {"image": "torch-cpu"}, "stage_times": times}
        for name, value in columns.items():
            session.execute(text(f"UPDATE runs SET {name} = :value"), {"value": json.dumps(value)})
        session.execute(text("UPDATE run_scores SET summary = :value"), {"value": json.dumps(summary)})
    run = alice.call("GET", f"/api/v1/submissions/{shown}").json()["runs"][0]
    assert (run["usage"]["participant_seconds"], run["provenance"]["image"]) == (12.5, "torch-cpu")
    seen = text_of(page(alice, f"/submissions/{shown}"))
    for words in ("torch-cpu", "Fetching data", "0.250"):
        assert words in seen, words
    figures = alice.call("GET", f"/submissions/{shown}/figures.csv")
    assert "1,ways,5,0.25,0.1,10" in figures.text.splitlines()
