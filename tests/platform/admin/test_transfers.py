"""A competition moves from one site to another, by HTTP: what travels, what stays, what an altered archive is told."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from sqlalchemy import select, text

from anyshot_core.command import main
from anyshot_platform.accounts.service import begin_session, create_token, create_user
from anyshot_platform.app import create_app
from anyshot_platform.artifacts.models import Artifact, Blob
from anyshot_platform.competitions.models import Membership, Placeholder
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.evaluations.models import FurtherTest
from anyshot_platform.models import metadata
from anyshot_platform.organizers.pools.organizing import put_packs
from anyshot_platform.organizers.transfers import acts
from anyshot_platform.organizers.transfers.leaving import write_archive
from anyshot_platform.organizers.transfers.travelling import STAYING, TRAVELLING
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.pools.models import Pack, Pool
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.services import Services
from anyshot_platform.site.transfers import api
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Scope
from tests.platform.admin.results import finish_with_predictions
from tests.platform.admin.test_acts import draft
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.conftest import Databases
from tests.platform.site import SLUG, Person, Site, make_paper_pack, make_zip
from tests.services.processes import free_port
from tests.services.sites import served

TAKE = f"/api/v1/competitions/{SLUG}/manage/transfer"
BOARD = f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard"


@dataclass
class Elsewhere:
    """A second site, with accounts and a database of its own."""

    services: Services
    client: TestClient

    def person(self, username: str, **changes: Any) -> Person:
        with self.services.database.writing() as session:
            user = create_user(session, username=username, email=f"{username}@example.org", password=None)
            user.email_verified_at = now()
            for name, value in changes.items():
                setattr(user, name, value)
            token = create_token(session, user.id, name="tests", scopes=tuple(Scope)).secret
            return Person(user.id, username, token, self.client)


@pytest.fixture
def other(databases: Databases, tmp_path: Path) -> Iterator[Elsewhere]:
    services = databases.services(tmp_path / "elsewhere", secret_key="k" * 40)
    with TestClient(create_app(services.settings, services)) as client:
        yield Elsewhere(services, client)


@pytest.fixture
def played(site: Site) -> Site:
    """Three people with scored submissions, one of them disqualified, a thread, a tag and a note."""
    worker = site.worker()
    for number, name in enumerate(("ada", "ben", "cem")):
        site.member(name).submit()
        finish_with_predictions(worker, 0.9 - 0.17 * number, number)
    owner = site.owner()
    with site.services.database.reading() as session:
        last = session.scalars(
            select(Submission).join(User, User.id == Submission.user_id).where(User.username == "cem")
        ).one()
    acts = f"/api/v1/competitions/{SLUG}/manage/submissions/acts"
    done = owner.call("POST", acts, json={"act": "disqualify", "ids": [last.id], "reason": "two accounts"})
    assert done.is_success, done.text
    ada = person_of(site, "ada")
    post(ada, f"/competitions/{SLUG}/discussion/new", title="Normalisation", body="Per channel?")
    return site


def person_of(site: Site, name: str) -> Person:
    with site.services.database.writing() as session:
        user = session.query(User).filter_by(username=name).one()
        token = create_token(session, user.id, name="tests", scopes=tuple(Scope)).secret
        return Person(user.id, name, token, site.client)


def take(site: Site, **more: Any) -> bytes:
    taken = site.owner().call("POST", TAKE, json={"confirm": SLUG, **more})
    assert taken.is_success, taken.text
    return taken.content


def bring(person: Person, content: bytes, slug: str = "") -> Any:
    return person.call("PUT", "/api/v1/transfers", content=content, params={"slug": slug})


def bring_data(other: Elsewhere, owner: Person) -> None:
    """The same datasets, uploaded on the other site: the pools know them by their digests."""
    packs = {name: make_paper_pack(other.services, name) for name in ("alpha", "small-training")}
    with other.services.database.writing() as session:
        for pool, name in (("small-pool", "alpha"), ("small-train", "small-training")):
            found = session.query(Pool).filter_by(slug=pool).one()
            put_packs(session, found, [session.get_one(Pack, packs[name])], "", owner.id)


def publish(other: Elsewhere, owner: Person) -> None:
    bring_data(other, owner)
    state = f"/api/v1/competitions/{SLUG}/manage/state"
    published = owner.call("PUT", state, json={"state": "published"})
    assert published.is_success, published.text


def rows_of(client: TestClient, person: Person | None = None) -> list[dict[str, Any]]:
    """A board without what names rows of a site."""
    answer = person.call("GET", BOARD) if person else client.get(BOARD)
    assert answer.is_success, answer.text
    own = {"submission", "submission_id", "team_id", "id"}
    return [{key: value for key, value in row.items() if key not in own} for row in answer.json()["rows"]]


def altered(content: bytes, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    """An archive whose rows and files were changed by somebody who knows how to write its list."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest, rows = json.loads(files.pop("manifest.json")), json.loads(files["rows.json"])
    change(rows, files)
    files["rows.json"] = json.dumps(rows).encode()
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for name, data in files.items()
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
    return target.getvalue()


