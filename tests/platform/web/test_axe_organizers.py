"""axe finds nothing serious on the organizers' and administrators' pages, at desktop and phone width."""

from pathlib import Path

import pytest
from selenium import webdriver
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_analysis.jobs import run as analyse
from anyshot_core.results import write_results
from anyshot_core.wire.reports import Difficulty, ReportSummary
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.people.users.models import User
from tests.platform.web.conftest import LiveSite
from tests.platform.web.scene import add_artifact, make_table
from tests.platform.web.test_axe import look, set_screen

MANAGE = (
    "",
    "/settings",
    "/pages",
    "/pages/new",
    "/phases",
    "/phases/new",
    "/phases/feedback",
    "/phases/feedback/deadline",
    "/phases/feedback/versions/1",
    "/leagues",
    "/baselines",
    "/people",
    "/submissions",
    "/submissions?status=failed&sort=-score",
    "/entries",
    "/final",
    "/reports",
    "/reports/new/flips",
    "/reports/new/representations",
    "/announcements",
    "/webhooks",
    "/exports",
    "/bundle-with-seeds",
    "/rehearsals",
    "/audit",
)
ADMIN = ("", "/users", "/competitions", "/workers", "/storage", "/webhooks", "/audit")


def add_reports(live: LiveSite, folder: Path) -> list[str]:
    """A finished report and one that waits; their ids."""
    for name, quality in (("Prototypes", 0.6), ("MetaDelta++", 0.58), ("Random", 0.1)):
        for number in range(3):
            table = make_table(quality, seed=number)
            meta = {"who": name, "run": str(number), "tasks": len(table)}
            write_results(folder / f"{name}-{number}.parquet", table, meta)
    inputs = {"results": sorted(folder.glob("*.parquet"))}
    summary = analyse("flips", inputs, {"replicates": 1000}, folder / "report")
    page = keep_file(live.services, folder / "report" / "page.html")
    with live.services.database.writing() as session:
        done = add_report(session, live, RunState.FINISHED)
        done.answer = ReportSummary.model_validate(summary)
        add_artifact(session, done.run, "page.html", page.digest, page.size).final = True
        waiting = add_report(session, live, RunState.QUEUED)
        mark_outbox(session)
        return [done.id, waiting.id]


def add_report(session: Session, live: LiveSite, state: RunState) -> Report:
    """A row for a report on the scene's phase."""
    phase = live.scene.phase
    values = {
        "competition_id": phase.competition_id,
        "phase_id": phase.id,
        "phase_version_id": live.scene.version.id,
    }
    run = Run(kind=RunKind.ANALYSE, state=state, **values)
    session.add(run)
    session.flush()
    asked = Difficulty(names={}, baselines=False)
    report = Report(analysis="difficulty", parameters=asked, digest="0" * 64, run_id=run.id, **values)
    session.add(report)
    session.flush()
    return report


def desk_paths(session: Session, live: LiveSite, reports: list[str]) -> list[str]:
    """The pages of the scene's organizers, those of all pools, and those of administrators."""
    base = f"/competitions/{live.scene.competition.slug}/manage"
    return [
        *(base + part for part in MANAGE),
        *(f"{base}/reports/{report}" for report in reports),
        "/organize",
        "/organize/pools",
        *(f"/organize/pools/{pool.slug}" for pool in session.scalars(select(Pool))),
        *("/admin" + part for part in ADMIN),
    ]


@pytest.mark.slow("axe-core over every page for organizers, in a browser")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_for_organizers(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path, width: int, scheme: str
) -> None:
    set_screen(browser, width, scheme)
    reports = add_reports(live, tmp_path)
    with live.services.database.writing() as session:
        session.get_one(User, live.scene.organizer.id).is_site_admin = True
        paths = desk_paths(session, live, reports)
    live.sign_in(browser, live.scene.organizer)
    found = [fault for path in paths for fault in look(browser, live.address + path)]
    assert not found, "\n".join(found)


