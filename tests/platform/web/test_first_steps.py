"""After joining, a list of first steps ticks itself off, and goes with the first score."""

import html
import importlib.metadata
import json
import re
from importlib.resources import files

from sqlalchemy import delete

from anyshot_core.installation import CPU_TORCH
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.audit.service import select_entries
from anyshot_platform.people.users.models import ApiToken, User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.platform.site import SLUG, Person, Site

_HTML = {"accept": "text/html"}


def _steps(site: Site, person: Person | None) -> dict[str, bool]:
    """Title of each step, and whether it is ticked."""
    headers = {**(person.headers if person else {}), **_HTML}
    page = site.client.get(f"/competitions/{SLUG}", headers=headers).text
    found = re.findall(r'aria-label="(done|to do)".*?<p>(?:<span[^>]*>|<a[^>]*>)\s*([^<]+?)\s*</', page, re.S)
    return {" ".join(title.split()): state == "done" for state, title in found}


def test_the_steps_tick_themselves_off_until_the_first_score(site: Site) -> None:
    site.offer_smoke_tests()
    site.set_phase(smoke_tasks=2)
    alice, worker = site.member("alice"), site.worker()
    joined = "Join the competition"
    kit, login, data = "Install the starting kit", "Log in from a shell", "Get the public data"
    template, home = "Start from the template", "Try it at home"
    smoke, entry = "Pass a smoke test", "Submit for scoring"
    todo = {joined: True, kit: True, login: True, data: False, template: False, home: False}
    todo |= {smoke: False, entry: False}
    assert _steps(site, alice) == todo and list(_steps(site, alice)) == list(todo)
    page = site.client.get(f"/competitions/{SLUG}", headers={**alice.headers, **_HTML}).text
    assert "anyshot init my-method --notebook" in page  # the tutorial, cell by cell
    assert f"anyshot data get {SLUG}" in page
    assert f"anyshot dry-run my-method --quick --data data/{SLUG}" in page
    alice.submit(smoke=True)
    assert _steps(site, alice) == {**todo, template: True, home: True}
    assert worker.complete(worker.claim() or {}, 0.3).status_code == 204
    assert _steps(site, alice)[smoke] and not _steps(site, alice)[entry]
    alice.submit()
    assert _steps(site, alice)[entry]
    assert worker.complete(worker.claim() or {}, 0.4).status_code == 204
    assert _steps(site, alice) == {}


def test_the_data_step_is_there_where_data_are_public_and_ticks_with_the_first_download(site: Site) -> None:
    alice, bob, data = site.member("alice"), site.member("bob"), "Get the public data"
    assert _steps(site, alice) and data not in _steps(site, alice)
    page = site.client.get(f"/competitions/{SLUG}", headers={**alice.headers, **_HTML}).text
    assert "anyshot dry-run my-method --quick</code>" in page
    site.offer_smoke_tests("one", "two")
    told = site.client.get(f"/api/v1/competitions/{SLUG}/data").json()
    digests = [dataset["digest"] for pool in told["pools"] if pool["public"] for dataset in pool["datasets"]]
    for digest in digests:
        path = f"/api/v1/competitions/{SLUG}/data/{digest}/pack"
        assert site.client.get(path, headers=alice.headers).status_code == 200
    assert _steps(site, alice)[data] and not _steps(site, bob)[data]
    with site.services.database.reading() as session:
        noted = list(session.scalars(select_entries(action="read.public_data")))
    assert [entry.actor_id for entry in noted] == [alice.id]  # once a person, not once a dataset


def test_who_has_no_kit_is_shown_how_to_get_this_sites_version(site: Site) -> None:
    alice = site.member("alice")
    assert _steps(site, alice)["Install the starting kit"]
    with site.services.database.writing() as session:
        secret = begin_session(session, session.get_one(User, alice.id), user_agent="test", days=1).secret
        session.execute(delete(ApiToken).where(ApiToken.user_id == alice.id))
    site.client.cookies.set(SESSION_COOKIE, secret)
    page = html.unescape(site.client.get(f"/competitions/{SLUG}", headers=_HTML).text)
    address, version = site.services.settings.base_url, importlib.metadata.version("anyshot-starting-kit")
    line = f'pip install --extra-index-url {address}/kit/simple/ "anyshot-starting-kit[torch]=={version}"'
    assert line in page and f">{CPU_TORCH}<" in page
    assert f"anyshot login --server {address}" in page


def test_the_tutorial_installs_this_sites_kit_and_is_the_kits_own(site: Site) -> None:
    alice = site.member("alice")
    page = site.client.get(f"/competitions/{SLUG}", headers={**alice.headers, **_HTML}).text
    (href,) = re.findall(r'href="([^"]+\.ipynb)"', page)
    answer = site.client.get(href)  # by anybody
    assert answer.headers["content-disposition"] == 'attachment; filename="anyshot-tutorial.ipynb"'
    first, set_up, *others = json.loads(answer.content)["cells"]
    address, version = site.services.settings.base_url, importlib.metadata.version("anyshot-starting-kit")
    _, install, init = set_up["source"]
    wanted = f'"anyshot-starting-kit[torch]=={version}"'
    assert install == f"%pip install --extra-index-url {address}/kit/simple/ {wanted}\n"
    assert init == "!anyshot init my-method"
    kept = files("anyshot_starting_kit") / "templates/tutorial.ipynb"
    assert [first, *others] == json.loads(kept.read_text())["cells"]


def test_only_participants_of_an_open_phase_get_the_list(site: Site) -> None:
    alice = site.member("alice")
    assert _steps(site, None) == {} and _steps(site, site.person("paul")) == {}
    assert "Pass a smoke test" not in _steps(site, alice)
    site.set_phase(accepts_uploads=False)
    assert _steps(site, alice) == {}
