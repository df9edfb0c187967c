"""Each promise in a ready-made competition has a test that names it; `promises.toml` lists every sentence."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import read_po

from anyshot_core.bundle.zipsafety import ZipLimits
from anyshot_platform.accounts import confirming
from anyshot_platform.bundles.ready import read_ready_made
from anyshot_platform.bundles.schema import CompetitionSpec
from anyshot_platform.competitions.states import Due, Registration
from anyshot_platform.kernel.language import FOLDER
from anyshot_platform.phases.description import PhaseSpec
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.site.users import reset_pages
from anyshot_platform.users.models import User
from anyshot_worker.images.recipe import PINS
from tests.platform.admin.test_manage import BASE, post
from tests.platform.core.test_access import member_of
from tests.platform.entries.promised import all_sentences, sentences
from tests.platform.entries.test_finals import end_feedback, launch
from tests.platform.entries.test_finals import final as final
from tests.platform.site import SLUG, Site

ROOT = Path(__file__).parents[3]
LISTED = tomllib.loads((Path(__file__).parent / "promises.toml").read_text(encoding="utf-8"))
Y2022, Y2021 = "cross-domain-metadl-2022", "within-domain-metadl-2021"


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))


def test_every_sentence_of_a_template_is_listed_and_nothing_else() -> None:
    said = {one for texts in all_sentences().values() for found in texts.values() for one in found}
    promised = [row["says"] for row in LISTED["promise"]]
    assert len(promised) > 90
    assert len(promised) == len(set(promised))
    assert not set(promised) & set(LISTED["plain"])
    new = said - set(promised) - set(LISTED["plain"])
    assert not new, f"Sentences without a test that holds them (promises.toml): {sorted(new)}"
    gone = (set(promised) | set(LISTED["plain"])) - said
    assert not gone, f"No template says this any more (promises.toml): {sorted(gone)}"


def test_every_promise_names_tests_that_exist() -> None:
    missing = [
        (row["says"], test)
        for row in LISTED["promise"]
        for test in row["tests"] or ["(none)"]
        if test.partition("::")[2] not in names_in(test.partition("::")[0])
    ]
    assert missing == []


PROMISING = re.compile(
    r"\b(will|always|never|cannot|nobody|everybody|everyone|every|only|at most|within|at once)\b",
    re.IGNORECASE,
)
OF_PAGES = tomllib.loads((Path(__file__).parent / "promises_of_pages.toml").read_text(encoding="utf-8"))


def test_every_promise_of_a_page_has_tests_and_nothing_else() -> None:
    with (FOLDER / "messages.pot").open("rb") as file:
        shown = [one for one in read_po(file) if any("templates/" in path for path, _ in one.locations)]
    said = {one.id for one in shown if isinstance(one.id, str) and PROMISING.search(one.id)}
    promised = {row["says"]: row["tests"] for row in OF_PAGES["promise"]}
    assert len(promised) > 50 and len(promised) == len(OF_PAGES["promise"])
    new = said - promised.keys() - set(OF_PAGES["plain"])
    assert not new, f"Sentences without a test that holds them (promises_of_pages.toml): {sorted(new)}"
    gone = (promised.keys() | set(OF_PAGES["plain"])) - said
    assert not gone, f"No page says this any more (promises_of_pages.toml): {sorted(gone)}"
    named = [test.partition("::") for tests in promised.values() for test in tests or ["(none)"]]
    assert [test for path, _, test in named if test not in names_in(path)] == []


OF_MAILS = tomllib.loads((Path(__file__).parent / "promises_of_mails.toml").read_text(encoding="utf-8"))
MAILERS = {"notify", "tell_team", "tell_members", "letter", "send_email", "send_link"}


def sentences_of_mails() -> set[str]:
    """What `say` says in functions that send a mail or message, and wherever announcements are worded."""
    found: set[str] = set()
    platform = ROOT / "platform/anyshot_platform"
    for path in sorted(platform.rglob("*.py")):
        words_them = path.parent == platform / "announcements"
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
                names = {getattr(call.func, "id", "") for call in calls}
                if words_them or names & MAILERS:
                    said = [call.args[0] for call in calls if getattr(call.func, "id", "") == "say"]
                    found |= {str(one.value) for one in said if isinstance(one, ast.Constant)}
    return found


def test_no_words_of_a_message_are_put_together_outside_the_catalogue() -> None:
    """Who was let in, and who had asked for a report or a rehearsal, read English whatever their language."""
    found: list[str] = []
    for path in sorted((ROOT / "platform/anyshot_platform").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                found += [f"{path.name}: {ast.unparse(words)}" for words in _unmarked(function)]
    assert found == [], "say() them"


def _unmarked(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Titles, subjects and texts of messages that are no sentences of the catalogue."""
    nodes = list(ast.walk(function))
    named = {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in nodes:
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in MAILERS:
            for word in call.keywords:
                value = named.get(getattr(word.value, "id", ""), word.value)
                if word.arg in ("title", "subject", "body") and _has_letters(value):
                    yield value


def _has_letters(value: ast.expr) -> bool:
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    return any(
        isinstance(part, ast.Constant) and re.search("[A-Za-z]", str(part.value or "")) for part in parts
    )


def test_who_reads_french_hears_of_their_registration_in_french(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    with site.services.database.writing() as session:
        session.get_one(User, pia.id).language = "fr"
    for act in ("ban", "approve"):
        post(owner, f"{BASE}/people/{member_of(site, pia.id)}/{act}", reason="Deux comptes", confirm="pia")
    heard = [row["title"] for row in pia.call("GET", "/api/v1/notifications").json()]
    title = "A small competition"
    assert sorted(heard) == [f"{title} : vous participez", f"{title} : vous êtes exclu"]


def test_every_sentence_of_a_mail_is_listed_and_every_promise_has_tests() -> None:
    said = sentences_of_mails()
    promised = {row["says"]: row["tests"] for row in OF_MAILS["promise"]}
    new = said - promised.keys() - set(OF_MAILS["plain"])
    assert not new, f"Sentences of mails that nothing holds (promises_of_mails.toml): {sorted(new)}"
    gone = (promised.keys() | set(OF_MAILS["plain"])) - said
    assert not gone, f"No mail says this any more (promises_of_mails.toml): {sorted(gone)}"
    named = [test.partition("::") for tests in promised.values() for test in tests or ["(none)"]]
    assert [test for path, _, test in named if test not in names_in(path)] == []


def test_links_in_mails_last_as_long_as_the_mails_say() -> None:
    assert (confirming.HOURS, reset_pages.HOURS) == (48, 1)  # "two days", "an hour"


def test_a_new_sentence_is_seen_wherever_the_lines_are_broken() -> None:
    text = "We **mail** you.\nThe winner\ngets a car. No\n\n"
    text += "| a | b |\n| --- | --- |\n| one | two |\n\n1. **Rule.** A car."
    assert sentences(text) == [
        "We mail you.",
        "The winner gets a car.",
        "No",
        "a | b",
        "one | two",
        "Rule.",
        "A car.",
    ]


def phase_of(spec: CompetitionSpec, key: str) -> PhaseSpec:
    """A phase of a ready-made competition."""
    return next(phase for phase in spec.phases if phase.key == key)


def test_the_template_of_2022_says_what_its_settings_hold() -> None:
    spec = read_ready_made(Y2022).spec
    feedback, last = phase_of(spec, "feedback"), phase_of(spec, "final")
    assert feedback.tasks is not None and last.tasks is not None and feedback.scoring is not None
    assert (feedback.tasks.meta_train, feedback.tasks.meta_test) == ("metadl-set-0", "metadl-set-1")
    assert (last.tasks.meta_train, last.tasks.meta_test) == ("metadl-set-0-and-1", "metadl-set-2")
    protocol = {"name": "any_way_any_shot", "ways": [2, 20], "shots": [1, 20], "query": 20}
    assert (
        protocol.items() <= feedback.tasks.protocol.items()
        and protocol.items() <= last.tasks.protocol.items()
    )
    assert (feedback.scoring.runs, feedback.scoring.board_shows) == (1, "last")
    assert spec.fact_sheet_from == Due.FINALISTS  # not "with each submission", as the page said
    assert not feedback.shown.dataset_names and not last.shown.dataset_names


def test_the_template_of_2021_says_what_its_settings_hold() -> None:
    spec = read_ready_made(Y2021).spec
    feedback, last = phase_of(spec, "feedback"), phase_of(spec, "final")
    assert feedback.tasks is not None and feedback.scoring is not None and last.scoring is not None
    assert {"ways": 5, "shots": 5, "query": 20}.items() <= feedback.tasks.protocol.items()
    assert feedback.scoring.ranking == last.scoring.ranking == "dataset_ranks_worst"
    assert (feedback.scoring.runs, last.scoring.runs) == (1, 3)


@pytest.mark.parametrize("name", [Y2022, Y2021])
def test_dates_of_the_templates_are_those_of_utc(name: str) -> None:
    assert read_ready_made(name).spec.timezone == "UTC"


def test_a_public_phase_takes_no_submissions(site: Site) -> None:
    for name in (Y2022, Y2021):
        phase = phase_of(read_ready_made(name).spec, "public")
        assert not phase.accepts_uploads
    site.set_phase(accepts_uploads=False)
    refused = site.member("pia").submit()
    assert refused.status_code in (403, 409), refused.text


def test_an_upload_before_the_close_counts_though_it_runs_later(final: Site) -> None:
    pia, worker = final.member("pia"), final.worker()
    assert pia.submit().status_code == 201
    end_feedback(final)
    late = pia.submit()
    assert late.status_code == 409, late.text
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    board = pia.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard").json()
    assert [row["team"] for row in board["rows"]] == ["pia"]
    assert len(launch(final.owner())) == 1


def test_a_rehearsal_is_looked_at_twice_a_minute() -> None:
    assert PlatformSettings.model_fields["sweep_seconds"].default <= 30


def test_nobody_new_comes_into_a_closed_competition(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).registration = Registration.CLOSED
    refused = site.person("nina").call("POST", f"/api/v1/competitions/{SLUG}/join", json={})
    assert refused.status_code in (403, 409) and "closed" in refused.json()["message"]


def test_the_exported_tables_hold_what_their_page_says(site: Site) -> None:
    owner, worker, ids = site.owner(), site.worker(), {}
    for name, score in (("pia", 0.2), ("quin", 0.6), ("rob", 0.4), ("sue", 0.9), ("tom", 0.1)):
        ids[name] = site.member(name).submit().json()["id"]
        job = worker.claim()
        assert job is not None
        worker.complete(job, score)
    acts = f"/api/v1/competitions/{SLUG}/manage/submissions/{{}}/acts/{{}}"
    for name, act in (("sue", "disqualify"), ("tom", "delete")):
        assert owner.call("POST", acts.format(ids[name], act), json={"reason": "two accounts"}).is_success

    def table(name: str) -> list[dict[str, Any]]:
        return owner.call("GET", f"/competitions/{SLUG}/manage/exports/{name}.json").json()

    assert [(row["rank"], row["team"]) for row in table("leaderboards")] == [
        (1, "quin"),
        (2, "rob"),
        (3, "pia"),
    ]
    rows = {row["team"]: row for row in table("submissions")}
    assert {name: row["id"] for name, row in rows.items()} == ids
    assert [name for name, row in rows.items() if row["disqualified"]] == ["sue"]
    assert [name for name, row in rows.items() if row["deleted"]] == ["tom"]
    assert all(row["status"] == "finished" and "free:" in row["leagues"] for row in rows.values())
    entries = {row["team"]: row for row in table("entries")}
    assert entries["quin"]["state"] == "standing" and entries["sue"]["state"] != "standing"


def test_a_zip_may_have_a_gibibyte() -> None:
    assert PlatformSettings.model_fields["upload_max_bytes"].default == ZipLimits().zip_bytes == 1 << 30


def test_the_packages_that_the_templates_name_are_installed() -> None:
    names = {pin.partition("==")[0].lower() for pin in PINS}
    assert {"torchvision", "timm", "scikit-learn", "pot"} <= names