def test_every_table_travels_or_says_why_not() -> None:
    travelling = {one.name for one in TRAVELLING}
    assert travelling | STAYING.keys() == set(metadata.tables)
    assert not travelling & STAYING.keys()


@pytest.mark.seconds("two sites")
def test_the_board_after_the_journey_is_the_board_before_to_the_last_digit(
    played: Site, other: Elsewhere
) -> None:
    before = rows_of(played.client)
    assert len(before) == 2 and before[0]["score"] > before[1]["score"]
    content = take(played)
    dora = other.person("dora")
    made = bring(dora, content)
    assert made.status_code == 201, made.text
    assert made.json()["slug"] == SLUG
    manage = f"/api/v1/competitions/{SLUG}/manage"
    assert other.client.get(BOARD).status_code == 404  # a draft
    publish(other, dora)
    assert rows_of(other.client) == before
    items = dora.call("GET", f"{manage}/submissions?phase=feedback").json()["items"]
    assert sorted(row["team"] for row in items) == ["ada", "ben", "cem"]
    (cem,) = [row for row in items if row["team"] == "cem"]
    answer = dora.call("GET", f"/api/v1/submissions/{cem['id']}").json()
    assert "two accounts" in json.dumps(answer)
    code = dora.call("GET", f"/api/v1/submissions/{cem['id']}/archive")
    assert code.is_success and zipfile.is_zipfile(io.BytesIO(code.content))
    threads = page(dora, f"/competitions/{SLUG}/discussion").text
    assert "Normalisation" in threads
    report = dora.call("GET", f"{manage}/import").json()
    assert any("3 submissions with code, results and scores" in words for words in report["taken"])
    assert any("waits for its packs" in row["words"] for row in report["todo"])
    again = bring(dora, content)
    assert again.status_code == 409 and f"{SLUG}-2" in again.text
    assert bring(dora, content, "second").status_code == 201


def test_the_database_has_counted_what_arrived(played: Site, other: Elsewhere) -> None:
    """Else PostgreSQL plans for a handful of rows: a board of 10,000 that arrived took 15 to 80 s to read."""
    bring(other.person("dora"), take(played))
    with other.services.database.reading() as session:
        if other.services.database.is_sqlite:  # it plans without counting
            return
        counted = session.scalar(text("SELECT reltuples FROM pg_class WHERE relname = 'board_changes'"))
        assert counted == session.scalar(text("SELECT count(*) FROM board_changes")) > 1


def test_who_has_one_name_on_both_sites_takes_it_in_too(played: Site, other: Elsewhere) -> None:
    """The most usual case: the owner's team of the new site must not stand where that of the old one belongs."""
    olga, content = other.person("olga"), take(played)
    made = bring(olga, content)
    assert made.status_code == 201, made.text
    with other.services.database.reading() as session:
        names = {team.name for team in session.query(Team)}
    assert names == {"ada", "ben", "cem", "olga", "olga-here"}
    (mine,) = played.owner().call("GET", "/api/v1/me/places").json()["codes"]
    assert olga.call("POST", "/api/v1/me/places", json={"code": mine["code"]}).json()["role"] == "owner"
    assert bring(played.owner(), content, "twin").status_code == 201  # on the site that it came from, too


