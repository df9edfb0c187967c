"""Pages and mails are in the language of who reads them; programs read English."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from anyshot_core.wire.advice import NO_NETWORK
from anyshot_core.wire.verdicts import Cause
from anyshot_core.wire.worker_api import Usage
from anyshot_core.words import told
from anyshot_platform.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.database import now
from anyshot_platform.entries.service import stand
from anyshot_platform.evaluations.points import list_points
from anyshot_platform.judging.kinds import FURTHER
from anyshot_platform.kernel.filters import count, duration, score, size, when
from anyshot_platform.kernel.kept import from_json, to_json
from anyshot_platform.kernel.language import (
    FOLDER,
    Amount,
    Reader,
    all_said_here,
    asked_for,
    begun,
    name_of,
    read_by,
    said_in,
    say,
    say_count,
    together,
    told_words,
)
from anyshot_platform.kernel.retold import retold
from anyshot_platform.notifications.models import Email
from anyshot_platform.notifications.service import notify
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.ranking import rule_words
from anyshot_platform.phases.states import PhaseStatus, VersionState
from anyshot_platform.phases.status_words import STATUS_WORDS
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_platform.web.language import LANGUAGE_COOKIE
from anyshot_scoring.rules import RULES
from tests.architecture.catalogue import catalogue
from tests.architecture.structure import ROOT, sources
from tests.contract.recording import part_failure
from tests.platform.site import make_zip
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene, add_submission, finish, keep_table, make_table
from tests.platform.web.test_axe_organizers import ADMIN, MANAGE

FRENCH = {"accept": "text/html", "accept-language": "fr-CH, en;q=0.5"}


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("fr", "fr"),
        ("FR-ca,en;q=0.9", "fr"),
        ("en-GB,fr;q=0.9", "en"),
        ("de, fr;q=0.3, en;q=0.2", "fr"),
        ("fr;q=0, en", "en"),
        ("de", None),
        ("", None),
        ("*;q=x, \x00", None),
    ],
)
def test_a_browser_asks_for_a_language(header: str, language: str | None) -> None:
    assert asked_for(header, ("en", "fr")) == language


def test_values_are_written_as_the_reader_writes_them() -> None:
    assert (
        str(count(3000, "task")) == "3,000 tasks"
        and said_in(count(3000, "task"), "fr") == "3\u202f000 tâches"
    )
    assert str(count(0.5, "core")) == "0.5 cores" and said_in(count(1.5, "core"), "fr") == "1,5 cœur"
    assert said_in(count(0, "task"), "fr") == "0 tâche"  # French: none is singular
    assert said_in(duration(0.4), "fr") == "0,4 s" and said_in(duration(90000), "fr") == "1 j 1 h"
    assert said_in(size(1 << 20), "fr") == "1,0 Mio"
    with read_by(Reader("fr")):
        assert "1 juil. 2026, 12:00 UTC" in when(datetime(2026, 7, 1, 12, 0))
        assert score(0.3121) == "0.312"  # as in files, papers and the API
    assert "1 Jul 2026, 12:00 UTC" in when(datetime(2026, 7, 1, 12, 0))


def test_a_sentence_is_english_for_programs_and_french_in_a_page() -> None:
    sentence = say("%(number)s %(unit)s", number=2, unit=say("KiB"))
    with read_by(Reader("fr")):
        assert f"{sentence}" == "2 KiB" and sentence.__html__() == "2 Kio"


def test_a_sentence_begins_with_a_capital_in_every_language() -> None:
    words = begun(say("attempt %(number)s", number=2))
    assert words == "Attempt 2" and said_in(words, "fr") == "Tentative 2"


def test_a_sentence_that_was_kept_is_said_in_french_again() -> None:
    kept = {
        "counted": [say_count(3, "%(num)s file for the pages", "%(num)s files for the pages")],
        "joined": together(
            ("x.md", say("%(path)s is a folder, not a page", path=say("the logo"))), by=say(": ")
        ),
        "begun": begun(say("the logo")),
        "core": retold("part must be one of a, b; found 'c'."),
        "number": Amount(1234.5, 1),
        "text": "as it was kept before",
    }
    again = from_json(json.loads(json.dumps(to_json(kept))))
    assert again == kept
    assert all_said_here(again) == all_said_here(kept)
    with read_by(Reader("fr")):
        french = all_said_here(again)
    assert french == {
        "counted": ["3 fichiers pour les pages"],
        "joined": "x.md : le logo est un dossier, pas une page",
        "begun": "Le logo",
        "core": "part doit être l'un de a, b ; trouvé : 'c'.",
        "number": "1 234,5".replace(" ", "\u202f"),
        "text": "as it was kept before",
    }


def test_rules_of_ranking_are_told_in_french() -> None:
    many, one = rule_words(RULES["worst_run"], 3), rule_words(RULES["worst_run"], 1)
    assert many == RULES["worst_run"].words(3) and one == RULES["worst_run"].words(1)
    assert "le plus bas des 3 exécutions compte" in said_in(many, "fr")


def test_a_site_offers_languages_that_there_are() -> None:
    assert (name_of("en"), name_of("fr")) == ("English", "Français")
    with pytest.raises(ValidationError, match="xx; there are: en, fr"):
        PlatformSettings(languages="en,xx", secret_key="x" * 40)  # pyright: ignore[reportArgumentType]


def test_the_account_goes_before_the_cookie_and_the_cookie_before_the_browser(
    visitor: Visitor, scene: Scene
) -> None:
    page = visitor.client.get("/", headers=FRENCH)
    assert '<html lang="fr">' in page.text
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in page.headers["vary"].split(",")}
    visitor.client.cookies.set(LANGUAGE_COOKIE, "en")
    assert '<html lang="en">' in visitor.client.get("/", headers=FRENCH).text
    visitor.sign_in(scene.ada)
    assert '<html lang="en">' in visitor.see("/")
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
    assert '<html lang="fr">' in visitor.see("/")


def test_the_menu_at_the_foot_changes_browser_and_account(visitor: Visitor, scene: Scene) -> None:
    assert '<html lang="en">' in visitor.see("/competitions")
    answer = visitor.send("/competitions", "/language", language="fr", next="/competitions?state=open")
    assert answer.headers["location"] == "/competitions?state=open"
    assert '<html lang="fr">' in visitor.see("/competitions")
    visitor.sign_in(scene.bob)
    visitor.send("/account", "/language", language="fr", next="//elsewhere.example")
    visitor.client.cookies.delete(LANGUAGE_COOKIE)
    assert '<html lang="fr">' in visitor.see("/account")
    visitor.send("/account", "/language", status=422, language="xx")


def test_programs_read_english(visitor: Visitor) -> None:
    answer = visitor.client.get("/api/v1/competitions/none", headers={"accept-language": "fr"})
    assert "competition" in answer.json()["message"].lower() and "vary" not in answer.headers


def test_a_mail_is_in_the_language_of_its_reader(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        for person in (scene.ada, scene.bob):
            session.get_one(User, person.id).email_verified_at = datetime.now(UTC)
        session.get_one(User, scene.ada.id).language = "fr"
        title = say("Submission %(name)s is scored", name="7 (a.zip)")
        notify(session, [scene.ada.id, scene.bob.id], kind="submission.finished", title=title, url="/x")
    with visitor.services.database.reading() as session:
        mails = {mail.to: mail for mail in session.scalars(select(Email))}
    french, english = mails["ada@example.org"], mails["bob@example.org"]
    assert french.subject == "La soumission 7 (a.zip) a un score" and french.body.startswith("Bonjour ")
    assert "Choisissez les e-mails" in french.body
    assert english.subject == "Submission 7 (a.zip) is scored" and english.body.startswith("Hello ")


@pytest.mark.parametrize("states", [VersionState, PhaseStatus, CompetitionState, MemberStatus, Role, Cause])
def test_each_state_that_a_page_shows_has_a_word(states: type[StrEnum]) -> None:
    assert [state.value for state in states if state.value not in STATUS_WORDS] == []


def test_who_signs_up_in_french_goes_on_in_french(visitor: Visitor) -> None:
    visitor.client.headers["accept-language"] = "fr"
    page = visitor.see("/sign-up")
    assert "Créer un compte" in page and "Create an account" not in page
    refused = visitor.send(
        "/sign-up", "/sign-up", status=422, username="x", email="x@example.org", password="a"
    )
    assert "Un nom d&#39;utilisateur compte de 3 à 32 caractères" in refused.text
    visitor.send(
        "/sign-up", "/sign-up", username="chloe", email="chloe@example.org", password="trois petits renards"
    )
    del visitor.client.headers["accept-language"]
    assert "Bonjour, chloe" in visitor.see("/")
    assert "Il n&#39;y a pas de page à cette adresse" in visitor.see("/nowhere", status=404)


def test_board_and_submission_are_read_in_french(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
    visitor.sign_in(scene.ada)
    board = " ".join(visitor.see(f"/competitions/{scene.competition.slug}/leaderboard").split())
    assert "Votre équipe est au rang 4 sur 8." in board and "La ligne au-dessus" in board
    failed = visitor.see(f"/submissions/{scene.submissions['failed'].id}")
    assert "Votre code a levé une erreur." in failed and "Échouée." in failed and "Failed." not in failed
    upload = visitor.see(f"/competitions/{scene.competition.slug}/phases/{scene.phase.slug}/submit")
    assert "Soumettre pour un score" in upload


def test_further_evaluations_are_read_in_french(visitor: Visitor, scene: Scene) -> None:
    """Titles, points and failures; names of an organizer's own, and what programs read, stay as they are."""
    submission = scene.submissions["finished"].id
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
        phase = session.get_one(Phase, scene.phase.id)
        phase.evaluations = "shots numbers=1,2,3 tasks=4\nshots key=one-shot tasks=4\ndomains tasks=4"
        source = session.scalars(select(Run).where(Run.submission_id == submission)).one()
        score = session.scalars(select(RunScore).where(RunScore.run_id == source.id)).one()
        points = list_points(session, phase.live)
        for test in FURTHER.plan_tests(session, session.get_one(Submission, submission), source, points):
            test.run.state, test.summary, test.scored_at = RunState.FINISHED, score.summary, now()
            if test.place == 1:
                test.summary, test.failure = None, part_failure(1)
            session.add(test)
    visitor.sign_in(scene.ada)
    for path in (f"/submissions/{submission}", f"/competitions/{scene.competition.slug}/leaderboard"):
        page = " ".join(html.unescape(visitor.see(path)).split())
        for words in ("Nombre d'exemples par classe", "Domaine par domaine", "Domaine 1", "Testé sur"):
            assert words in page, (path, words)
        assert "Nombre d'exemples par classe (one-shot)" in page and "1 exemple par classe" in page
        assert '"exemples par classe"' in page and ">échouée<" in page
        assert not [words for words in ("2 shots", "Domain 1", ">failed<", "Number of") if words in page], (
            path
        )
        if path.startswith("/submissions"):
            assert "Nombre d'exemples par classe : 2 exemples par classe" in page
            assert "Votre code a levé une erreur." in page
        else:
            assert "Nombre d'exemples par classe (one-shot) : 1 exemple par classe" in page
    told = visitor.client.get(f"/api/v1/submissions/{submission}/evaluations").json()
    assert [(one["title"], one["label"], one["message"]) for one in told[1:4]] == [
        ("Number of shots", "2 shots", "failed"),
        ("Number of shots", "3 shots", ""),
        ("Number of shots (one-shot)", "1 shot", ""),
    ]


