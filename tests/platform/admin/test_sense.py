"""What makes no sense is said wherever it is written: import, page, JSON, draft, publication."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from anyshot_platform.contest.bundles.consistency import judge_phase
from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.contest.phases.description import ONE_LEARNER_EACH, PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.foundation.database import now
from tests.core.tinydata import write_pack
from tests.platform.admin.test_bundle_reading import GOOD
from tests.platform.admin.test_leaking_images import pool_of
from tests.platform.admin.test_manage import BASE, flash, page, phase_form, post
from tests.platform.admin.test_two_actors import settings_form
from tests.platform.admin.zips import zipped
from tests.platform.site import SLUG, Site

FEEDBACK = f"{BASE}/phases/feedback"
MANAGE = f"/api/v1/competitions/{SLUG}/manage"
NONSENSE = [
    ({"budget.run": "5h", "budget.meta_train": "9h"}, "9h for meta-training are more than the 5h"),
    ({"budget.run": "5min", "budget.task": "1h"}, "1h for one task are more than the 5min"),
    ({"machine.memory": "999 TB"}, "no machine has that much"),
    ({"smoke.pool": "small-train", "smoke.budget": "100 d"}, "A smoke test may last"),
]


def test_nonsense_is_refused_at_every_save(site: Site) -> None:
    owner = site.owner()
    before = owner.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    for change, words in NONSENSE:
        assert words in post(owner, FEEDBACK, **phase_form(**change)).text
        assert words in post(owner, FEEDBACK, act="version", **phase_form(**change)).text
        assert words in post(owner, f"{BASE}/phases/new", **phase_form(**change, key="more")).text
        sent = {**before, **nested(change)}
        for method, path, body in (
            ("PUT", "/phases/feedback", sent),
            ("POST", "/phases/feedback/versions", {"settings": sent, "reason": ""}),
        ):
            refused = owner.call(method, MANAGE + path, json=body)
            assert refused.status_code == 422 and words in refused.text
    assert owner.call("GET", f"{MANAGE}/phases/feedback").json()["settings"] == before


@pytest.mark.parametrize(
    ("settings", "place", "words"),
    [
        ({"quota": {"per_day": 0}}, "quota", "With a quota of 0 nobody can submit"),
        ({"quota": {"per_day": 5, "total": 3}}, "quota.per_day", "5 a day are more than the 3 of the whole"),
        ({"quota": {"per_day": None, "total": None}}, "quota", "Neither a day nor the phase has a quota."),
        ({"budget": {"each_dataset": True}}, "budget.each_dataset", "does not train dataset by dataset"),
        (
            {"scoring": {"board_shows": "best"}, "shown": {"scores": False}},
            "scoring.board_shows",
            "which one it is they are not told either",
        ),
        (
            {"scoring": {"board_shows": "last_above_gate"}, "shown": {"after_publishing": True}},
            "scoring.board_shows",
            "which one it is they are not told either",
        ),
        ({"machine": {"gpus": 1, "hardware": "cpu"}}, "machine.gpus", "choose a class that has some"),
        (
            {"entries": {"phase": "b", "gates": [{"league": "free", "score": 5}]}},
            "entries.gates.0.score",
            "A gate is a score between 0 and 1; found 5",
        ),
    ],
)
def test_what_is_odd_in_a_phase_is_said_with_its_place(
    settings: dict[str, object], place: str, words: str
) -> None:
    about = {"key": "a", "title": "A", "start": "2026-01-01"}
    plain = {said.words for said in judge_phase(PhaseSpec.model_validate(about), "UTC")}
    found = list(judge_phase(PhaseSpec.model_validate(about | settings), "UTC"))
    more = [(".".join(map(str, one.path)), one.words) for one in found if one.words not in plain]
    assert [where for where, _ in more] == [place] and words in more[0][1]


def test_settings_that_exclude_each_other_are_refused() -> None:
    tasks = {"each_dataset": True, "evaluations": "shots", "protocol": {"name": "within_domain"}}
    about = {"key": "a", "title": "A", "start": "2026-01-01", "tasks": tasks}
    with pytest.raises(ValidationError, match=re.escape(ONE_LEARNER_EACH)):
        PhaseSpec.model_validate(about)


def nested(change: dict[str, str]) -> dict[str, dict[str, str]]:
    parts: dict[str, dict[str, str]] = {}
    for name, value in change.items():
        part, _, key = name.partition(".")
        parts.setdefault(part, {})[key] = value
    return parts


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "budget: {run: 5h}",
            "budget: {run: 5h, meta_train: 9h}",
            "more than the 5h of the whole run",
        ),
        ("title: ", "email_domains: ['@@']\ntitle: ", "“@@” is no domain"),
        ("title: ", "contact: nope\ntitle: ", "This is no e-mail address: nope."),
    ],
)
def test_nonsense_in_a_bundle_is_said_with_its_line(old: str, new: str, words: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    with pytest.raises(BundleInvalid) as caught:
        read_bundle(zipped({"competition.yaml": text, "rules.md": "Be fair.", "terms.md": "Be fair."}))
    said = [str(problem) for problem in caught.value.problems if words in str(problem)]
    assert said and "line " in said[0], caught.value.problems


def test_what_is_imported_with_nonsense_is_not_published(site: Site) -> None:
    owner = site.owner()
    site.set_version(run_seconds=60.0, meta_train_seconds=3600.0)
    post(owner, f"{BASE}/state", state="draft", confirm=SLUG)
    said = flash(post(owner, f"{BASE}/state", state="published"))
    assert "Feedback, Time > Meta-training limit: 1h for meta-training are more than the 1min" in said
    assert "Feedback, Time &gt; Meta-training limit: 1h" in page(owner, BASE).text


def test_settings_that_make_no_sense_are_refused(site: Site) -> None:
    owner = site.owner()
    before = owner.call("GET", f"{MANAGE}/settings").json()
    for fields, words in (
        ({"contact_email": "nope"}, "This is no e-mail address: nope."),
        ({"email_domains": "example.org, @@"}, "“@@” is no domain"),
        ({"fact_sheet": "a: One\na: Two"}, "The key a stands 2 times"),
        ({"fact_sheet": ": What?"}, "needs a key"),
    ):
        refused = post(owner, f"{BASE}/settings", **settings_form(**fields))
        assert refused.status_code == 422 and words in html.unescape(refused.text)
    assert owner.call("GET", f"{MANAGE}/settings").json() == before
    for score in (5, -3):
        refused = owner.call("PUT", f"{MANAGE}/gates/feedback/free", json={"score": score})
        assert refused.status_code == 422
        assert f"A gate is a score between 0 and 1; found {score}." in refused.text


def test_phases_do_not_feed_each_other(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        competition = session.get_one(Phase, site.phase_id).competition_id
        final = Phase(competition_id=competition, slug="final", name="Final", starts_at=now())
        final.gate_phase_id = site.phase_id
        session.add(final)
    refused = post(owner, FEEDBACK, **phase_form(**{"entries.phase": "final"}))
    assert "take their entries from each other: feedback, final" in refused.text
    with site.services.database.reading() as session:
        assert session.get_one(Phase, site.phase_id).gate_phase_id is None


SMALL = [
    (
        {"name": "any_way_any_shot"},
        (5, 12),
        "found 12 images in a class; expected at least 21 (1 shots + 20 query images).",
    ),
    ({"name": "fixed", "query": 5}, (5, 8), "found 8 images in a class; expected at least 10"),
    (
        {"name": "within_domain", "split": "halves", "ways": [5, 5], "query": 2},
        (8, 8),
        "found 4 classes in meta_test (halves); expected at least 5.",
    ),
]
ENOUGH = [
    ({"name": "any_way_any_shot", "ways": [10, 20], "query": 5}, (6, 8)),
    ({"name": "fixed", "query": 3}, (5, 8)),
]


def scored_on(site: Site, folder: Path, protocol: dict[str, Any], size: tuple[int, int]) -> None:
    """The phase on one dataset of so many classes of so many images."""
    classes, images = size
    pool_of(site, "tested", write_pack(folder, "Nu", classes=classes, images=images))
    with site.services.database.writing() as session:
        (version,) = session.scalars(select(PoolVersion).join(Pool).where(Pool.slug == "tested"))
    site.set_version(protocol=protocol, meta_test_pool_version_id=version.id)


@pytest.mark.parametrize(("protocol", "size", "words"), SMALL)
def test_no_competition_is_published_whose_every_run_its_protocol_would_refuse(
    site: Site, tmp_path: Path, protocol: dict[str, Any], size: tuple[int, int], words: str
) -> None:
    """Query images and the part of a split were not counted: a clean overview, and then every submission failed."""
    owner = site.owner()
    scored_on(site, tmp_path, protocol, size)
    for path in (BASE, FEEDBACK):
        assert f"Feedback: Nu: {words}" in " ".join(page(owner, path).text.split()), path
    assert words in owner.call("GET", f"{MANAGE}/state").json()["missing"][0]
    post(owner, f"{BASE}/state", state="draft", confirm=SLUG)
    assert f"Not ready to be published: Feedback: Nu: {words}" in flash(
        post(owner, f"{BASE}/state", state="published")
    )


@pytest.mark.parametrize(("protocol", "size"), ENOUGH)
def test_a_protocol_that_draws_less_where_there_is_less_is_no_reason_to_look(
    site: Site, tmp_path: Path, protocol: dict[str, Any], size: tuple[int, int]
) -> None:
    """10 to 20 ways of 6 classes are 6 ways, and were said to be impossible."""
    owner = site.owner()
    site.worker().claim()
    scored_on(site, tmp_path, protocol, size)
    state = owner.call("GET", f"{MANAGE}/state").json()
    assert (state["missing"], state["odd"]) == ([], [])
    assert "expected at least" not in page(owner, FEEDBACK).text


def test_what_is_odd_is_said_before_it_is_published(site: Site) -> None:
    owner = site.owner()
    site.set_version(hardware_class="tpu")
    for path in (BASE, FEEDBACK):
        assert "No worker has the hardware class tpu" in page(owner, path).text
    state = owner.call("GET", f"{MANAGE}/state").json()
    assert state["missing"] == [] and len(state["odd"]) == 1


def test_a_phase_with_gpus_says_where_no_worker_has_them_for_its_image(site: Site) -> None:
    """The class alone promises nothing: a worker whose usual image is for CPUs takes none of these runs."""
    owner, pia = site.owner(), site.member("pia")
    site.set_version(hardware_class="gpu", gpus=1)
    told = "No worker of the class gpu that is connected has 1 GPU and an image that can use them; runs would wait."
    entry = f"/submissions/{pia.submit().json()['id']}"
    has = {"hardware_class": "gpu", "images": ("cpu", "gpu"), "cpu_images": ("cpu", "")}
    assert site.worker("none", **has).claim() is None
    assert site.worker("mixed", gpus=("H100",), **has).claim() is None
    assert told in page(owner, FEEDBACK).text
    assert "no worker can take it now" in page(pia, entry).text
    able = site.worker("able", gpus=("H100",), **(has | {"cpu_images": ("cpu",)}))
    job = able.claim()
    assert job is not None
    assert told not in page(owner, FEEDBACK).text


def test_sensible_settings_pass() -> None:
    spec = PhaseSpec.model_validate(
        {
            "key": "a",
            "title": "A",
            "start": now(),
            "budget": {"run": "5h", "meta_train": "4h", "task": "1min"},
        }
    )
    assert [found for found in judge_phase(spec) if found.error] == []


def test_what_is_wrong_is_said_by_the_names_of_the_form_and_in_plain_words(site: Site) -> None:
    """The review: errors named `Budget.run` and `Quota.total`, and showed what pydantic says."""
    owner = site.owner()
    sent = {"budget.run": "banana", "quota.total": "-1", "title": "x" * 300, "machine.cpus": "many"}
    refused = html.unescape(post(owner, FEEDBACK, **phase_form(**sent)).text)
    for line in (
        ">Time &gt; Time for a run</a>: write a duration",
        ">Quotas &gt; In the phase</a>: This must be at least 0, not “-1”.",
        ">Name</a>: This must have at most 200 characters.",
        ">Machine &gt; CPU cores</a>: This must be a number, not “many”.",
    ):
        assert html.unescape(line) in refused, line
    assert "Budget.run" not in refused and "Input should" not in refused


REFUSED_LEAGUES = (
    ({"title": "x" * 300}, "Name: This must have at most 200 characters."),
    (
        {"key": "Ä b"},
        "Short name in addresses: Only small letters, digits and dashes can stand here, not “Ä b”.",
    ),
    ({"admission": "banana"}, "Who decides: This must be one of 'all', "),
    ({"quota_day": "-1"}, "Submissions a day: This must be at least 0, not “-1”."),
    ({"quota_day": "many"}, "This must be a whole number up to"),
    ({"awards": "400 many"}, "Prize money of the first places: This must be a number, not “many”."),
    ({"opens": "banana"}, "Opens, UTC: write a moment like"),
    ({"columns": "banana"}, "Further columns of its board: This must be one of 'normalized_accuracy', "),
)


def test_a_refused_league_says_why_by_the_names_of_its_form_and_keeps_what_was_typed(site: Site) -> None:
    owner = site.owner()
    league = {
        "key": "new-one",
        "title": "New",
        "admission": "all",
        "prizes": "A cup",
        "questions": "a: Is it?",
    }
    for fields, words in REFUSED_LEAGUES:
        refused = post(owner, f"{BASE}/leagues", **league | fields)
        text = html.unescape(refused.text)
        assert refused.status_code == 422 and words in text, text[:3000]
        form = text.partition('id="key-new"')[2]
        assert 'value="A cup"' in form and "a: Is it?" in form
    assert post(owner, f"{BASE}/leagues", **league).status_code == 303
