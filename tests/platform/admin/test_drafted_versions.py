"""What a draft of a version takes with it: settings that decide no scores are saved at once, and other keys too."""

import html
from datetime import timedelta
from typing import Any

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from tests.platform.admin.test_manage import BASE, flash, page, phase_form, post
from tests.platform.admin.test_organizer_api import ask
from tests.platform.site import SLUG, Site, make_zip

FEEDBACK = f"{BASE}/phases/feedback"


def settings_of(site: Site) -> dict[str, Any]:
    return ask(site.owner(), "GET", "/phases/feedback")["settings"]


def drafts(site: Site) -> int:
    with site.services.database.reading() as session:
        return session.query(PhaseVersion).filter_by(phase_id=site.phase_id).count()


def test_the_button_saves_what_the_version_does_not_hold_and_says_so(site: Site) -> None:
    """The page said “Press Draft a new version below”, and the quota that was changed with the rule stayed 3."""
    owner = site.owner()
    assert post(owner, FEEDBACK, **phase_form()).status_code == 303
    site.member("pia").submit()
    both = phase_form(
        **{"scoring.ranking": "mean_run", "quota.per_day": "5", "shown.scores": "", "end": "2080-01-01T00:00"}
    )
    refused = " ".join(html.unescape(post(owner, FEEDBACK, **both).text).split())
    assert "Press “Draft a new version” below" in refused
    assert settings_of(site)["quota"]["per_day"] == 3
    drafted = post(owner, FEEDBACK, act="version", **both)
    assert drafted.headers["location"].partition("?")[0] == f"{FEEDBACK}/versions/2"
    assert flash(drafted) == (
        "Version 2 is drafted. What decides no scores does not wait for it and is saved: "
        "Ends, Quotas > A day, What participants see > Their own scores."
    )
    live = settings_of(site)
    assert (live["quota"]["per_day"], live["shown"]["scores"], live["end"][:4]) == (5, False, "2080")
    assert live["scoring"]["ranking"] == "worst_run"  # waits in the version
    assert "5 a day" in page(site.member("quin"), f"/competitions/{SLUG}/phases/feedback").text


def test_a_draft_of_the_version_alone_says_nothing_of_other_settings(site: Site) -> None:
    owner = site.owner()
    post(owner, FEEDBACK, **phase_form())
    site.member("pia").submit()
    drafted = post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    assert flash(drafted) == "Version 2 is drafted."


def test_over_json_too_what_the_version_does_not_hold_is_saved_and_named(site: Site) -> None:
    site.member("pia").submit()
    settings = settings_of(site)
    settings["tasks"]["count"], settings["quota"]["per_day"] = 20, 7
    made = ask(site.owner(), "POST", "/phases/feedback/versions", {"settings": settings}, status=201)
    assert (made["number"], made["saved"]) == (2, ["quota.per_day"])
    live = settings_of(site)
    assert (live["quota"]["per_day"], live["tasks"]["count"]) == (7, 10)
    again = ask(site.owner(), "POST", "/phases/feedback/versions", {"settings": settings}, status=201)
    assert again["saved"] == []


def test_what_fits_the_drafted_version_alone_is_refused_by_name_and_nothing_is_saved(site: Site) -> None:
    """A smoke test of 15 minutes fits runs of 20 minutes, which are drafted, and not those of 10, which count."""
    site.member("pia").submit()
    settings, before = settings_of(site), settings_of(site)
    settings["budget"]["run"], settings["quota"]["per_day"] = "20 min", 7
    settings["smoke"] |= {"pool": "small-train", "budget": "15 min"}
    refused = ask(site.owner(), "POST", "/phases/feedback/versions", {"settings": settings}, status=422)
    assert refused["message"] == (
        "What decides no scores is saved at once, and does not fit the live version: Smoke test > Time for a smoke "
        "test. A smoke test may last 15min, a run 10min. Draft the version without it, and change it once the version "
        "is live."
    )
    assert (settings_of(site), drafts(site)) == (before, 1)


def test_no_other_key_is_drawn_where_there_are_submissions(site: Site) -> None:
    """Scores of baselines, or of an earlier start, stayed beside those of other tasks; the commitment changed."""
    owner = site.owner()
    site.set_phase(starts_at=now() + timedelta(days=1))
    assert flash(post(owner, f"{FEEDBACK}/redraw-seeds")) == "A new key is drawn."
    data, sent = {"name": "Proto", "leagues": "free"}, ("proto.zip", make_zip(salt="baseline"))
    owner.call("POST", f"{BASE}/baselines", data=data, files={"file": sent}, follow_redirects=False)
    ask(owner, "POST", "/baselines/proto/acts/run", {"phase": "feedback"}, status=202)
    before = key_of(site)
    refused = flash(post(owner, f"{FEEDBACK}/redraw-seeds"))
    assert "has submissions, of baselines perhaps" in refused and "Draft a version with a new key." in refused
    assert key_of(site) == before
    assert ask(owner, "POST", "/phases/feedback/acts/redraw-seeds", {}, status=409)["error"] == "act_refused"


def key_of(site: Site) -> Any:
    with site.services.database.reading() as session:
        (version,) = session.get_one(Phase, site.phase_id).versions
        return version.root, version.train_seeds