def test_nothing_that_belongs_to_accounts_or_the_site_travels(played: Site) -> None:
    with played.services.database.writing() as session:
        session.query(User).filter_by(username="ada").one().password_hash = "$argon2id$secret"
    content = take(played)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("rows.json").decode()
        rows = json.loads(text)
    assert "example.org" not in text and "argon2" not in text
    assert {key for row in rows["users"] for key in row} == {
        *("id", "username", "display_name", "affiliation", "country", "homepage", "claim", "email")
    }
    assert {row["email"] for row in rows["users"]} == {None}
    refused = played.owner().call("POST", TAKE, json={"confirm": SLUG, "emails": True})
    assert refused.status_code == 403 and "site's administrators" in refused.text


def test_taking_it_away_says_first_what_stays(played: Site) -> None:
    """“All scores” left those of further evaluations and of versions that are not live behind, without a word."""
    owner, ask = played.owner(), {"json": {}}
    said = owner.call("POST", TAKE, **ask).json()["preview"]
    assert "These stay here" not in " ".join(said["warnings"])
    assert (
        "3 submissions with their code" in said["does"][0] and "each phase's live version" in said["does"][0]
    )
    draft(played, **{"tasks.count": "20"})
    played.offer_smoke_tests()
    person_of(played, "ada").submit(smoke=True)
    with played.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.state == RunState.FINISHED)).first()
        assert run is not None and run.submission_id is not None
        about = {
            "submission_id": run.submission_id,
            "run_id": run.id,
            "phase_version_id": run.phase_version_id,
        }
        tested = session.get_one(PhaseVersion, run.phase_version_id).meta_test_pool_version_id
        for place, scored in enumerate((now(), now(), None)):
            key = {"evaluation": "novel", "place": place, "seed_index": 0, "digest": "d"}
            session.add(FurtherTest(**about, **key, pool_version_id=tested, scored_at=scored))
        kept = session.get_one(Submission, run.submission_id).digest
        session.add(Artifact(run_id=run.id, epoch=1, name="snapshots.npz", digest=kept, size=1, final=True))
    said = owner.call("POST", TAKE, **ask).json()["preview"]
    assert said["warnings"][0] == (
        "These stay here; download what you need of them: 2 scores of further evaluations, 1 version of a phase that "
        "is not live, with its scores, 1 smoke test, 1 exported file of a run."
    )
    assert "3 submissions with their code" in said["does"][0]
    shown = " ".join(page(owner, f"{BASE}/exports").text.split())
    assert "Scores of further evaluations, versions of phases that are not live, smoke tests" in shown


def test_taking_it_away_asks_and_is_in_the_log_and_waits_for_runs(site: Site) -> None:
    owner = site.owner()
    site.member("pia").submit()
    waiting = owner.call("POST", TAKE, json={"confirm": SLUG})
    assert waiting.status_code == 409 and "1 run has not ended" in waiting.json()["message"]
    finish_with_predictions(site.worker(), 0.8, 1)
    asked = owner.call("POST", TAKE, json={})
    assert asked.status_code == 409
    does = " ".join(asked.json()["preview"]["does"])
    assert "keys and seeds of Feedback" in does
    assert re.search(
        r"Its files have [\d.]+ KiB, the largest [\d.]+ (KiB|B)\. The other site has to allow", does
    )
    assert log(site, "competition.transfer") == []
    shown = page(owner, f"{BASE}/transfer")
    assert "Take “A small competition” to another site?" in shown.text
    sent = post(owner, f"{BASE}/transfer", confirm=SLUG)
    assert sent.headers["content-type"] == "application/zip"
    (entry,) = log(site, "competition.transfer")
    assert entry.after == {"secrets_of": ["feedback"], "emails": False}
    with site.services.database.writing() as session:
        session.query(Membership).filter_by(user_id=owner.id).one().role = Role.ORGANIZER
    assert owner.call("POST", TAKE, json={"confirm": SLUG}).status_code == 403


