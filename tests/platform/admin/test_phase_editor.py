"""The editor of a phase: every setting and every protocol has fields of its own, and an example task beside it."""

import io
import re
from datetime import timedelta
from pathlib import Path

import pytest
from PIL import Image

from anyshot_core.protocols import PROTOCOLS
from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.description import SETTINGS, decides_scores
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.schema.settings import Column, Elsewhere
from anyshot_platform.site.phases.protocol_form import ROLES
from tests.platform.admin.test_manage import flash, page, phase_form, post
from tests.platform.admin.test_two_actors import seen
from tests.platform.site import Site

BASE = "/competitions/small/manage"
FEEDBACK = f"{BASE}/phases/feedback"
# Columns that no setting keeps: identity, moments of acts, and what a description says in another way.
NOT_DESCRIBED = {
    Phase: {
        "id",
        "competition_id",
        "position",
        "time_zone",
        "paused_at",
        "closed_at",
        "live_version",
        "frozen_at",
        "launched_at",
    }
    | {
        "published_at",
        "key_published_at",
        "smoke_pool_version_id",
        "gate_phase_id",
        "created_at",
        "deleted_at",
    },
    PhaseVersion: {
        "id",
        "phase_id",
        "number",
        "state",
        "rescore_mode",
        "reason",
        "created_by",
        "created_at",
        "live_at",
    }
    | {"meta_train_pool_version_id", "meta_test_pool_version_id", "train_seeds", "root"},
}


@pytest.mark.parametrize("table", [Phase, PhaseVersion])
def test_every_column_is_a_setting_or_says_why_not(table: type[Phase] | type[PhaseVersion]) -> None:
    columns = {column.name for column in table.__table__.columns}
    marks = [mark for setting in SETTINGS if (mark := setting.mark(Column))]
    kept = [mark.name for mark in marks if mark.table == table.__tablename__]
    assert len(kept) == len(set(kept))
    assert set(kept) | NOT_DESCRIBED[table] == columns


def test_the_editor_shows_every_setting_in_words(site: Site) -> None:
    text = page(site.owner(), FEEDBACK).text
    for setting in SETTINGS:
        if setting.mark(Elsewhere) or setting.path in ("key", *ROLES):
            continue
        assert f'name="{setting.path}"' in text, setting.path
        assert setting.info.title, f"{setting.path} has no label"


def test_the_end_is_moved_above_the_long_form_and_what_is_rare_is_below_it(site: Site) -> None:
    """The review: one form of fifty fields, and to move a deadline came below all of it."""
    text = page(site.owner(), f"{BASE}/phases/feedback").text
    assert (
        text.index("/phases/feedback/extend") < text.index('name="title"') < text.index(">Versions</summary>")
    )
    rare = text.partition("<summary>Image, key and deletion</summary>")[2].partition("</details>")[0]
    assert all(f"/phases/feedback/{act}" in rare for act in ("pin-image", "redraw-seeds", "delete"))
    assert "/extend" not in page(site.member("rita", Role.REVIEWER), f"{BASE}/phases/feedback").text
    assert "/extend" not in page(site.owner(), f"{BASE}/phases/new").text


def test_parts_of_the_long_form_are_folded_with_what_is_set_and_open_where_something_is_wrong(
    site: Site,
) -> None:
    owner = site.owner()

    def parts(text: str) -> dict[str, tuple[bool, str]]:
        found = re.findall(
            r'<details class="disclosure" id="card-(\w*)"( open)?>\s*<summary>(.*?)</summary>', text, re.S
        )
        return {key: (bool(unfolded), re.sub(r"<[^>]+>|\s+", " ", said)) for key, unfolded, said in found}

    shown = parts(page(owner, FEEDBACK).text)
    assert {"", "tasks", "quota", "budget", "machine", "scoring"} <= shown.keys()
    assert [key for key, (unfolded, _) in shown.items() if unfolded] == []
    assert [
        key for key, (unfolded, _) in parts(page(owner, f"{BASE}/phases/new").text).items() if unfolded
    ] == [""]
    assert "A day: 3" in shown["quota"][1] and "Feedback" in shown[""][1]
    refused = post(owner, FEEDBACK, **phase_form(**{"quota.per_day": "many"}))
    assert [key for key, (unfolded, _) in parts(refused.text).items() if unfolded] == ["quota"]


