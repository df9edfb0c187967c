"""What forms send in a real browser: of a phase what was changed; and the log holds no more than was changed."""

from datetime import UTC, datetime

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from sqlalchemy import select

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.actions.organizing import change_phase
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.running.announcements.models import Announcement
from tests.platform.web.conftest import LiveSite
from tests.services.browsing import fill, press, text_of, until

SENT = """
const form = [...document.forms].find((form) => form.action.endsWith(arguments[0]) && form.elements.seen);
const known = new Set(["csrf_token", "seen", "unchanged", "page_id", "league", "phase_id"]);
return [...new FormData(form)].filter(([name, value]) => !known.has(name) && !(value instanceof File));
"""


def manage(live: LiveSite, rest: str = "") -> str:
    return f"/competitions/{live.scene.competition.slug}/manage{rest}"


def last_change(live: LiveSite, action: str) -> dict[str, object]:
    with live.services.database.reading() as session:
        query = select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id.desc())
        return dict(session.scalars(query.limit(1)).one().after)


def changes_logged(live: LiveSite) -> int:
    with live.services.database.reading() as session:
        return len(session.scalars(select(AuditEntry.id).where(AuditEntry.after != {})).all())


@pytest.mark.seconds("every form in a browser")
def test_a_form_that_is_saved_as_it_was_opened_changes_nothing(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    with live.services.database.writing() as session:
        here, by = live.scene.competition.id, live.scene.organizer.id
        made = Announcement(competition_id=here, title="The end", body="On Monday.", created_by=by)
        session.add(made)
        competition = session.get_one(Competition, here)
        competition.opens_at = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
        competition.fact_sheet = [{"key": "method", "label": "Which method?", "required": True}]
        league = session.get_one(League, live.scene.leagues["free-style"].id)
        league.opens_at = competition.opens_at
        league.columns = [{"metric": "macro_f1", "title": "F1", "decimals": 2}]
        league.awards = [400.5, 250]
        league.questions = [
            {"key": "cv", "label": "Your page", "answer": "link", "required": False, "shown_to": "team"}
        ]
        session.flush()
        one, page = made.id, competition.pages[0].id
    live.sign_in(browser, live.scene.organizer)
    before = changes_logged(live)
    phase = f"/phases/{live.scene.phase.slug}"
    save = """
const form = [...document.forms].find((form) => form.action.endsWith(arguments[0]) && form.elements.seen);
form.requestSubmit([...form.elements].findLast((one) => one.type === "submit" && one.name !== "act"));
"""
    for place, action, said in (
        ("/settings", "/settings", "Saved."),
        (f"/pages/{page}", "/pages", "The page is saved."),
        (phase, phase, "Saved."),
        ("/leagues", "/leagues", "The league is saved."),
        (f"/announcements/{one}", f"/announcements/{one}", "The announcement is saved."),
        ("/people", "quota", "The team's quota is changed."),
        ("/people", "note", "The note is kept."),
    ):
        browser.get(live.address + manage(live, place))
        browser.execute_script(save, action)
        until(browser, lambda b, said=said: said in text_of(b))
        assert changes_logged(live) == before, place


@pytest.mark.seconds("every form in a browser")
def test_what_a_participant_left_alone_stays(live: LiveSite, browser: webdriver.Chrome) -> None:
    with live.services.database.writing() as session:
        competition = session.get_one(Competition, live.scene.competition.id)
        competition.fact_sheet = [
            {"key": "method", "label": "Which method?", "required": True},
            {"key": "code", "label": "Whose code?"},
        ]
    live.sign_in(browser, live.scene.ada)
    browser.get(f"{live.address}/account")
    fill(browser, affiliation="There")
    zone = browser.find_element(By.NAME, "time_zone")
    browser.execute_script("arguments[0].value = 'Nowhere/At all'", zone)
    press(browser, "Save")
    until(browser, lambda b: "needs your attention" in text_of(b))
    zone = browser.find_element(By.NAME, "time_zone")
    browser.execute_script("arguments[0].value = 'Europe/Paris'", zone)
    press(browser, "Save")
    until(browser, lambda b: "Your profile is saved." in text_of(b))
    assert browser.find_element(By.NAME, "affiliation").get_attribute("value") == "There"
    sheet = f"{live.address}/competitions/{live.scene.competition.slug}/fact-sheet"
    browser.get(sheet)
    browser.find_element(By.NAME, "public").click()
    fill(browser, fact_code="Ours")
    press(browser, "Submit it")
    until(browser, lambda b: "Please answer on the fact sheet" in text_of(b))
    assert browser.find_element(By.NAME, "public").is_selected(), "the tick is shown again"
    fill(browser, fact_method="MAML")
    press(browser, "Submit it")
    until(browser, lambda b: "The fact sheet is submitted." in text_of(b))
    assert browser.find_element(By.NAME, "fact_code").get_attribute("value") == "Ours"
    assert browser.find_element(By.NAME, "public").is_selected()
    fill(browser, fact_method="")
    press(browser, "Save the draft")
    until(browser, lambda b: "The draft is saved" in text_of(b))
    assert browser.find_element(By.NAME, "public").is_selected(), "left alone, it stays"
    assert browser.find_element(By.NAME, "fact_code").get_attribute("value") == "Ours"


def test_two_organizers_in_two_browsers_change_two_fields(live: LiveSite, browser: webdriver.Chrome) -> None:
    """What the other changed is neither sent nor written, and the log names what was."""
    live.sign_in(browser, live.scene.organizer)
    here = manage(live, f"/phases/{live.scene.phase.slug}")
    browser.get(live.address + here)
    with live.services.database.writing() as session:
        phase = session.get_one(Phase, live.scene.phase.id)
        spec = describe_phase(session, phase, "")
        quota = spec.quota.model_copy(update={"per_day": 7})
        change_phase(session, phase, spec.model_copy(update={"quota": quota}), live.scene.admin.id)
    browser.find_element(By.CSS_SELECTOR, "#card- > summary").click()
    fill(browser, title="Another name")
    assert browser.execute_script(SENT, here) == [["title", "Another name"]]
    press(browser, "Save")
    until(browser, lambda b: "Saved." in text_of(b))
    assert last_change(live, "phase.change") == {"title": "Another name"}
    with live.services.database.reading() as session:
        phase = session.get_one(Phase, live.scene.phase.id)
        assert (phase.name, describe_phase(session, phase, "").quota.per_day) == ("Another name", 7)


def test_fields_that_mean_something_together_are_sent_together(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    """A moment is one in a zone, and a protocol's settings are of a protocol."""
    live.sign_in(browser, live.scene.organizer)
    here = manage(live, f"/phases/{live.scene.phase.slug}")
    browser.get(live.address + here)
    zone = browser.find_element(By.NAME, "timezone")
    browser.execute_script("arguments[0].value = 'Asia/Tokyo'", zone)
    assert {name for name, _ in browser.execute_script(SENT, here)} == {
        "timezone",
        "start",
        "end",
        "late_until",
    }
    browser.get(live.address + here)
    field = browser.find_element(By.CSS_SELECTOR, "#tasks\\.protocol select")
    chosen = Select(field).first_selected_option.get_attribute("value")
    other = next(o.get_attribute("value") for o in Select(field).options if not o.is_selected())
    assert chosen != other
    browser.execute_script("arguments[0].value = arguments[1]", field, other)
    names = {name for name, _ in browser.execute_script(SENT, here)}
    assert names and all(name.startswith("tasks.protocol.") for name in names)


def test_a_protocol_that_is_proposed_is_saved_though_nobody_touched_it(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    """A phase of an imported bundle has none: its page shows the standard one, and *Save* saved nothing of it."""
    with live.services.database.writing() as session:
        version = session.get_one(PhaseVersion, live.scene.version.id)
        version.protocol = {}
    live.sign_in(browser, live.scene.organizer)
    here = manage(live, f"/phases/{live.scene.phase.slug}")
    browser.get(live.address + here)
    sent = dict(browser.execute_script(SENT, here))
    assert sent["tasks.protocol.name"] == "any_way_any_shot"
    assert all(name.startswith("tasks.protocol.") for name in sent)


def test_a_form_that_was_refused_sends_again_what_was_changed_before(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.organizer)
    with live.services.database.reading() as session:
        page = session.get_one(Competition, live.scene.competition.id).pages[0]
        here, was = manage(live, f"/pages/{page.id}"), page.body
    browser.get(live.address + here)
    fill(browser, title="All rules", body="Up to {{ quota.perday }}.")
    press(browser, "Save the page")
    until(browser, lambda b: "Did you mean {{ quota.per_day }}?" in text_of(b))
    assert browser.find_element(By.NAME, "title").get_attribute("value") == "All rules"
    fill(browser, body="Up to {{ quota.per_day }}.")
    press(browser, "Save the page")
    until(browser, lambda b: "The page is saved." in text_of(b))
    with live.services.database.reading() as session:
        page = session.get_one(Competition, live.scene.competition.id).pages[0]
        assert (page.title, page.body) == ("All rules", "Up to {{ quota.per_day }}.") != ("All rules", was)


def test_a_tick_that_was_not_touched_stays_when_the_form_is_refused(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    with live.services.database.writing() as session:
        session.get_one(Competition, live.scene.competition.id).discussion_open = True
    live.sign_in(browser, live.scene.organizer)
    browser.get(live.address + manage(live, "/settings"))
    fill(browser, email_domains="no domain")
    press(browser, "Save the settings")
    until(browser, lambda b: "One thing needs your attention" in text_of(b))
    assert browser.find_element(By.NAME, "discussion_open").is_selected()
    fill(browser, email_domains="a.example")
    press(browser, "Save the settings")
    until(browser, lambda b: "Saved." in text_of(b))
    assert list(last_change(live, "competition.change")) == ["email_domains"]
