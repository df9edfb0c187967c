"""axe finds nothing serious on the main pages, at desktop and phone width, light and dark."""

from pathlib import Path

import pytest
from axe_selenium_python import Axe
from selenium import webdriver
from sqlalchemy import select

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.running.discussion.models import Thread
from tests.platform.web.conftest import LiveSite

PUBLIC = ("/", "/login", "/sign-up", "/reset", "/competitions", "/nowhere", "/design", "/api/docs", "/docs")
# axe-core as its authors publish it: the copy in axe-selenium-python is of 2018 and cannot read today's colours.
SCRIPT = Path(__file__).parent / "axe" / "axe.min.js"
SERIOUS = ("serious", "critical")


def private_pages(live: LiveSite) -> list[str]:
    base = f"/competitions/{live.scene.competition.slug}"
    with live.services.database.reading() as session:
        threads = session.scalars(select(Thread.id).order_by(Thread.id)).all()
        baseline = session.scalars(
            select(Submission.id)
            .where(Submission.kind == SubmissionKind.BASELINE, Submission.score.is_not(None))
            .order_by(Submission.number)
        ).first()
    ids = {name: one.id for name, one in live.scene.submissions.items()}
    return [
        "/",
        *(
            base + part
            for part in ("", "/join", "/phases/feedback", "/phases/feedback/submit", "/submissions")
        ),
        *(
            base + part
            for part in (
                "/leaderboard",
                "/discussion",
                "/discussion/new",
                *(f"/discussion/{thread}" for thread in threads),
                f"/teams/{live.scene.team.id}",
                "/data",
                "/team",
                "/announcements",
                "/leagues",
                "/results",
            )
        ),
        *(f"/submissions/{ids[name]}" for name in ("queued", "running", "failed", "lost", "finished")),
        "/submissions",
        f"/compare?id={ids['finished']}&id={ids['older']}",
        f"/compare?id={ids['finished']}&id={baseline}",
        *(f"/submissions/{ids['finished']}/{part}" for part in ("confusion", "code")),
        f"/users/{live.scene.ada.username}",
        "/notifications",
        *("/account" + part for part in ("", "/teams", "/tokens", "/notifications", "/security", "/delete")),
    ]


def set_screen(browser: webdriver.Chrome, width: int, scheme: str) -> None:
    """A screen of that width, a phone's if it is narrow, in light or dark colours."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 900,
            "screenWidth": width,
            "screenHeight": 900,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        },
    )


def look(browser: webdriver.Chrome, address: str) -> list[str]:
    """What axe finds wrong on a page, and whether the page is wider than the window."""
    browser.get(address)
    found = [f"{address}: {one}" for one in violations(browser)]
    width = browser.execute_script(
        "return [document.documentElement.scrollWidth, Math.min(innerWidth, screen.width)]"
    )
    if width[0] > width[1]:
        found.append(f"{address}: {width[0]} pixels wide in a window of {width[1]}")
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    return found + [f"{address}: {message}" for message in errors if "status of 404" not in message]


def violations(browser: webdriver.Chrome) -> list[str]:
    """What axe finds wrong on the page that is shown, of what is serious."""
    axe = Axe(browser, script_url=str(SCRIPT))
    axe.inject()
    results = axe.run({"exclude": [["dialog:not([open])"]]}, {"resultTypes": ["violations"]})
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} ({len(one['nodes'])} nodes)"
        for one in results["violations"]
        if one["impact"] in SERIOUS
    ]


@pytest.mark.slow("axe-core over every page for participants, in a browser")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe(live: LiveSite, browser: webdriver.Chrome, width: int, scheme: str) -> None:
    set_screen(browser, width, scheme)
    found = [fault for path in PUBLIC for fault in look(browser, live.address + path)]
    with live.services.database.writing() as session:
        session.get_one(Phase, live.scene.phase.id).show_confusion = True
    live.sign_in(browser, live.scene.ada)
    found += [fault for path in private_pages(live) for fault in look(browser, live.address + path)]
    assert not found, "\n".join(found)