def test_what_decides_a_score_is_what_the_version_keeps() -> None:
    deciding = {setting.path for setting in SETTINGS if decides_scores(setting)}
    assert {
        "tasks.meta_test",
        "tasks.key",
        "scoring.runs",
        "scoring.ranking",
        "budget.run",
        "machine.memory",
    } <= deciding
    assert not {"scoring.board_shows", "quota.per_day", "shown.scores", "title", "end"} & deciding


def test_every_protocol_has_fields_for_its_settings_but_for_secret_ones(site: Site) -> None:
    text = page(site.owner(), FEEDBACK).text
    for name, kind in PROTOCOLS.items():
        for field in kind.setting_fields():
            assert (f'name="tasks.protocol.{name}.{field.name}' in text) == (field.name not in SEEDS)


def test_a_protocol_is_chosen_and_its_settings_are_saved(site: Site) -> None:
    owner = site.owner()
    form = phase_form(
        **{
            "tasks.protocol.name": "within_domain",
            "tasks.protocol.within_domain.ways.low": "2",
            "tasks.protocol.within_domain.ways.high": "3",
            "tasks.protocol.within_domain.query": "5",
            "tasks.protocol.within_domain.split": "70/15/15",
            "tasks.protocol.fixed.query": "7",  # of a protocol that is not chosen
        }
    )
    assert flash(post(owner, FEEDBACK, **form)) == "Saved."
    shown = owner.call("GET", "/api/v1/competitions/small/manage/phases/feedback").json()["settings"]["tasks"]
    assert shown["protocol"] == {"name": "within_domain", "ways": [2, 3], "query": 5, "split": "70/15/15"}


@pytest.mark.parametrize("role", ["train_protocol", "validation_protocol"])
def test_training_and_validation_have_a_protocol_or_none(site: Site, role: str) -> None:
    fields = {
        f"tasks.{role}.name": "class_side",
        f"tasks.{role}.class_side.side": "novel",
        f"tasks.{role}.class_side.ways.low": "2",
        f"tasks.{role}.class_side.ways.high": "3",
    }
    owner = site.owner()
    assert post(owner, FEEDBACK, **phase_form(**fields)).status_code == 303
    with site.services.database.reading() as session:
        version = session.get_one(Phase, site.phase_id).versions[0]
        assert getattr(version, role) == {"name": "class_side", "side": "novel", "ways": [2, 3]}
    form = f'name="tasks.{role}.class_side.ways.high" type="number" min="1" value="3"'
    assert form in page(owner, FEEDBACK).text
    assert post(owner, FEEDBACK, **phase_form(**{f"tasks.{role}.name": ""})).status_code == 303
    with site.services.database.reading() as session:
        assert getattr(session.get_one(Phase, site.phase_id).versions[0], role) == {}


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"tasks.protocol.fixed.query": "many"}, "Query: This must be a whole number, not “many”"),
        (
            {"tasks.protocol.fixed.ways.low": "2", "tasks.protocol.fixed.ways.high": "3"},
            "takes one number of ways",
        ),
        ({"tasks.protocol.name": "gaussians"}, "there is no protocol “gaussians”"),
    ],
)
def test_a_protocol_that_is_none_is_refused_beside_its_fields(
    site: Site, sent: dict[str, str], words: str
) -> None:
    answer = post(site.owner(), FEEDBACK, **phase_form(**{"tasks.protocol.name": "fixed", **sent}))
    assert words in answer.text