# What of a page's tables a reader cannot reach or read: acts beyond the edge, addresses that are broken over lines.
OUT_OF_SIGHT = """
const right = Math.min(...[window.innerWidth, document.documentElement.clientWidth]);
const beyond = [...document.querySelectorAll("main tbody a, main tbody button, main tbody summary")].filter((one) => {
  const box = one.getBoundingClientRect();
  const card = one.closest(".card, .tablewrap, .table-wrap");
  const edge = card ? Math.min(right, card.getBoundingClientRect().right) : right;
  return box.width > 0 && (box.right > edge + 1 || box.left < -1);
}).map((one) => one.textContent.trim());
const broken = [...document.querySelectorAll("main table :is(td, th) *")].filter((one) => {
  if (one.children.length || !/^\\S+@\\S+$/.test(one.textContent.trim())) return false;
  const range = document.createRange();
  range.selectNodeContents(one);
  return range.getClientRects().length > 1;
}).map((one) => one.textContent.trim());
const now = document.querySelector(".sidenav [aria-current]");
const tab = now ? now.getBoundingClientRect() : { left: 0, right: 0 };
// A filter begins where its table begins: inside of the table's card or above it.
const indented = [...document.querySelectorAll("main .toolbar")].filter((one) => {
  const card = one.closest(".card") ?? one.parentElement.querySelector(".card");
  const first = [...one.querySelectorAll("label, input, select, button, a")].find((part) => part.offsetWidth > 0);
  const table = card?.querySelector("table th, table td");
  if (!first || !table) return false;
  const inside = one.closest(".card");
  const begins = inside ? table.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(table).paddingLeft) :
    card.getBoundingClientRect().left;
  return Math.abs(first.getBoundingClientRect().left - begins) > 4;
}).length;
// On a phone each row is a card without the table's head: a bare figure, moment or dash in it says what it is.
const unnamed = [...document.querySelectorAll("main .table--stack td:not([data-label])")].filter((one) =>
  getComputedStyle(one).display === "block" && /^(\\d|–)/.test(one.textContent.trim())).map((one) => one.textContent);
// Fields of one line of a form stand at one height.
const fields = [...document.querySelectorAll("main .field")].filter((one) => one.offsetWidth > 0);
const stepped = fields.filter((one) => {
  const next = one.nextElementSibling;
  if (!next?.matches(".field") || next.offsetWidth === 0) return false;
  const [here, there] = [one.getBoundingClientRect(), next.getBoundingClientRect()];
  const beside = there.left >= here.right && there.top < here.bottom && here.top < there.bottom;
  const [mine, others] = [one, next].map((it) => it.querySelector("input, select, textarea")?.getBoundingClientRect());
  return beside && mine && others && Math.abs(mine.top - others.top) > 4;
}).map((one) => one.textContent.trim().slice(0, 40));
// On a phone no table of theirs is pushed sideways.
const pushed = window.innerWidth > 500 ? [] : [...document.querySelectorAll("main .tablewrap")].filter(
  (one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label"));
const wide = document.documentElement.scrollWidth - right;
return { beyond, broken, indented, unnamed, pushed, stepped, wide, tab: tab.left >= 0 && tab.right <= right };
"""


@pytest.mark.slow("tables of organizers and administrators in a browser, at two widths")
@pytest.mark.parametrize("width", [1280, 390])
def test_acts_of_a_table_are_within_reach(live: LiveSite, browser: webdriver.Chrome, width: int) -> None:
    """The review: "Approve" was cut off at the edge of a desk, hidden beyond it on a phone; e-mails took four lines."""
    with live.services.database.writing() as session:
        session.get_one(User, live.scene.organizer.id).is_site_admin = True
        member = session.scalars(select(Membership).where(Membership.user_id == live.scene.bob.id)).one()
        member.status = MemberStatus.PENDING
    set_screen(browser, width, "light")
    live.sign_in(browser, live.scene.organizer)
    base = f"/competitions/{live.scene.competition.slug}/manage"
    tables = ("", "/people", "/submissions", "/entries", "/leagues", "/baselines", "/final", "/audit")
    paths = [base + table for table in tables] + ["/admin" + part for part in ADMIN]
    paths += [
        f"{base}/reports",
        f"{base}/reports/new/flips",
        f"{base}/exports",
        f"{base}/phases/feedback",
        "/organize/pools",
        "/admin/budgets",
    ]
    odd = {}
    for path in paths:
        browser.get(live.address + path)
        found = browser.execute_script(OUT_OF_SIGHT)
        wrong = (found[name] for name in ("beyond", "broken", "indented", "unnamed", "pushed", "stepped"))
        if any(wrong) or not found["tab"] or found["wide"] > 0:
            odd[path] = found
    assert not odd, odd


@pytest.mark.slow("what is folded in tables of organizers and administrators in a browser, at two widths")
@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_folded_in_a_table_is_within_reach_when_it_is_opened(
    live: LiveSite, browser: webdriver.Chrome, width: int
) -> None:
    """The forms of *Change NAME*, and decided entries, were looked at closed alone."""
    with live.services.database.writing() as session:
        session.get_one(User, live.scene.organizer.id).is_site_admin = True
        entry = session.scalars(select(LeagueEntry).limit(1)).one()
        session.get_one(League, entry.league_id).admission = Admission.FROM_SCRATCH
        entry.decided_by, entry.decided_at = live.scene.organizer.id, now()
    set_screen(browser, width, "light")
    live.sign_in(browser, live.scene.organizer)
    base = f"/competitions/{live.scene.competition.slug}/manage"
    odd, opened = {}, []
    for path in (f"{base}/people", f"{base}/leagues", "/admin/users"):
        browser.get(live.address + path)
        browser.execute_script("for (const one of document.querySelectorAll('main details')) one.open = true")
        opened += browser.execute_script(OPENED)
        found = browser.execute_script(OUT_OF_SIGHT)
        if any(found[name] for name in ("beyond", "broken", "pushed")) or found["wide"] > 0:
            odd[path] = found
    assert not odd, odd
    assert any(one.startswith("Change ") for one in opened) and any(
        one.startswith("Decided already: ") for one in opened
    )
    cut = [one for one in opened if one.startswith("!")]
    assert not cut, cut


# The summaries of what is open in tables and forms, and, with an exclamation mark, each control that is cut off.
OPENED = """
const right = document.documentElement.clientWidth;
const seen = [...document.querySelectorAll("main details > summary")].map((one) => one.textContent.trim());
const parts = document.querySelectorAll("main details :is(input, select, textarea, button)");
const cut = [...parts].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width > 0 && (box.left < -1 || box.right > right + 1);
}).map((one) => "!" + (one.name || one.textContent.trim()));
return [...seen, ...cut];
"""