def test_each_step_of_a_run_has_a_name_in_the_language_of_its_reader(visitor: Visitor, scene: Scene) -> None:
    """Steps that workers and task server time; one that a later worker may add is counted, not shown by its key."""
    timed = re.compile(r'(?:attempt\.step|self\.step|ledger\.platform|talk\.own|talk\.pieces)\("(\w+)"')
    keys = {key for path in sources("core", "worker") for key in timed.findall(path.read_text())}
    assert {"draw", "evidence", "unpack", "learner", "upload"} <= keys
    words = str(Usage.model_fields["platform_seconds"].description)
    assert set(words.removeprefix("by step: ").partition(";")[0].split(", ")) == keys
    submission = scene.submissions["finished"].id
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
        run = session.scalars(select(Run).where(Run.submission_id == submission)).first()
        assert run is not None and run.usage is not None
        took = dict.fromkeys([*keys, "of_a_later_worker"], 70.0)
        run.usage = run.usage.model_copy(update={"platform_seconds": took})
    visitor.sign_in(scene.ada)
    table = re.findall(
        r'<th scope="row">([^<]*)</th><td><progress', visitor.see(f"/submissions/{submission}")
    )
    labels = [html.unescape(label) for label in table]
    english = {str(one.id) for one in catalogue(FOLDER / "fr.po")}
    assert len(set(labels)) == len(labels) == len(keys) + 4 and not set(labels) & english, labels
    assert {"Tirage des tâches", "Autres tâches de la plateforme"} <= set(labels)
    assert not {key.replace("_", " ").capitalize() for key in (*keys, "of_a_later_worker")} & set(labels)