def test_an_example_task_is_drawn_beside_the_form(site: Site, demo_packs: dict[str, Path]) -> None:
    owner = site.owner()
    unread = owner.call("GET", f"{FEEDBACK}/example.png")  # of data that are none
    assert unread.status_code == 422 and "cannot be read" in unread.text
    pack_id = add_pack(site.services, min(demo_packs.values())).id
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="real", name="Real", owner_id=site.owner_id)
        row = session.get_one(Pack, pack_id)
        made = create_pool_version(session, pool, [row], created_by=site.owner_id)
        session.get_one(Phase, site.phase_id).versions[0].meta_train_pool_version_id = made.id
    query = {"tasks.protocol.name": "fixed", "tasks.protocol.fixed.query": "3"}
    ends = [f"tasks.protocol.fixed.{name}.{end}" for name in ("ways", "shots") for end in ("low", "high")]
    wide = query | dict.fromkeys(ends, "2")
    answer = owner.call("GET", f"{FEEDBACK}/example.png", params=wide)
    assert answer.status_code == 200, answer.text
    picture = Image.open(io.BytesIO(answer.content))
    assert picture.height < picture.width  # two classes, a row each
    other = owner.call("GET", f"{FEEDBACK}/example.png", params={**wide, "number": 1})
    assert other.content != answer.content
    refused = owner.call(
        "GET", f"{FEEDBACK}/example.png", params={**wide, "tasks.protocol.fixed.query": "9999"}
    )
    assert refused.status_code == 422 and "expected at least" in refused.text
    assert "/" not in refused.json()["message"]  # where the file lies is nobody's business


def test_what_settings_say_has_code_as_code_and_no_backtick(site: Site) -> None:
    shown = page(site.owner(), FEEDBACK).text
    hint = re.search(r'id="[^"]*snapshots-hint">(.*?)</p>', shown, re.DOTALL)
    assert hint is not None and "<code>snapshots.npz</code>" in hint[1]
    assert re.findall(r'__hint" id="[^"]*">[^<]*`', shown) == []


def test_a_phase_whose_key_is_public_stays_closed_in_the_editor_too(site: Site) -> None:
    """Another end in the form, or in JSON, opened it: uploads were scored on tasks that everybody can draw."""
    owner, alice = site.owner(), site.member("alice")
    site.set_phase(ends_at=now() - timedelta(hours=1), key_published_at=now())
    words = "everybody can draw its tasks, so it stays closed."
    api = "/api/v1/competitions/small/manage/phases/feedback"
    moments = [("end", None), ("end", "2090-01-01T00:00:00Z"), ("start", "2089-01-01T00:00:00Z")]
    for name, moment in moments:
        sent = {name: moment} if name == "end" else {name: moment, "end": None}
        refused = owner.call("PATCH", api, json=sent)
        assert (refused.status_code, refused.json()["field"]) == (409, name), refused.text
        assert words in refused.json()["message"]
    form = phase_form(title="Typed anew", seen=seen(owner, FEEDBACK))
    shown = post(owner, FEEDBACK, **form)
    assert words in shown.text
    assert 'href="#end"' in shown.text and 'value="Typed anew"' in shown.text
    assert alice.submit().json()["error"] == "phase_not_open"
    assert owner.call("PATCH", api, json={"title": "Over"}).status_code == 200
    earlier = (now() - timedelta(hours=2)).isoformat()
    assert owner.call("PATCH", api, json={"end": earlier}).status_code == 200


def test_the_short_name_of_a_deleted_phase_is_said_to_be_taken_and_what_was_typed_stays(site: Site) -> None:
    """The answer was "Somebody did the same at this moment", and an empty form."""
    owner = site.owner()
    phases, form = f"{BASE}/phases", phase_form(key="extra", title="Extra", note="")
    assert flash(post(owner, f"{phases}/new", **form)) == "Extra is added."
    twice = post(owner, f"{phases}/new", **form)
    assert "There is a phase “extra” already." in twice.text
    assert post(owner, f"{phases}/extra/delete", confirm="extra").status_code == 303
    shown = post(owner, f"{phases}/new", **{**form, "title": "Typed anew"})
    words = "A deleted phase has this short name: restore it, or take another one."
    assert words in shown.text
    assert 'value="Typed anew"' in shown.text and 'href="#key"' in shown.text
    api = "/api/v1/competitions/small/manage/phases"
    settings = owner.call("GET", f"{api}/feedback").json()["settings"]
    refused = owner.call("POST", api, json={**settings, "key": "extra"})
    assert (refused.status_code, refused.json()["message"], refused.json()["field"]) == (422, words, "key")
    (restored,) = re.findall(r'action="([^"]+/restore/deleted)"', page(owner, phases).text)
    assert post(owner, restored).status_code == 303
    assert 'value="Extra"' in page(owner, f"{phases}/extra").text
