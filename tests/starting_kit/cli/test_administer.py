"""`anyshot administer` against the real web service over HTTP."""

import json
from pathlib import Path

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.running.operations.dead_letters import count_set_aside
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import acts, page
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
    assert (
        "user.block USERNAME\n    Block the person. Unblock the account; its owner logs in again." in listed
    )
    assert {"user.promote", "worker.pause", "worker.revoke"} <= {
        line.split()[0] for line in listed.splitlines()
    }
    assert "user.block" not in call("administer", "acts", "worker").output
    users = ("administer", "show", "users", "--where")
    chosen = call(*users, "q=adele", "--only", "username,email,is_site_admin").output
    assert chosen == "adele\tadele@example.org\ttrue\n"
    before = len(acts(site))
    asked = call("administer", "do", "user.block", "pia", input="pi\n")
    assert asked.exit_code == 1 and "Nobody can log in with this account" in asked.output
    assert "not “pi”" in asked.output and len(acts(site)) == before
    done = call("administer", "do", "user.block", "Pia", "--reason", "asked for it", input="pia\n")
    assert done.exit_code == 0 and '"blocked_at": "20' in done.output
    again = call("administer", "do", "user.block", "pia", "--yes", "pia")
    assert again.exit_code == 0 and acts(site)[before:] == ["user.block"], "it is so already"
    assert call(*users, "q=pia", "--only", "blocked_at").output.startswith("20")
    assert json.loads(call("administer", "do", "user.unblock", "pia").output)["blocked_at"] is None
    worker.claim()  # a worker is known once it has called
    workers = ("administer", "show", "workers", "--only", "name,paused_at")
    assert call(*workers).output == "gpu-1\t\n"
    assert json.loads(call("administer", "do", "worker.pause", "gpu-1").output)["paused_at"]
    assert call(*workers).output.startswith("gpu-1\t20")
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
    one, two = call("administer", "show", "worker-tokens", "--only", "id").output.split()
    assert one in refused.output and two in refused.output
    assert json.loads(call("administer", "do", "worker.revoke", one).output)["revoked_at"]
    assert (
        json.loads(call("administer", "do", "worker.revoke", "rack").output)["id"] == two
    )  # the one that is left
    assert call("administer", "do", "worker.revoke", "rack").exit_code == 0  # again: it is so already


def test_tokens_images_and_what_is_set_aside_are_looked_after_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    """They were on pages alone, without a word on what they do."""
    adele = site.person("adele", is_site_admin=True)
    assert call("login", "--server", address, "--token", adele.token).exit_code == 0
    make = ("administer", "do", "worker.token", "--set", "name=rack", "--set", f"competition={SLUG}")
    made = json.loads(call(*make, "--set", "days=30").output)
    assert made["token"].startswith("anyworker_") and made["name"] == "rack" and made["expires_at"]
    for text, status in ((made["token"], 422), ("anyworker_none", 401)):  # nothing was said of the worker
        headers = {"authorization": f"Bearer {text}"}
        assert site.client.post("/api/worker/v1/claim", headers=headers).status_code == status
    again = call(*make)
    assert again.exit_code == 1 and "A token of this name is in use" in again.output
    unknown = call("administer", "do", "worker.token", "--set", "name=two", "--set", "competition=none")
    assert unknown.exit_code == 1 and "There is no such competition." in unknown.output
    (entry,) = log(site, "worker.token")
    assert (entry.actor_id, entry.after["name"], entry.after["competition"]) == (adele.id, "rack", SLUG)
    assert made["token"] not in json.dumps(entry.after)
    assert "any class, one competition" in " ".join(page(adele, "/admin/workers").text.split())
    offer = ("administer", "do", "image.offer", "torch-2", "--set", "description=CUDA 12")
    made = {"name": "torch-2", "description": "CUDA 12", "enabled": True, "warnings": []}
    assert json.loads(call(*offer).output) == made
    assert json.loads(call("administer", "do", "image.off", "torch-2").output)["enabled"] is False
    images = call("administer", "show", "images", "--only", "name,enabled,description").output
    assert "torch-2\tfalse\tCUDA 12\n" in images
    tokens = call("administer", "show", "worker-tokens", "--only", "name,hardware_class,revoked_at").output
    assert tokens == "rack\t\t\n"
    with site.services.database.writing() as session:
        for subject in ("one", "two"):
            session.add(Trouble(duty="lease", subject=subject, attempts=8, error="boom", set_aside_at=now()))
    tried = json.loads(call("administer", "do", "set_aside.retry", "lease", "one").output)
    assert (tried["attempts"], tried["since"]) == (0, None)
    (left,) = json.loads(call("administer", "do", "set_aside.retry_all").output)["items"]
    assert (left["id"], left["since"]) == ("two", None)
    assert call("administer", "do", "set_aside.retry_all", "lease").exit_code == 2
    with site.services.database.writing() as session:
        session.add(Trouble(duty="lease", subject="three", attempts=8, error="boom", set_aside_at=now()))
    put_away = json.loads(call("administer", "do", "set_aside.give_up", "lease", "three").output)
    assert (put_away["id"], put_away["since"]) == ("three", None)
    with site.services.database.reading() as session:
        assert count_set_aside(session) == 0


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
    role = ("--set", "username=rex", "--set", f"role={Role.REVIEWER}")
    invite = ("organize", "do", SLUG, "member.add", *role)
    assert call(*invite, "--yes", "max").exit_code == 1
    invited = json.loads(call(*invite, "--yes", "rex").stdout)
    assert (invited["username"], invited["role"], invited["status"]) == ("rex", "reviewer", "invited")