def test_while_an_archive_is_written_others_write_too(
    sqlite_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SQLite the act held the one writer while gigabytes were copied: everybody else met 503."""
    site, written = sqlite_site, list[int]()
    owner, ben = site.owner(), site.member("ben")

    def slowly(*given: Any, **more: Any) -> None:
        body = {"title": "A question", "body": "While the archive is written"}
        written.append(ben.call("POST", f"/api/v1/competitions/{SLUG}/discussion", json=body).status_code)
        write_archive(*given, **more)

    monkeypatch.setattr(api, "write_archive", slowly)
    assert owner.call("POST", TAKE, json={"confirm": SLUG}).content.startswith(b"PK")
    assert written == [201]
    assert len(log(site, "competition.transfer")) == 1


def test_what_no_site_takes_in_is_told_before_the_archive_is_there(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {"file": ("proto.zip", make_zip(), "application/zip")}
    site.owner().call("POST", f"{BASE}/baselines", data={"name": "Proto"}, files=sent, follow_redirects=False)
    assert site.owner().call("POST", TAKE, json={"confirm": SLUG}).is_success
    monkeypatch.setattr(acts, "LIMIT_NAMED", 10)
    refused = site.owner().call("POST", TAKE, json={"confirm": SLUG})
    assert refused.status_code == 409
    assert "and a site takes in 10 B at most: delete some first." in refused.json()["message"]


def test_people_claim_their_places_by_the_code_of_the_old_site(played: Site, other: Elsewhere) -> None:
    assert person_of(played, "ada").call("GET", "/api/v1/me/places").json() == {"codes": [], "known": []}
    content, dora = take(played), other.person("dora")
    assert bring(dora, content).status_code == 201
    publish(other, dora)
    (mine,) = person_of(played, "ada").call("GET", "/api/v1/me/places").json()["codes"]
    assert mine["competition"] == SLUG and mine["code"] not in content.decode("latin-1")

    impostor = other.person("ada")  # the same name proves nothing
    assert impostor.call("GET", f"/api/v1/competitions/{SLUG}/quota").status_code in (403, 404)
    wrong = impostor.call("POST", "/api/v1/me/places", json={"code": "0" * 32})
    assert wrong.status_code == 422 and "opens no place" in wrong.text
    assert impostor.call("POST", "/api/v1/me/places", json={"competition": SLUG}).status_code == 422
    lovelace = other.person("lovelace")
    taken = lovelace.call("POST", "/api/v1/me/places", json={"code": mine["code"].upper() + " "})
    assert taken.json() == {"competition": SLUG, "role": "participant"}
    own = lovelace.call("GET", "/api/v1/submissions").json()["items"]
    assert [row["score"] is not None for row in own] == [True]
    late = impostor.call("POST", "/api/v1/me/places", json={"code": mine["code"]})
    assert late.status_code == 409 and "claimed this place already" in late.text
    guests = dora.call("GET", f"/api/v1/competitions/{SLUG}/manage/placeholders").json()
    assert {row["name"]: row["claimed_by"] for row in guests}["ada"] == "lovelace"
    assert "lovelace" in page(dora, f"/competitions/{SLUG}/manage/import").text
    (owners,) = played.owner().call("GET", "/api/v1/me/places").json()["codes"]
    assert dora.call("POST", "/api/v1/me/places", json={"code": owners["code"]}).json()["role"] == "owner"


def test_who_took_it_in_stays_its_owner_by_claiming_a_participants_place(
    played: Site, other: Elsewhere
) -> None:
    dora = other.person("dora")
    assert bring(dora, take(played)).status_code == 201
    (hers,) = person_of(played, "ada").call("GET", "/api/v1/me/places").json()["codes"]
    claimed = dora.call("POST", "/api/v1/me/places", json={"code": hers["code"]})
    assert claimed.json() == {"competition": SLUG, "role": "owner"}
    assert page(dora, BASE).status_code == 200


def test_addresses_travel_if_the_sites_administrator_wishes(played: Site, other: Elsewhere) -> None:
    with played.services.database.writing() as session:
        session.get_one(User, played.owner_id).is_site_admin = True
        for name, address in (("ada", "Ada@example.com"), ("ben", "ben@example.com")):
            user = session.query(User).filter_by(username=name).one()
            user.email, user.email_key = address, address.casefold()
            user.email_verified_at = now() if name == "ada" else None
    content, dora = take(played, emails=True), other.person("dora")
    assert bring(dora, content).status_code == 201
    ada = other.person("countess", email="ADA@example.com", email_key="ada@example.com")
    (known,) = ada.call("GET", "/api/v1/me/places").json()["known"]
    assert (known["competition"], known["name"]) == (SLUG, "ada")
    with other.services.database.writing() as session:
        session.get_one(User, ada.id).email_verified_at = None
    assert ada.call("GET", "/api/v1/me/places").json()["known"] == []
    assert ada.call("POST", "/api/v1/me/places", json={"competition": SLUG}).status_code == 422
    with other.services.database.writing() as session:
        session.get_one(User, ada.id).email_verified_at = now()
    assert ada.call("POST", "/api/v1/me/places", json={"competition": SLUG}).status_code == 200
    with other.services.database.reading() as session:
        place = session.query(Placeholder).filter_by(name="ada").one()
        assert place.claimed_by == ada.id
        assert session.query(Placeholder).filter_by(name="ben").one().email_key is None


def raise_run(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["run_scores"][0]["summary"]["mean"] = rows["run_scores"][0]["value"] = 0.999


def raise_submission(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["submission_scores"][0]["value"] = 0.999


def raise_row(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["board_rows"][0]["value"] = 0.999


def drop_results(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["artifacts"][0]["digest"] = "f" * 64


def name_another_file(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["submissions"][0]["digest"] = DIGEST_OF_THE_SITE[0]


def refer_to_this_site(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["memberships"][0]["user_id"] = "0" * 32


def unknown_column(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["teams"][0]["is_site_admin"] = True


def wrong_word(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["submissions"][0]["status"] = "crowned"


def endless_text(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["teams"][0]["name"] = "x" * 65


def nul(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["posts"][0]["body"] = "a\x00b"


def script_link(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["users"][0]["homepage"] = "javascript:alert(1)"


def open_run(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["runs"][0]["state"] = "queued"


def look_alike(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    first, second = rows["teams"][:2]
    second["name"], second["name_key"] = first["name"].swapcase(), "another"


def no_list(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["teams"] = {"a": 1}


def other_file(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    files["../../etc/passwd"] = b"root"


def infinite(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    rows["submission_scores"][0]["value"] = float("inf")


def put_in_the_place_of_another(rows: dict[str, Any], files: dict[str, bytes]) -> None:
    """Other content under the name of a file that this site may have too; the list has the content's own digest."""
    first = next(name for name in files if name.startswith("blobs/"))
    files[first] = b"not what its name says"


def emptied(content: bytes) -> bytes:
    """A whole zip in which one file has other content than its name and the list say."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(target, "w") as made:
        (first, *_) = (name for name in archive.namelist() if name.startswith("blobs/"))
        for name in archive.namelist():
            data = archive.read(name)
            made.writestr(name, bytes(len(data)) if name == first else data)
    return target.getvalue()


DIGEST_OF_THE_SITE = [""]
FORGERIES: dict[Callable[[dict[str, Any], dict[str, bytes]], None], str] = {
    raise_run: "is not what its files give",
    raise_submission: "and its runs give",
    raise_row: "boards do not follow",
    drop_results: "not in the archive",
    name_another_file: "names a file that is not in the archive",
    refer_to_this_site: "names no row of users in the archive",
    unknown_column: "lacks or has too much: is_site_admin",
    wrong_word: "This must be one of",
    endless_text: "This must have at most 64 characters.",
    nul: "NUL",
    script_link: "“javascript:alert(1)” does not have the expected form.",
    open_run: "has not ended",
    look_alike: "the names of two teams look alike",
    no_list: "teams is no list of rows",
    other_file: "has no place in it",
    put_in_the_place_of_another: "is called by another digest than its own",
    infinite: "This must be a number, not “inf”.",
}


@pytest.mark.seconds("two sites")
def test_an_archive_that_does_not_fit_together_leaves_nothing(played: Site, other: Elsewhere) -> None:
    """Each was made by somebody who knows the format and wrote matching digests."""
    content, dora = take(played), other.person("dora")
    with other.services.database.writing() as session:
        secret = b"hidden labels of this site"
        DIGEST_OF_THE_SITE[0] = hashlib.sha256(secret).hexdigest()
        session.add(Blob(digest=DIGEST_OF_THE_SITE[0], size=len(secret)))
    for change, words in FORGERIES.items():
        refused = bring(dora, altered(content, change))
        assert refused.status_code in (409, 422), (change.__name__, refused.text)
        assert words in refused.json()["message"], (change.__name__, refused.json()["message"])
        assert dora.call("GET", f"/api/v1/competitions/{SLUG}").status_code == 404, change.__name__
        with other.services.database.reading() as session:
            assert session.query(Placeholder).count() == session.query(Submission).count() == 0
    dan = other.person("dan")  # an hour has 20 imports of one person
    at = content.index(b"PAR1") + 40
    flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    altered_file = "was altered: its digest is not the one in the archive's list."
    for broken, words in (
        (flipped, ""),
        (emptied(content), altered_file),
        (content[:-100], ""),
        (b"no zip", ""),
        (b"", ""),
    ):
        refused = bring(dan, broken)
        assert refused.status_code == 422 and refused.json()["message"], refused.text
        assert words in refused.json()["message"]
    assert bring(other.person("eve"), content).status_code == 201  # the true one is welcome still


@pytest.mark.seconds("two sites")
def test_by_page_and_command_line(played: Site, other: Elsewhere, tmp_path: Path) -> None:
    file, dora = tmp_path / "small.zip", other.person("dora")
    with served(played.app, free_port()) as old, served(other.client.app, free_port()) as new:

        def run(address: str, person: Person, *words: str) -> str:
            environment = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": person.token}
            done = CliRunner().invoke(main, list(words), env=environment)
            assert done.exit_code == 0, done.output
            return done.output

        wrote = run(old, played.owner(), "organize", "transfer", SLUG, str(file), "--yes", SLUG)
        assert f"Wrote {file}" in wrote
        assert "Taken in as moved." in run(new, dora, "organize", "receive", str(file), "--slug", "moved")
        listed = run(old, person_of(played, "ben"), "places")
        code = listed.split()[-1]
        bea = other.person("bea")
        assert "You are participant of moved" in run(new, bea, "places", code)
        assert "waits for you" in run(new, bea, "places")
    with file.open("rb") as content:
        sent = dora.call(
            "POST",
            "/organize/transfer",
            data={"slug": "third"},
            files={"archive": ("a.zip", content)},
            headers={"accept": "text/html"},
            follow_redirects=False,
        )
    assert sent.headers["location"].startswith("/competitions/third/manage/import")
    wrong = dora.call(
        "POST", "/organize/transfer", files={"archive": ("a.zip", b"x")}, headers={"accept": "text/html"}
    )
    assert wrong.status_code == 422 and "This is no archive of a competition" in wrong.text
    with other.services.database.writing() as session:
        user = session.get_one(User, dora.id)
        cookie = {"anyshot_session": begin_session(session, user, user_agent="test", days=1).secret}
    other.client.cookies.update(cookie)
    html = {"accept": "text/html"}
    shown = other.client.get("/account/places", headers=html).text
    assert "Code of the other site" in shown and "were taken to another site" not in shown
    token = re.search(r'name="csrf_token" value="([^"]+)"', shown)
    assert token is not None
    sent = other.client.post(
        "/account/places", data={"csrf_token": token[1], "code": "1"}, headers=html, follow_redirects=False
    )
    assert flash(sent).startswith("This opens no place here.")