@pytest.mark.slow("all pages of organizers and administrators")
def test_pages_of_organizers_and_administrators_are_read_in_french(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        for person in (scene.organizer, scene.admin):
            session.get_one(User, person.id).language = "fr"
    said = {str(one.id): str(one.string) for one in catalogue(FOLDER / "fr.po") if isinstance(one.id, str)}
    english = {text for text, french in said.items() if french != text and " " in text and "%(" not in text}
    english -= {"no limit"}  # a value that organizers put into their texts
    left: dict[str, list[str]] = {}
    manage = f"/competitions/{scene.competition.slug}/manage"
    for person, pages in (
        (
            scene.organizer,
            [
                *(manage + part for part in MANAGE),
                "/organize",
                "/organize/pools",
            ],
        ),
        (scene.admin, ["/admin" + part for part in ADMIN]),
    ):
        visitor.sign_in(person)
        for path in pages:
            page = visitor.see(path)
            texts = {" ".join(html.unescape(text).split()) for text in re.findall(r">([^<>]+)<", page)}
            if found := sorted(texts & english):
                left[path] = found
            assert '<html lang="fr">' in page
    assert not left, left


def test_an_act_is_asked_done_and_undone_in_french_and_over_json_in_english(
    visitor: Visitor, scene: Scene
) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.organizer.id).language = "fr"
    visitor.sign_in(scene.organizer)
    phase = f"/competitions/{scene.competition.slug}/manage/phases/feedback"
    assert "Geler le classement" in visitor.see(phase)
    visitor.send(phase, f"{phase}/pause")
    assert "Feedback phase est suspendue." in html.unescape(visitor.see(phase))
    asked = visitor.send(phase, f"{phase}/delete", status=200)
    words = " ".join(html.unescape(asked.text).split())
    assert "Supprimer “Feedback phase” ?" in words and "sont cachés à tous." in words
    assert "Rétablissez-la : rien n'est perdu." in words and "Restore it" not in words
    answer = visitor.client.post(
        f"/api/v1{phase}/acts/delete", headers={"x-csrf-token": _token(visitor, phase)}, json={}
    )
    assert answer.status_code == 409 and "Override it by name" in answer.json()["message"]
    assert answer.json()["preview"]["undo"] == "Restore it: nothing is lost."


