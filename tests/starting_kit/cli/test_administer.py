"""`anyshot administer` against the real web service over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

from anyshot_platform.competitions.states import Role
from anyshot_platform.workers.tokens import create_worker_token
from tests.platform.admin.test_manage import acts
from tests.platform.site import SLUG, Site
from tests.starting_kit.cli.test_platform_commands import (  # noqa: F401 - fixtures
    address,
    call,
    folder,
)


def test_an_administrator_does_every_act_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    site.member("pia")
    admin, worker = site.person("adele", is_site_admin=True), site.worker("gpu-1")
    assert call("login", "--server", address, "--token", admin.token).exit_code == 0
    listed = call("administer", "acts").output
    assert "user.block USERNAME\n    Block it. Unblock the account; its person signs in again." in listed
    assert {"user.promote", "worker.pause", "worker.revoke"} <= {
        line.split()[0] for line in listed.splitlines()
    }
    assert "user.block" not in call("administer", "acts", "worker").output
    assert "adele                    adele@example.org                administrator" in " ".join(
        call("administer", "users", "adele").output.split("\n")
    )
    before = len(acts(site))
    asked = call("administer", "do", "user.block", "pia", input="pi\n")
    assert asked.exit_code == 1 and "Nobody signs in with this account" in asked.output
    assert "not “pi”" in asked.output and len(acts(site)) == before
    done = call("administer", "do", "user.block", "Pia", "--reason", "asked for it", input="pia\n")
    assert done.exit_code == 0 and '"blocked_at": "20' in done.output
    again = call("administer", "do", "user.block", "pia", "--yes", "pia")
    assert again.exit_code == 0 and acts(site)[before:] == ["user.block"], "it is so already"
    assert "blocked" in call("administer", "users", "pia").output
    assert json.loads(call("administer", "do", "user.unblock", "pia").output)["blocked_at"] is None
    worker.claim()  # a worker is known once it has called
    assert "ready" in call("administer", "workers").output
    assert json.loads(call("administer", "do", "worker.pause", "gpu-1").output)["paused_at"]
    assert "paused" in call("administer", "workers").output
    several = call("administer", "do", "user.let-organize", "pia", "nobody")
    assert several.exit_code == 1 and several.output.count('"may_organize": true') == 1
    assert "nobody: There is no such user." in several.output


def test_two_things_of_one_name_are_told_apart_by_their_ids(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    assert call("login", "--server", address, "--token", site.person("adele", is_site_admin=True).token)
    with site.services.database.writing() as session:
        create_worker_token(session, "rack")
        create_worker_token(session, "rack")
    refused = call("administer", "do", "worker.revoke", "rack")
    assert refused.exit_code == 1 and "Several have this name" in refused.output
    (one, two) = (
        line.split()[-1] for line in call("administer", "workers").output.splitlines() if "rack" in line
    )
    assert one in refused.output and two in refused.output
    assert json.loads(call("administer", "do", "worker.revoke", one).output)["revoked_at"]
    assert (
        json.loads(call("administer", "do", "worker.revoke", "rack").output)["id"] == two
    )  # the one that is left
    assert call("administer", "do", "worker.revoke", "rack").exit_code == 0  # again: it is so already


def test_who_is_no_administrator_administers_nothing(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    refused = call("administer", "do", "user.block", "pia")
    assert refused.exit_code != 0 and "Only site administrators may do this." in refused.output


def test_people_are_invited_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    """Inviting was on the page and over JSON, and had no command."""
    site.person("rex")
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    invite = ("organize", "members", SLUG, "rex", "--invite", str(Role.REVIEWER))
    assert call(*invite, "--yes", "max").exit_code == 1
    assert "rex is reviewer, invited." in call(*invite, "--yes", "rex").output
    assert call("organize", "members", SLUG, "rex").exit_code == 2
