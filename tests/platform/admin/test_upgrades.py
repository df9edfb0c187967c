"""A site of revision 0012, with people, a team, a submission, a pool and a log, is upgraded on either database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import MetaData, inspect, select, text

from anyshot_platform.accounts.service import create_token
from anyshot_platform.app import make_services
from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.baselines.models import Baseline
from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus
from anyshot_platform.database import Base, Database
from anyshot_platform.migration import is_current, migrate
from anyshot_platform.notifications.models import Mute, NotificationChoice
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.models import (
    ApiToken,
    LoginSession,
    OAuthIdentity,
    OneTimeToken,
    RecoveryCode,
    User,
)
from anyshot_platform.users.viewer import Scope
from anyshot_platform.workers.models import WorkerToken
from tests.platform.admin.test_manage import page
from tests.platform.admin.test_old_rules import write_row
from tests.platform.conftest import make_settings
from tests.platform.site import Person, Site

AT = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = ("owner", "keeper", "petra", "rejected", "gone")


def fill(database: Database) -> None:
    """What an earlier release wrote."""
    tables = MetaData()
    with database.engine.begin() as connection:
        tables.reflect(connection)
        write = partial(write_row, connection, tables)
        for name in PEOPLE:
            write(
                "users", id=name, username=name, username_key=name, email=f"{name}@example.org", created_at=AT
            )
        words = {"state": "published", "registration": "open", "retention": {}, "created_by": "owner"}
        write("competitions", id="c", slug="old", title="Old", **words)
        write("pools", id="pool", slug="pool", name="Pool", owner_id="keeper")
        write("leagues", id="l", competition_id="c", slug="free", name="Free style", admission="all")
        phase = {
            "kind": "feedback",
            "board_shows": "last",
            "board_audience": "everyone",
            "log_policy": "nothing",
        }
        write(
            "phases", id="p", competition_id="c", slug="p", name="P", time_zone="UTC", live_version=1, **phase
        )
        version = {"state": "live", "rescore_mode": "nothing", "protocol": {"name": "any_way_any_shot"}}
        version |= {
            "ranking_rule": "worst_run",
            "query_order": "key",
            "root": "00" * 32,
            "hardware_class": "cpu",
        }
        write("phase_versions", id="v", phase_id="p", number=1, train_seeds=[1], test_seeds=[1], **version)
        write("teams", id="t", competition_id="c", name="Team", name_key="team")
        for name, role, status in (
            ("owner", "owner", "approved"),
            ("petra", "participant", "approved"),
            ("rejected", "participant", "withdrawn"),
            ("gone", "participant", "withdrawn"),
        ):
            team = {"team_id": "t"} if name == "petra" else {}
            write(
                "memberships",
                id=f"m-{name}",
                competition_id="c",
                user_id=name,
                role=role,
                status=status,
                **team,
            )
        said = {"action": "member.reject", "object_type": "member", "object_id": "m-rejected"}
        write("audit_entries", id=1_000_000, competition_id="c", before={}, after={}, **said)
        write("blobs", digest="d")
        write("baselines", id="b", competition_id="c", slug="base", name="Base", leagues=[], digest="d")
        about = {"competition_id": "c", "phase_id": "p", "team_id": "t", "user_id": "petra", "digest": "d"}
        sheet = {"fact_sheet": {"method": "prototypes"}, "created_at": AT, "quota_day": AT.date()}
        write("submissions", id="s", kind="entry", status="finished", **about, **sheet)
        write("worker_tokens", id="w", name="worker", digest="w" * 64, revoked_at=None)


def filled(address: str, revision: str = "head") -> Database:
    """The database of that release, upgraded to a revision."""
    database = Database(address)
    migrate(database, "0012")
    fill(database)
    migrate(database, revision)
    return database


@pytest.fixture
def upgraded(tmp_path: Path, empty_database: str) -> Iterator[Site]:
    """The site after the upgrade."""
    old = filled(empty_database)
    assert is_current(old)
    old.dispose()
    services = make_services(make_settings(tmp_path, database_url=empty_database))
    with Site(services) as site:
        yield site
    services.database.dispose()


def as_of(site: Site, user_id: str) -> Person:
    with site.services.database.writing() as session:
        token = create_token(session, user_id, name="tests", scopes=tuple(Scope)).secret
    return Person(user_id, user_id, token, site.client)


@pytest.mark.seconds("upgrades a database")
def test_what_an_earlier_release_wrote_means_the_same_after_an_upgrade(upgraded: Site) -> None:
    with upgraded.services.database.reading() as session:
        states = {
            row.user_id: row.status
            for row in session.scalars(select(Membership).where(Membership.competition_id == "c"))
        }
        assert states["rejected"] is MemberStatus.REJECTED
        assert (states["gone"], states["petra"]) == (MemberStatus.WITHDRAWN, MemberStatus.APPROVED)
        people = {row.id: row for row in session.scalars(select(User).where(User.id.in_(PEOPLE)))}
        assert {name for name, row in people.items() if row.may_organize} == {"owner", "keeper"}
        assert all(row.email_verified_at == AT and row.totp_sealed is None for row in people.values())
        assert session.get_one(Baseline, "b").weights == ""
        token = session.get_one(WorkerToken, "w")
        assert (token.expires_at, token.hardware_class, token.competition_id) == (None, None, None)


def test_its_people_go_on_where_they_were(upgraded: Site) -> None:
    owner, petra = as_of(upgraded, "owner"), as_of(upgraded, "petra")
    for path in ("", "/leaderboard", "/phases/p"):
        assert page(petra, f"/competitions/old{path}").status_code == 200, path
    for path in (
        "",
        "/phases/p",
        "/people",
        "/submissions",
        "/baselines",
        "/audit",
        "/fact-sheets",
        "/leagues",
    ):
        assert page(owner, f"/competitions/old/manage{path}").status_code == 200, path
    assert "prototypes" in petra.call("GET", "/api/v1/competitions/old/fact-sheet").text
    assert petra.call("GET", "/api/v1/submissions/s").json()["status"] == "finished"
    refused = as_of(upgraded, "rejected").call("POST", "/api/v1/competitions/old/join", json={})
    assert refused.status_code in (403, 409), refused.text


def test_an_upgraded_database_has_the_tables_of_a_new_one(upgraded: Site) -> None:
    with upgraded.services.database.engine.connect() as connection:
        found = inspect(connection)
        for table in Base.metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
            assert columns == {column.name: bool(column.nullable) for column in table.columns}, table.name
        assert connection.execute(text("SELECT count(*) FROM submissions WHERE id = 's'")).scalar() == 1


def test_an_upgrade_keeps_what_organizers_decided_and_the_files_of_last_attempts(empty_database: str) -> None:
    """A reason that no end of a run writes is the organizers'; of two attempts' files the later ones count."""
    database = filled(empty_database, "0051")
    tables = MetaData()
    about = {"competition_id": "c", "phase_id": "p"}
    with database.engine.begin() as connection:
        tables.reflect(connection)
        write = partial(write_row, connection, tables)
        for id, reason in {"a": "", "b": "not your doing", "c": "cancelled", "d": "a slow disk"}.items():
            zipped = {"team_id": "t", "user_id": "petra", "digest": "d", "quota_day": AT.date()}
            write("submissions", id=id, kind="entry", quota_reason=reason, created_at=AT, **about, **zipped)
        write("runs", id="r", kind="evaluate", phase_version_id="v", submission_id="a", **about)
        for epoch, name in ((1, "log.txt"), (1, "learner.bin"), (3, "log.txt")):
            write(
                "artifacts", id=f"{epoch}-{name}", run_id="r", epoch=epoch, name=name, digest="d", final=True
            )
    migrate(database)
    with database.reading() as session:
        decided = session.scalars(select(Submission.id).where(Submission.quota_decided_at.is_not(None)))
        kept = session.scalars(select(Artifact.id).where(Artifact.final))
        assert (decided.all(), kept.all()) == (["d"], ["3-log.txt"])
    database.dispose()


@pytest.mark.seconds("upgrades a database")
def test_an_upgrade_forgets_the_log_ins_tokens_and_choices_of_deleted_accounts(empty_database: str) -> None:
    """Who deleted an account before is known by no other site's name, and may sign up by that site again."""
    database = filled(empty_database, "0053")
    tables = MetaData()
    with database.engine.begin() as connection:
        tables.reflect(connection)
        write = partial(write_row, connection, tables)
        for user in ("gone", "petra"):
            write("oauth_identities", id=user, user_id=user, provider="orcid", subject=f"0000-{user}")
            write("recovery_codes", id=user, user_id=user, digest=user)
            write("one_time_tokens", id=user, user_id=user, digest=user, purpose="email", subject="a@b.org")
            write("login_sessions", id=user, user_id=user, digest=user, user_agent="a browser")
            write("api_tokens", id=user, user_id=user, digest=user, name="Ada's cluster")
            write("notification_choices", user_id=user, kind="announcement")
            write("notification_mutes", user_id=user, competition_id="c")
        connection.execute(text("UPDATE users SET deleted_at = created_at WHERE id = 'gone'"))
    migrate(database)
    with database.reading() as session:
        for rows in (
            OAuthIdentity,
            RecoveryCode,
            OneTimeToken,
            LoginSession,
            ApiToken,
            NotificationChoice,
            Mute,
        ):
            assert session.scalars(select(rows.user_id)).all() == ["petra"], rows.__tablename__
    database.dispose()
