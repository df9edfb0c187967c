"""Settings of the first release, when `combine` and the ranking rule could contradict each other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, Table, insert, text

from anyshot_platform.app import make_services
from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import Database
from anyshot_platform.migration import migrate
from anyshot_platform.runs.models import Run
from anyshot_platform.users.models import User
from anyshot_scoring.rules import RULES
from tests.platform.admin.test_bundle_reading import FILES, GOOD, problems_of
from tests.platform.admin.test_manage import page
from tests.platform.admin.test_rules import API, text_of
from tests.platform.admin.zips import zipped
from tests.platform.conftest import make_settings
from tests.platform.site import Site

# runs, combine, ranking, the rule by which such a board was ranked, whether its organizer must be told
SETTINGS = [
    (3, "worst", "worst_run", "worst_run", False),
    (3, "mean", "mean_run", "mean_run", False),
    (3, "median", "median_run", "median_run", False),
    (3, "worst", "dataset_ranks_worst", "dataset_ranks_worst", False),
    (3, "mean", "dataset_ranks_mean", "dataset_ranks_mean", False),
    (3, "worst", "mean_run", "worst_run", True),
    (3, "mean", "worst_run", "mean_run", True),
    (3, "median", "worst_run", "median_run", True),
    (3, "worst", "dataset_ranks_mean", "dataset_ranks_worst", True),
    (3, "mean", "dataset_ranks_worst", "dataset_ranks_mean", True),
    (3, "median", "dataset_ranks_worst", "dataset_ranks_median", True),
    (1, "worst", "mean_run", "mean_run", False),  # with a single run the two never differed in effect
]


def read(scoring: str) -> str:
    """The ranking rule that a bundle with this line means."""
    from anyshot_platform.bundles.reading import read_bundle

    text = f"{GOOD}    scoring: {{{scoring}}}\n"
    return read_bundle(zipped({"competition.yaml": text, **FILES})).spec.phases[0].scoring.ranking


@pytest.mark.parametrize(("runs", "combine", "ranking", "rule", "contradictory"), SETTINGS)
def test_a_description_whose_settings_agree_is_read_and_another_is_refused_with_what_to_write(
    runs: int, combine: str, ranking: str, rule: str, contradictory: bool
) -> None:
    line = f"runs: {runs}, combine: {combine}, ranking: {ranking}"
    if not contradictory:
        assert read(line) == rule
        return
    (said,) = problems_of(f"{GOOD}    scoring: {{{line}}}\n")
    assert said.startswith("competition.yaml, line 23: phases[0].scoring:")
    assert f"`combine: {combine}` contradicts `ranking: {ranking}`" in said
    assert f"write `ranking: {rule}` alone" in said
    assert f"`ranking: {ranking}` alone to rank as its page said" in said
    assert read(f"runs: {runs}, ranking: {rule}") == rule


def test_combine_alone_was_meant_as_the_rule() -> None:
    assert read("runs: 3, combine: median") == "median_run"
    (said,) = problems_of(f"{GOOD}    scoring: {{combine: luckiest}}\n")
    assert "`combine` is gone; write `ranking` alone, one of worst_run" in said


def test_over_json_the_two_settings_are_read_in_the_same_way(site: Site) -> None:
    owner = site.owner()
    site.set_version(test_seeds=[])  # tasks from the key: the commitment stays
    spec = owner.call("GET", f"{API}/phases").json()[0]["settings"]
    spec["scoring"] = {"runs": 3, "combine": "mean", "ranking": "worst_run"}
    refused = owner.call("PUT", f"{API}/phases/feedback", json=spec)
    assert refused.status_code == 422, refused.text
    assert "`combine: mean` contradicts `ranking: worst_run`" in refused.text
    spec["scoring"] = {"runs": 3, "combine": "mean", "ranking": "mean_run"}
    assert owner.call("PUT", f"{API}/phases/feedback", json=spec).is_success
    shown = site.client.get("/api/v1/competitions/small").json()["phases"][0]
    assert shown["ranking_words"] == RULES["mean_run"].words(3)


@pytest.mark.parametrize(("shown", "noticed"), [("true", True), ("false", False)])
def test_a_file_that_asks_for_others_submissions_is_taken_and_its_organizer_told(
    site: Site, shown: str, noticed: bool
) -> None:
    """The setting was offered and did nothing: who ticks it told people what no page shows."""
    text = f"{GOOD}    shown: {{others: {shown}, scores: false}}\n"
    content = zipped({"competition.yaml": text, **FILES})
    made = site.owner().call("POST", "/organize/import", files={"bundle": ("x.zip", content)})
    assert made.is_success, made.text
    manage = "/api/v1/competitions/demo/manage"
    lost = site.owner().call("GET", f"{manage}/import").json()["without_equivalent"]
    said = "line 23, phases[0].shown.others: others' submissions are not listed: `others` never had an effect"
    assert [words.startswith(said) for words in lost] == [True] * noticed
    settings = site.owner().call("GET", f"{manage}/phases").json()[0]["settings"]
    assert "others" not in settings["shown"] and settings["shown"]["scores"] is False
    settings["shown"]["others"] = True
    kept = site.owner().call("PUT", f"{manage}/phases/feedback", json=settings)
    assert kept.is_success, kept.text
    assert "others" not in kept.text.partition('"shown"')[2].partition("}")[0]


def write_row(connection: Connection, tables: MetaData, table_name: str, **values: Any) -> None:
    """A row of a table as it once was; columns that must hold something and are not named get an empty value."""
    table: Table = tables.tables[table_name]
    blank = {
        "VARCHAR": "",
        "TEXT": "",
        "BOOLEAN": False,
        "JSON": [],
        "JSONB": [],
        "FLOAT": 1.0,
        "DOUBLE": 1.0,
        "DOUBLE PRECISION": 1.0,
        "INTEGER": 1,
        "BIGINT": 1,
    }
    blank |= dict.fromkeys(("DATETIME", "TIMESTAMP"), datetime(2026, 1, 1, tzinfo=UTC))  # pyright: ignore
    needed = [
        c for c in table.columns if not c.nullable and c.name not in values and c.server_default is None
    ]
    rest = {column.name: blank[str(column.type).partition("(")[0]] for column in needed}
    connection.execute(insert(table).values({**rest, **values}))


def old_database(url: str) -> None:
    """A database of revision 0005 with a phase for each of the settings."""
    database = Database(url)
    migrate(database, "0005")
    tables = MetaData()
    with database.engine.begin() as connection:
        tables.reflect(connection)
        write_row(connection, tables, "users", id="u", username="owner", username_key="owner")
        words = {"state": "published", "registration": "open", "created_by": "u"}
        write_row(connection, tables, "competitions", id="c", slug="old", title="Old", retention={}, **words)
        for number, (runs, combine, ranking, *_) in enumerate(SETTINGS):
            choices = {"kind": "feedback", "board_shows": "last", "board_audience": "everyone"}
            choices |= {"log_policy": "nothing", "slug": f"p{number}", "name": f"Phase {number}"}
            choices |= {"time_zone": "UTC", "live_version": "1"}
            write_row(connection, tables, "phases", id=f"p{number}", competition_id="c", **choices)
            version = {"state": "live", "rescore_mode": "nothing", "protocol": {}, "hardware_class": "cpu"}
            seeds = list(range(runs))
            version |= {
                "combine": combine,
                "ranking_rule": ranking,
                "train_seeds": seeds,
                "test_seeds": seeds,
            }
            write_row(connection, tables, "phase_versions", id=f"v{number}", phase_id=f"p{number}", **version)
        write_row(connection, tables, "teams", id="t", competition_id="c", name="Team", name_key="team")
        job = {
            "kind": "evaluate",
            "state": "finished",
            "hardware_class": "cpu",
            "parameters": {},
            "usage": {},
        }
        job |= {"phase_id": "p0", "phase_version_id": "v0", "competition_id": "c", "team_id": "t"}
        write_row(connection, tables, "runs", id="r", stage_times={}, **job)
    migrate(database)
    database.dispose()


def test_rows_that_others_refer_to_are_kept(migrated: Site) -> None:
    with migrated.services.database.reading() as session:
        assert session.get_one(Run, "r").phase_version.rule.name == "worst_run"
        if migrated.services.database.is_sqlite:
            assert session.execute(text("PRAGMA foreign_key_check")).all() == []
            assert session.execute(text("PRAGMA foreign_keys")).scalar() == 1


@pytest.fixture
def migrated(tmp_path: Path, empty_database: str) -> Any:
    old_database(empty_database)
    services = make_services(make_settings(tmp_path, database_url=empty_database))
    with Site(services) as site:
        yield site
    services.database.dispose()


@pytest.mark.seconds("upgrades a database")
def test_old_phases_keep_the_order_of_their_boards_and_contradictions_are_told(migrated: Site) -> None:
    organizer = migrated.person("orla")
    with migrated.services.database.writing() as session:
        (competition,) = [row for row in session.query(Competition) if row.slug == "old"]
        add_member(session, competition, session.get_one(User, organizer.id), Role.ORGANIZER)
    log = text_of(page(organizer, "/competitions/old/manage/audit"))
    for number, (runs, combine, announced, rule, contradictory) in enumerate(SETTINGS):
        public = text_of(page(organizer, f"/competitions/old/phases/p{number}"))
        assert RULES[rule].words(runs) in public, (combine, announced)
        shown = text_of(page(organizer, f"/competitions/old/manage/phases/p{number}"))
        said = f"announced the rule {announced}, by which the {RULES[announced].join.noun} of the seeded runs counts"
        assert (said in shown) == contradictory
        assert (f"the rule is {rule} now" in shown) == contradictory
        assert (said in log) or not contradictory
    assert log.count("phase.one_rule") >= sum(row[-1] for row in SETTINGS)