def test_verdicts_of_a_comparison_are_in_french(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
        third, run = add_submission(session, scene, RunState.FINISHED, number=7, comment="third")
        table = make_table(0.461, 8)
        finish(session, replace(scene, storage=None), third, run, table)
        keep_table(session, visitor.services.storage, run, table)
    visitor.sign_in(scene.ada)
    ids = [scene.submissions["finished"].id, scene.submissions["older"].id, third.id]
    shown = [visitor.see("/compare?" + "&".join(f"id={one}" for one in ids[:most])) for most in (2, 3)]
    said = [{word for word in _VERDICTS if f">{word}<" in html.unescape(page)} for page in shown]
    assert said[0] == {"la première est meilleure"}
    assert {"meilleure", "moins bonne"} <= said[1] <= set(_VERDICTS[:6])


_VERDICTS = (
    *(
        "la première est meilleure",
        "la seconde est meilleure",
        "meilleure",
        "moins bonne",
        "égale",
        "indécis",
    ),
    *("the first is better", "the second is better", "better", "worse", "equal", "cannot be told"),
    *("different", "equivalent", "undecided"),
)


def test_each_heading_of_a_stacked_cell_is_translated() -> None:
    """On a narrow screen it stands in front of the cell, where the head of the table is not shown."""
    templates = list((ROOT / "platform/anyshot_platform/templates").rglob("*.html"))
    english = [
        (path.name, label)
        for path in templates
        for label in re.findall(r'data-label="(?!{)([^"]*[A-Za-z][^"]*)"', path.read_text())
    ]
    assert len(templates) > 100 and english == []


def test_documentation_says_that_it_is_english(visitor: Visitor) -> None:
    visitor.client.headers["accept-language"] = "fr"
    page = visitor.see("/docs")
    assert '<html lang="fr">' in page and 'class="prose prose--docs" lang="en"' in page


def test_who_reads_french_joins_and_submits_in_french(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.visitor.id).language = "fr"
    visitor.sign_in(scene.visitor)
    base = f"/competitions/{scene.competition.slug}"
    join = f"{base}/join"
    assert "Rejoindre" in visitor.see(join)
    visitor.send(join, join, accept="1", terms_version="2", team_name="Voilà")
    assert "Premiers pas" in visitor.see(base)
    submit = f"{base}/phases/feedback/submit"
    refused = visitor.client.post(submit, **_zip_of(visitor, submit, b"no zip"))
    assert "La soumission a été refusée" in refused.text and "The submission was refused" not in refused.text
    words = html.unescape(refused.text)
    assert "Le fichier n'est pas une archive zip" in words and "L'archive peut être décompressée" in words
    assert "Créez-en une avec" in words and "not a zip" not in words
    answer = visitor.client.post(submit, **_zip_of(visitor, submit, make_zip()), follow_redirects=False)
    assert answer.status_code == 303, answer.text
    page = visitor.see(answer.headers["location"])
    assert "En file d" in page and "Queued" not in page


@pytest.mark.parametrize("sentence", sorted(told_words("fr")))
def test_what_core_says_is_found_again_in_its_text(sentence: str) -> None:
    """Whatever stands at its placeholders, and as one of the two sentences of a refusal."""
    values = {name: f"'a {name}; 1.5.'" for name in re.findall(r"%\((\w+)\)s", sentence)}
    french = told_words("fr")[sentence] % values if values else told_words("fr")[sentence]
    english = told(sentence, **values)
    assert said_in(retold(english), "fr") == french and str(retold(english)) == english
    if english.endswith("."):
        assert said_in(retold(f"{english} Rename the file."), "fr") == f"{french} Renommez le fichier."


def test_a_text_of_core_that_no_sentence_has_the_form_of_stays() -> None:
    lines = "config.json is nested too deeply.\nwhat an older kit said"
    assert said_in(retold(lines), "fr") == "config.json est trop imbriqué.\nwhat an older kit said"
    assert said_in(retold("x" * 100_000), "fr") == "x" * 100_000


def test_what_to_do_about_an_error_of_code_is_translated_and_the_error_stays() -> None:
    said = said_in(retold(f"URLError in fit (model.py, line 3.5). {NO_NETWORK}"), "fr")
    assert said.startswith("URLError in fit (model.py, line 3.5). Il n'y a pas de réseau là où"), said


def test_values_that_are_words_are_translated_in_their_sentence() -> None:
    found = told("The zip is damaged: %(what)s.", what=told("it is cut off at the end"))
    assert said_in(retold(found), "fr") == "Le zip est endommagé : il est coupé à la fin."


def test_checks_that_a_page_shows_are_in_its_language_and_those_for_programs_in_english(
    visitor: Visitor, scene: Scene
) -> None:
    visitor.sign_in(scene.ada)
    visitor.client.cookies.set(LANGUAGE_COOKIE, "fr")
    submit = f"/competitions/{scene.competition.slug}/phases/{scene.phase.slug}/submit"
    headers = {"x-csrf-token": _token(visitor, submit), "accept": "application/json"}
    upload = f"/api/v1/uploads/{_uploaded(visitor, headers, b'no zip, at least no more than twenty-two')}"
    english = visitor.client.post(f"{upload}/check", headers=headers).json()["checks"]
    shown = visitor.client.post(f"{upload}/check", headers={**headers, "x-shown-to-people": "1"}).json()
    assert english[0]["found"] == "The file is not a zip archive, whatever its name says."
    assert shown["checks"][0]["found"] == "Le fichier n'est pas une archive zip, quoi que dise son nom."
    missing = visitor.client.get("/api/v1/uploads/" + "0" * 32, headers={**headers, "x-shown-to-people": "1"})
    assert (
        missing.json()["message"]
        not in visitor.client.get("/api/v1/uploads/" + "0" * 32, headers=headers).text
    )


def _uploaded(visitor: Visitor, headers: dict[str, str], content: bytes) -> str:
    begun = visitor.client.post(
        "/api/v1/uploads", headers=headers, json={"filename": "a.zip", "size": len(content)}
    ).json()
    visitor.client.put(f"/api/v1/uploads/{begun['id']}?offset=0", headers=headers, content=content)
    return begun["id"]


def _zip_of(visitor: Visitor, page: str, content: bytes) -> dict[str, Any]:
    return {
        "data": {
            "csrf_token": _token(visitor, page),
            "kind": "entry",
            "league": "free-style",
            "leagues_shown": "1",
        },
        "files": {"file": ("a.zip", content, "application/zip")},
        "headers": {"accept": "text/html"},
    }


def _token(visitor: Visitor, page: str) -> str:
    found = re.search(r'name="csrf-token" content="([^"]+)"', visitor.see(page))
    assert found is not None
    return found[1]


def test_french_has_a_space_before_its_colons_and_semicolons(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(User, scene.ada.id).language = "fr"
        version = session.get_one(PhaseVersion, scene.version.id)
        stand(session, session.get_one(Phase, scene.phase.id), version, session.get_one(Team, scene.team.id))
    visitor.sign_in(scene.ada)
    page = html.unescape(visitor.see(f"/submissions/{scene.submissions['finished'].id}"))
    words = re.sub(r"<(script|style|pre)\b.*?</\1>|<[^>]+>", "", page, flags=re.DOTALL)
    assert "Free-style\u00a0:" in words and "Free-style:" not in words
    joined = together(("a", "b"), by=say("; "))
    assert (joined, said_in(joined, "fr")) == ("a; b", "a\u00a0; b")
