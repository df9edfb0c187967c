"""Two organizers at one form, people whose terms changed, organizers who were participants, data that would leak."""

import html
import re
from datetime import timedelta
from inspect import signature
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import select

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.contest.competitions.messages import members_of
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.actions.organizing import put_packs
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.standings.entries.actions.team_acts import ADMIT, find_applicant
from anyshot_platform.standings.results.actions.final_acts import PUBLISH, Winners
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import BASE, finish, flash, page, phase_form, post
from tests.platform.core.test_access import ROUTES
from tests.platform.site import SLUG, Person, Site, make_paper_pack, make_zip

SETTINGS = f"{BASE}/settings"
FEEDBACK = f"{BASE}/phases/feedback"
MANAGE = f"/api/v1/competitions/{SLUG}/manage"


def seen(person: Person, path: str, nth: int = 0) -> str:
    """What a form says that it was filled in upon."""
    found = re.findall(r'name="seen" value="([^"]*)"', page(person, path).text)
    return html.unescape(found[nth])


def hidden(answer: Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert found is not None
    return html.unescape(found[1])


def settings_form(**changes: object) -> dict[str, object]:
    return {
        "title": "A small competition",
        "registration": "open",
        "team_size": "1",
        "discussion_open": "1",
        **changes,
    }


# Two organizers


def test_two_organizers_change_two_fields_of_a_phase(site: Site) -> None:
    dana = site.owner()
    otto = site.member("otto", Role.ORGANIZER)
    read = seen(dana, FEEDBACK)
    post(otto, FEEDBACK, seen=seen(otto, FEEDBACK), **phase_form(**{"quota.per_day": "7"}))
    saved = post(dana, FEEDBACK, seen=read, **phase_form(title="Feedback phase"))
    assert flash(saved) == "Saved."
    settings = dana.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    assert (settings["title"], settings["quota"]["per_day"]) == ("Feedback phase", 7)
    assert log(site, "phase.change")[-1].after == {"title": "Feedback phase"}


def test_two_organizers_change_one_field_of_a_phase(site: Site) -> None:
    dana = site.owner()
    otto = site.member("otto", Role.ORGANIZER)
    post(dana, FEEDBACK, **phase_form())
    read = seen(dana, FEEDBACK)
    post(otto, FEEDBACK, seen=read, **phase_form(**{"quota.per_day": "7", "description": "By Otto"}))
    mine = phase_form(**{"quota.per_day": "9"})
    asked = post(dana, FEEDBACK, seen=read, **mine)
    assert asked.status_code == 409
    assert ">A day</h2>" in asked.text and "otto changed this" in asked.text
    assert ">7</pre>" in asked.text and ">9</pre>" in asked.text
    settings = dana.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    assert settings["quota"]["per_day"] == 7
    assert "is saved by either button" not in asked.text  # there is nothing else
    insisted = post(dana, FEEDBACK, seen=hidden(asked, "seen"), **mine)
    assert flash(insisted) == "Saved."
    settings = dana.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    assert (settings["quota"]["per_day"], settings["description"]) == (9, "By Otto")


def test_a_conflict_in_the_editor_names_who_changed_the_field_by_an_act(site: Site) -> None:
    """Not who wrote it before: an act names what it changes as the editor does."""
    dana, otto, phase = site.owner(), site.member("otto", Role.ORGANIZER), f"{MANAGE}/phases/feedback"

    def extend() -> Response:
        return otto.call("POST", f"{phase}/acts/extend", json={"end": "2091-01-01T00:00:00Z"})

    def make_live() -> Response:
        settings = otto.call("GET", phase).json()["settings"]
        settings["tasks"]["count"] = 30
        drafted = otto.call("POST", f"{phase}/versions", json={"settings": settings})
        assert drafted.status_code == 201, drafted.text
        return otto.call("POST", f"{phase}/versions/2/acts/make-live", json={"confirm": "feedback"})

    for field, first, act, second in (
        ("end", {"end": "2090-01-01T00:00:00Z"}, extend, {"end": "2092-01-01T00:00:00Z"}),
        ("tasks.count", {"tasks": {"count": 20}}, make_live, {"tasks": {"count": 40}}),
    ):
        assert dana.call("PATCH", phase, json=first).status_code == 200
        tag = {"if-match": dana.call("GET", phase).headers["etag"]}
        done = act()
        assert done.status_code == 200, done.text
        refused = dana.call("PATCH", phase, json=second, headers=tag).json()
        assert [(clash["field"], clash["by"]) for clash in refused["fields"]] == [(field, "otto")]


def test_who_lets_the_others_value_stand_keeps_what_only_they_changed(site: Site) -> None:
    """The page of two values promised it, and its button threw the rest away."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    post(dana, FEEDBACK, **phase_form())
    read = seen(dana, FEEDBACK)
    post(otto, FEEDBACK, seen=read, **phase_form(**{"quota.per_day": "7"}))
    mine = phase_form(**{"quota.per_day": "9", "title": "Feedback phase"})
    asked = post(dana, FEEDBACK, seen=read, **mine)
    assert asked.status_code == 409 and "is saved by either button" in asked.text
    kept = {"seen": hidden(asked, "seen"), "keep": hidden(asked, "keep")}
    assert flash(post(dana, FEEDBACK, **kept, **mine)) == "Saved."
    settings = dana.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    assert (settings["title"], settings["quota"]["per_day"]) == ("Feedback phase", 7)
    post(otto, FEEDBACK, **phase_form(**{"quota.per_day": "5", "title": "Feedback phase"}))
    assert post(dana, FEEDBACK, **kept, **mine).status_code == 409  # it has moved on: both are shown again


def test_a_save_without_a_change_leaves_no_entry(site: Site) -> None:
    owner = site.owner()
    post(owner, FEEDBACK, **phase_form())
    before = len(log(site, "phase.change"))
    post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **phase_form())
    assert len(log(site, "phase.change")) == before


def test_the_log_names_the_phase_and_what_changed_and_no_gate_that_was_kept(site: Site) -> None:
    """The review: gates that were kept were "cleared", and two phases had one name of twelve characters."""
    owner = site.owner()
    final = phase_form(**{"key": "final", "title": "Final", "kind": "final", "entries.phase": "feedback"})
    assert post(owner, f"{BASE}/phases/new", **final).status_code == 303
    post(owner, f"{BASE}/baselines/gates", phase="final", league="free", score="0.5", note="by hand")
    where = f"{BASE}/phases/final"
    renamed = {**final, "title": "Finals", "quota.per_day": "7"}
    assert flash(post(owner, where, seen=seen(owner, where), **renamed)) == "Saved."
    (entry,) = log(site, "phase.change")
    assert (entry.before, entry.after) == (
        {"title": "Final", "quota.per_day": 3},
        {"title": "Finals", "quota.per_day": 7},
    )
    gates = owner.call("GET", f"{MANAGE}/gates").json()
    assert [(gate["phase"], gate["league"], gate["score"]) for gate in gates] == [("final", "free", 0.5)]
    shown = page(owner, f"{BASE}/audit").text
    assert "phase final" in " ".join(re.sub("<[^>]+>", " ", shown).split()), "by its short name"
    names = {row["object_name"] for row in owner.call("GET", f"{MANAGE}/audit").json()["items"]}
    assert {"final", entry.object_id[-12:]} & names == {"final"}


def test_what_a_form_does_not_show_is_kept(site: Site) -> None:
    owner = site.owner()
    secret = {"test_seeds": [7, 8, 9], "train_seeds": [4, 5, 6]}
    site.set_version(**secret, protocol={"name": "within_domain", "split_seed": 12})
    within = {"tasks.protocol.name": "within_domain", "title": "Renamed"}
    form = phase_form(**within, **{"scoring.runs": "3"})
    assert flash(post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **form)) == "Saved."
    with site.services.database.reading() as session:
        (version,) = session.query(PhaseVersion)
        assert version.protocol["split_seed"] == 12
        assert {name: getattr(version, name) for name in secret} == secret
    fewer = phase_form(**within, **{"scoring.runs": "2"})
    refused = post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **fewer)
    assert "This phase has begun, and its commitment is published. Draft a version with a new key." in (
        html.unescape(refused.text)
    )
    with site.services.database.reading() as session:
        (version,) = session.query(PhaseVersion)
        assert {name: getattr(version, name) for name in secret} == secret


def test_fewer_runs_of_a_phase_that_has_not_begun_take_new_seeds(site: Site) -> None:
    owner, begins = site.owner(), now() + timedelta(days=1)
    site.set_version(test_seeds=[7, 8, 9], train_seeds=[4, 5, 6])
    site.set_phase(starts_at=begins)
    form = phase_form(**{"scoring.runs": "2", "start": f"{begins:%Y-%m-%dT%H:%M}"})
    assert flash(post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **form)) == "Saved."
    with site.services.database.reading() as session:
        (version,) = session.query(PhaseVersion)
        assert (len(version.train_seeds), version.test_seeds) == (2, [])
        assert set(version.train_seeds).isdisjoint([4, 5, 6])


def test_two_organizers_change_the_settings(site: Site) -> None:
    dana = site.owner()
    otto = site.member("otto", Role.ORGANIZER)
    read = seen(dana, SETTINGS)
    post(otto, SETTINGS, seen=read, **settings_form(terms="Otto's terms."))
    asked = post(dana, SETTINGS, seen=read, **settings_form(prizes="400 euros", terms="Dana's terms."))
    assert asked.status_code == 409 and "otto changed this on" in asked.text
    assert (
        "Otto&#39;s terms." in asked.text and "Dana&#39;s terms." in asked.text and "400 euros" in asked.text
    )
    assert dana.call("GET", f"{MANAGE}/settings").json()["terms"] == "Otto's terms."
    mine = settings_form(prizes="400 euros", terms="Dana's terms.")
    assert flash(post(dana, SETTINGS, seen=hidden(asked, "seen"), **mine)) == "Saved."
    found = dana.call("GET", f"{MANAGE}/settings").json()
    assert (found["terms"], found["prizes"]) == ("Dana's terms.", "400 euros")


def test_two_organizers_change_a_page(site: Site) -> None:
    dana = site.owner()
    otto = site.member("otto", Role.ORGANIZER)
    made = dana.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": "None."}).json()
    read = seen(dana, f"{BASE}/pages/{made['id']}")
    sent = {"page_id": made["id"], "title": "Rules", "seen": read}
    post(otto, f"{BASE}/pages", **sent, body="Otto's rules")
    asked = post(dana, f"{BASE}/pages", **sent, body="Dana's rules")
    assert asked.status_code == 409 and "otto changed this" in asked.text
    assert post(otto, f"{BASE}/pages", **sent, body="Otto's rules").status_code == 303  # it is so already
    again = {**sent, "seen": hidden(asked, "seen")}
    assert flash(post(dana, f"{BASE}/pages", **again, body="Dana's rules")) == "The page is saved."
    (found,) = dana.call("GET", f"{MANAGE}/pages").json()
    assert found["body"] == "Dana's rules"


def test_two_organizers_edit_an_announcement(site: Site) -> None:
    """The public page and the feed say that it was edited; no message is sent, and the log keeps the words before."""
    dana, otto, pia = site.owner(), site.member("otto", Role.ORGANIZER), site.member("pia")
    made = dana.call(
        "POST", f"{MANAGE}/announcements/acts/add", json={"title": "The end", "body": "On Monday."}
    ).json()
    where, api = (f"{place}/announcements/{made['id']}" for place in (BASE, MANAGE))
    sent = len(pia.call("GET", "/api/v1/notifications").json())
    read = seen(dana, where)
    assert post(otto, where, seen=read, title="The end", body="On Tuesday.").status_code == 303
    asked = post(dana, where, seen=read, title="The very end", body="On Friday.")
    assert asked.status_code == 409 and "otto changed this" in asked.text and "On Tuesday." in asked.text
    again = post(dana, where, seen=hidden(asked, "seen"), title="The very end", body="On Tuesday.")
    assert flash(again).startswith("The ann")
    shown = page(pia, f"/competitions/{SLUG}/announcements").text
    assert "The very end" in shown and "On Tuesday." in shown and "(edited" in shown
    refused = post(dana, where, seen=read, title="", body="An evening's work.")
    assert refused.status_code == 422 and "An evening&#39;s work." in refused.text
    assert [entry.before for entry in log(site, "announcement.edit")] == [
        {"body": "On Monday."},
        {"title": "The end"},
    ]
    stale = otto.call("PATCH", api, json={"title": "Over"}, headers={"if-match": made["etag"]})
    assert (stale.status_code, stale.json()["fields"][0]["now"]) == (409, "The very end")
    changed = otto.call("PATCH", api, json={"title": "Over"}).json()
    assert (changed["title"], changed["body"]) == ("Over", "On Tuesday.")
    assert len(pia.call("GET", "/api/v1/notifications").json()) == sent


def test_a_refused_text_or_setting_is_shown_again_with_all_that_was_typed(site: Site) -> None:
    """Nobody types a page twice because one of its values has a wrong name."""
    dana = site.owner()
    made = dana.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": "None."}).json()
    here = f"{BASE}/pages/{made['id']}"
    typed = {"title": "Long rules", "body": "An evening's work, {{ quota.perday }}."}
    for sent in ({"page_id": made["id"], "seen": seen(dana, here)}, {}):
        refused = post(dana, f"{BASE}/pages", **sent, **typed)
        assert refused.status_code == 422 and "Did you mean {{ quota.per_day }}?" in html.unescape(
            refused.text
        )
        assert "An evening&#39;s work" in refused.text and 'value="Long rules"' in refused.text
    assert [row["body"] for row in dana.call("GET", f"{MANAGE}/pages").json()] == ["None."]
    form = settings_form(prizes="400 euros", team_size="0", terms="New terms.", discussion_open="")
    refused = post(dana, SETTINGS, seen=seen(dana, SETTINGS), **form)
    assert refused.status_code == 422 and 'id="team_size-error"' in refused.text
    assert "400 euros" in refused.text and "New terms." in refused.text
    assert dana.call("GET", f"{MANAGE}/settings").json()["prizes"] != "400 euros"
    mended = {**form, "team_size": "3"}
    (read,) = re.findall(r'name="seen" value="([^"]*)"', refused.text)
    assert flash(post(dana, SETTINGS, seen=html.unescape(read), **mended)) == "Saved."


def test_organizers_edit_a_page_from_the_page_and_others_see_no_way_to(site: Site) -> None:
    dana, pia = site.owner(), site.member("pia")
    made = dana.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": "None."}).json()
    public = f"/competitions/{SLUG}/pages/rules"
    assert f'href="{BASE}/pages/{made["id"]}"' in page(dana, public).text
    assert "/manage" not in page(pia, public).text


def seen_beside(who: Person, place: str, marker: str) -> str:
    """What the form around a marker was filled in upon."""
    text = page(who, place).text
    forms = [form for form in text.split("<form")[1:] if marker in form.partition("</form>")[0]]
    (found,) = re.findall(r'name="seen" value="([^"]*)"', forms[0].partition("</form>")[0])
    return html.unescape(found)


def test_two_organizers_change_a_league(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    form = {"league": "free", "title": "Free style", "admission": "all"}
    read = seen_beside(dana, f"{BASE}/leagues", 'name="league" value="free"')
    changed = {**form, "description": "By Otto", "prizes": "100 EUR"}
    assert flash(post(otto, f"{BASE}/leagues", seen=read, **changed)) == "The league is saved."
    asked = post(dana, f"{BASE}/leagues", seen=read, **{**form, "prizes": "1 EUR"})
    assert asked.status_code == 409 and "otto changed this" in asked.text and "100 EUR" in asked.text
    mine = {**changed, "title": "Free", "seen": hidden(asked, "seen")}
    assert post(dana, f"{BASE}/leagues", **mine).status_code == 303
    found = {row["settings"]["key"]: row for row in dana.call("GET", f"{MANAGE}/leagues").json()}["free"]
    settings = found["settings"]
    assert (settings["title"], settings["description"], settings["prizes"]) == ("Free", "By Otto", "100 EUR")
    assert log(site, "league.save")[-1].after == {"title": "Free"}
    where, sent = f"{MANAGE}/leagues/free", {**settings, "prizes": "2 EUR"}
    stale = otto.call("PUT", where, json=sent, headers={"if-match": '"0"'})
    assert (stale.status_code, stale.json()["error"]) == (409, "stale")
    assert otto.call("PUT", where, json=sent, headers={"if-match": found["etag"]}).status_code == 200


def test_two_organizers_change_a_team_and_a_note(site: Site) -> None:
    dana, otto, pia = site.owner(), site.member("otto", Role.ORGANIZER), site.member("pia")
    with site.services.database.reading() as session:
        member = find_membership(session, site.competition(session).id, pia.id)
        assert member is not None
        here = f"{BASE}/people/{member.id}"
    read = seen_beside(dana, f"{BASE}/people", f"{here}/quota")
    post(otto, f"{here}/quota", seen=read, day="3", phase="0", reason="ill")
    asked = post(dana, f"{here}/quota", seen=read, day="0", phase="5", reason="late")
    assert asked.status_code == 409 and "otto changed this" in asked.text
    mine = {"day": "3", "phase": "5", "reason": "late", "seen": hidden(asked, "seen")}
    assert post(dana, f"{here}/quota", **mine).status_code == 303
    team = dana.call("GET", f"{MANAGE}/people", params={"q": "pia"}).json()["items"][0]["team"]
    assert (team["extra_quota_day"], team["extra_quota_phase"]) == (3, 5)
    assert [entry.after for entry in log(site, "team.change")] == [{"day": 3}, {"phase": 5}]
    where, body = f"{MANAGE}/people/pia/quota", {"day": 1, "phase": 5, "out_of_ranking": False}
    assert dana.call("PUT", where, json=body, headers={"if-match": '"0"'}).status_code == 409
    assert dana.call("PUT", where, json=body, headers={"if-match": team["etag"]}).status_code == 200
    read = seen_beside(dana, f"{BASE}/people", f"{here}/note")
    post(otto, f"{here}/note", seen=read, note="asked for time")
    asked = post(dana, f"{here}/note", seen=read, note="wrote to us")
    assert asked.status_code == 409 and "asked for time" in asked.text and "otto changed this" in asked.text


def test_a_refused_gate_is_shown_with_what_was_typed(site: Site) -> None:
    dana = site.owner()
    with_final(site)
    sent = {"phase": "final", "league": "free", "score": "three", "note": "by the jury of 12 May"}
    refused = post(dana, f"{BASE}/baselines/gates", seen="{}", **sent)
    assert refused.status_code == 422 and "This must be a number, not “three”" in refused.text
    assert 'value="three"' in refused.text and 'value="by the jury of 12 May"' in refused.text
    assert (
        refused.text.count("This must be a number") == 1
    )  # beside the gate, not over the form of a new baseline
    assert post(dana, f"{BASE}/baselines/gates", **{**sent, "score": "0.3"}).status_code == 303


def with_final(site: Site) -> None:
    with site.services.database.writing() as session:
        competition = session.get_one(Phase, site.phase_id).competition_id
        final = Phase(competition_id=competition, slug="final", name="Final", starts_at=now())
        final.gate_phase_id = site.phase_id
        session.add(final)


def test_two_organizers_set_a_gate(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    with_final(site)
    where = f"{BASE}/baselines/gates"
    read = seen_beside(dana, f"{BASE}/baselines", 'id="g-final-free"')
    post(otto, where, seen=read, phase="final", league="free", score="0.4", note="ten seeds")
    asked = post(dana, where, seen=read, phase="final", league="free", score="0.3", note="")
    assert asked.status_code == 409 and "otto changed this" in asked.text and "0.4" in asked.text
    stale = dana.call("PUT", f"{MANAGE}/gates/final/free", json={"score": 0.3}, headers={"if-match": '"0"'})
    assert stale.status_code == 409, stale.text


def waiting(site: Site) -> tuple[str, str, str]:
    """A submission of pia's, her team, and her entry, in leagues where organizers decide on both."""
    submission = site.member("pia").submit(leagues=["free", "scratch"]).json()["id"]
    with site.services.database.writing() as session:
        league = session.query(League).filter_by(slug="free").one()
        league.admission, league.every_member_qualifies = Admission.APPROVAL, True
        of_scratch = session.query(League).filter_by(slug="scratch").one().id
        session.query(LeagueEntry).filter_by(league_id=of_scratch).one().status = EntryStatus.DECLARED
        team_id = session.get_one(Submission, submission).team_id
    return submission, team_id, of_scratch


@pytest.mark.parametrize("what", ["entries", "teams"])
def test_two_organizers_decide_otherwise(site: Site, what: str) -> None:
    """One admits, the other had opened the page before and refuses: both values are shown, and who decided first."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    submission, team_id, of_scratch = waiting(site)
    place, field, value = {
        "entries": ("/leagues/decide", "entry", f"{submission}:{of_scratch}"),
        "teams": ("/leagues/teams/decide", "team", f"free:{team_id}"),
    }[what]
    read = seen_beside(dana, f"{BASE}/leagues", f'name="{field}" value="{value}"')
    sent = {field: value, "seen": read}
    consent = {"override": "1", "confirm": "pia"} if what == "teams" else {}
    assert post(otto, BASE + place, **sent, act="admit", **consent).status_code == 303
    asked = post(dana, BASE + place, **sent, act="refuse", reason="weights")
    assert asked.status_code == 409 and re.search(
        "otto changed .*“pia” in .* on .* after you read it", asked.text
    )
    assert ">admitted</pre>" in asked.text or ">declared</pre>" in asked.text
    assert ">refused</pre>" in asked.text and "pia" in asked.text
    key = {"entries": "entry", "teams": "team"}[what]
    assert log(site, f"{key}.refuse") == []
    again = {**sent, "seen": hidden(asked, "seen"), "act": "refuse", "reason": "weights"}
    assert post(dana, BASE + place, **again).status_code == 303
    assert [entry.reason for entry in log(site, f"{key}.refuse")] == ["weights"]


def test_a_preview_counts_who_hears_of_it(site: Site) -> None:
    """Who is banned, or has left, is told nothing, and is not counted."""
    dana, quinn = site.owner(), site.member("quinn")
    _, team_id, _ = waiting(site)
    with site.services.database.writing() as session:
        other = find_membership(session, site.competition(session).id, quinn.id)
        assert other is not None
        other.team_id, other.status = team_id, MemberStatus.BANNED
        league = session.query(League).filter_by(slug="free").one()
        one = find_applicant(session, site.competition(session), league, team_id)
        assert ADMIT.look(session, one, ActRequest(dana.id)).told == 1
        phase = session.get_one(Phase, site.phase_id)
        members = len(members_of(session, phase.competition))
        assert PUBLISH.look(session, phase, ActRequest(dana.id, options=Winners())).told == members == 2


def test_two_organizers_decide_over_json(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    submission, _, _ = waiting(site)
    entry = {"submission": submission, "league": "scratch", "seen": "declared"}
    where = f"{MANAGE}/leagues/entries/decide"
    assert otto.call("POST", where, json={"entries": [entry], "admit": True}).json()["changed"] == 1
    refused = dana.call("POST", where, json={"entries": [entry], "admit": False, "reason": "weights"})
    assert (refused.status_code, refused.json()["error"]) == (409, "stale")
    (clash,) = refused.json()["fields"]
    assert (clash["by"], clash["now"], clash["yours"]) == ("otto", "admitted", "refused")
    agreed = dana.call("POST", where, json={"entries": [entry], "admit": True})
    assert agreed.json()["changed"] == 0  # both wanted the same


def test_what_another_decided_on_is_left_out_of_the_list_of_entries(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    waiting(site)
    finish(site.worker(), 0.5)
    (row,) = dana.call("GET", f"{MANAGE}/entries", params={"league": "scratch"}).json()["items"]
    read = seen_beside(dana, f"{BASE}/entries", f'value="{row["id"]}"')
    sent = {"entry": row["id"], "seen": read}
    assert flash(post(otto, f"{BASE}/entries", **sent, act="refuse", reason="weights")).startswith("1 of 1")
    told = flash(post(dana, f"{BASE}/entries", **sent, act="admit"))
    assert told.startswith("0 of 1 entries changed.") and "otto changed" in told
    assert log(site, "entry.admit") == []


ADDED = {
    # form: what both send, the list that has it, how many of the same name there are then
    "announcements": ({"title": "Soon", "body": "A"}, {"body": "B"}, "/announcements", "title", 2),
    "leagues": ({"key": "new", "title": "A"}, {"title": "B"}, "/leagues", "settings.key", 1),
    "pages": ({"title": "Rules", "body": "A"}, {"body": "B"}, "/pages", "title", 2),
    "phases/new": ({**phase_form(), "key": "new"}, {"title": "B"}, "/phases", "key", 1),
    "webhooks": ({"url": "https://example.org/x"}, {}, "/webhooks", "url", 2),
}


def test_what_two_people_add_under_one_name_replaces_nothing(site: Site) -> None:
    """The second is added beside the first, or refused in words; what the first one wrote stays as it is."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)

    def there(where: str, key: str, name: object) -> list[dict[str, object]]:
        found = dana.call("GET", MANAGE + where).json()
        return [
            {key: value for key, value in row.items() if key != "etag"}
            for row in found
            if name in (row.get(key), row.get("settings", {}).get("key"))
        ]

    for form, (sent, other, where, key, number) in ADDED.items():
        named = where, key, sent[key.rpartition(".")[2]]
        assert post(dana, f"{BASE}/{form}", **sent).status_code == 303, form
        (first,) = there(*named)
        second = post(otto, f"{BASE}/{form}", **{**sent, **other})
        assert second.status_code in (200, 303, 422), second.text
        assert len(there(*named)) == number and first in there(*named), form
        if number == 1:
            assert "already" in (flash(second) or second.text), form


def test_two_people_keep_a_file_under_one_name_and_both_are_in_the_log(site: Site) -> None:
    """The second takes the place of the first, as the form says; the digest tells which was there before."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    digests = []
    for who, content in ((dana, b"one"), (otto, b"two")):
        upload = who.upload(content, "a.txt")
        put = who.call("PUT", f"{MANAGE}/files/a.txt", json={"upload_id": upload})
        digests.append(put.json()["digest"])
    assert [(entry.actor_id, entry.before, entry.after["digest"]) for entry in log(site, "file.put")] == [
        (dana.id, {}, digests[0]),
        (otto.id, {"digest": digests[0]}, digests[1]),
    ]
    for who in (dana, otto, otto):
        upload = who.upload(
            f"<svg xmlns='http://www.w3.org/2000/svg'><!-- {who.id} --></svg>".encode(), "logo.svg"
        )
        assert who.call("PUT", f"{MANAGE}/logo", json={"upload_id": upload}).status_code == 204
    first, second = log(site, "competition.logo")  # the same logo again is no change
    assert first.before == {} and second.before == first.after and second.after != first.after


def test_two_people_move_and_remove_a_page(site: Site) -> None:
    """The second who moves it there finds it there; who removes what is gone is told so, and nothing else goes."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    made = [dana.call("POST", f"{MANAGE}/pages", json={"title": title}).json() for title in "ABC"]
    up = page(dana, f"{BASE}/pages").text.rpartition("/move")[2]
    assert 'name="place" value="1"' in " ".join(up.split())
    told = [flash(post(who, f"{BASE}/pages/{made[2]['id']}/move", place="1")) for who in (dana, otto)]
    assert told == ["C is page 2 now.", "It stands there already."]
    assert [row["title"] for row in dana.call("GET", f"{MANAGE}/pages").json()] == ["A", "C", "B"]
    assert [(entry.before, entry.after["place"]) for entry in log(site, "page.move")] == [({"place": 2}, 1)]
    gone = f"{BASE}/pages/{made[0]['id']}/delete"
    answers = [post(who, gone, confirm="A").status_code for who in (dana, otto)]
    assert answers == [303, 404]
    assert [row["title"] for row in dana.call("GET", f"{MANAGE}/pages").json()] == ["C", "B"]
    assert len(log(site, "page.delete")) == 1


# What two people meet at each form of organizers' that is no act: a test above, or why nothing is lost.
FORMS = {
    "announcements": "an act",
    "baselines": "adds one",
    "baselines/gates": "test_two_organizers_set_a_gate",
    "baselines/{baseline}/{act}": "an act",
    "bundle-with-seeds": "an act",
    "clone": "adds one",
    "delete": "an act",
    "entries": "test_what_another_decided_on_is_left_out_of_the_list_of_entries",
    "files": "test_two_people_keep_a_file_under_one_name_and_both_are_in_the_log",
    "files/{name}/remove": "an act",
    "leagues": "test_two_organizers_change_a_league",
    "leagues/decide": "test_two_organizers_decide_otherwise",
    "leagues/teams/decide": "test_two_organizers_decide_otherwise",
    "leagues/{league_slug}/{act}": "an act",
    "look": "writes nothing",
    "look/end": "writes nothing",
    "pages": "test_two_organizers_change_a_page",
    "pages/preview": "writes nothing",
    "pages/{page_id}/{act}": "test_two_people_move_and_remove_a_page",
    "people/acts": "an act on each",
    "people/add": "an act",
    "people/{membership_id}/{act}": "test_two_organizers_change_a_team_and_a_note",
    "phases/new": "test_what_two_people_add_under_one_name_replaces_nothing",
    "phases/{phase_id}/restore/deleted": "an act",
    "phases/{phase_slug}": "test_two_organizers_change_one_field_of_a_phase",
    "rehearsals": "test_two_organizers_rehearse_once",
    "reports": "adds one",
    "reports/{report_id}/{act}": "an act",
    "restore": "an act",
    "settings": "test_two_organizers_change_the_settings",
    "state": "an act",
    "submissions/acts": "an act on each",
    "teams/{team_id}/{act}": "an act",
    "webhooks": "test_what_two_people_add_under_one_name_replaces_nothing",
    "acts/{act}": "an act",
    "announcements/{announcement_id}": "test_two_organizers_edit_an_announcement",
    "announcements/{announcement_id}/{act}": "an act",
    "code/{team_id}/{act}": "an act",
    "final/{phase_slug}/winners/{username}": "an act",
    "final/{phase_slug}/{act}": "an act",
    "phases/{phase_slug}/versions/{number}/{act}": "an act",
    "phases/{phase_slug}/{act}": "an act",
    "webhooks/{webhook_id}/{act}": "an act",
}
# The same of JSON: what replaces a whole object takes `If-Match`.
REPLACING = {
    "files/{name}": "under its name; the one before is in the log by its digest",
    "logo": "one file; the one before is in the log",
}


def test_every_form_says_what_two_people_meet_there() -> None:
    """A new form of organizers' has its two actors, or says why it needs none; a new PUT takes `If-Match`."""
    prefix = "/competitions/{slug}/manage/"
    pages = {
        route.path.removeprefix(prefix)
        for route in ROUTES
        if route.path.startswith(prefix) and "POST" in (route.methods or ())
    }
    assert pages == FORMS.keys()
    named = {what for what in FORMS.values() if what.startswith("test_")}
    assert len(named) > 6 and named <= globals().keys()
    replacing = {
        route.path.removeprefix(f"/api/v1{prefix}"): "if_match" in signature(route.endpoint).parameters
        for route in ROUTES
        if route.path.startswith(f"/api/v1{prefix}") and {"PUT", "PATCH"} & (route.methods or set())
    }
    assert {path for path, tagged in replacing.items() if not tagged} == REPLACING.keys()


def test_the_api_takes_if_match(site: Site) -> None:
    dana = site.owner()
    otto = site.member("otto", Role.ORGANIZER)
    for path, change in (
        ("/settings", lambda found: {**found, "prizes": "none"}),
        ("/phases/feedback", lambda found: {**found["settings"], "description": "new"}),
    ):
        answer = dana.call("GET", MANAGE + path)
        first, tag = change(answer.json()), {"if-match": answer.headers["etag"]}
        assert otto.call("PUT", MANAGE + path, json=first, headers=tag).status_code == 200
        second = {**first, "title": "Another"}
        second.update({"prizes": "all"} if path == "/settings" else {"description": "newer"})
        refused = dana.call("PUT", MANAGE + path, json=second, headers=tag)
        assert (refused.status_code, refused.json()["error"]) == (409, "stale")
        clash = refused.json()["fields"]
        assert {"otto"} <= {field["by"] for field in clash}
        again = {"if-match": dana.call("GET", MANAGE + path).headers["etag"]}
        assert dana.call("PUT", MANAGE + path, json=second, headers=again).status_code == 200


def test_a_script_sends_only_what_it_changes(site: Site) -> None:
    """What is left out stays, also what somebody else changes meanwhile; the log has what was sent and changed."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    rules = dana.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": "None."}).json()["id"]
    for path, first, second, key in (
        ("/settings", {"prizes": "400 euros"}, {"title": "Birds"}, "competition.change"),
        ("/phases/feedback", {"quota": {"per_day": 7}}, {"title": "First phase"}, "phase.change"),
        ("/leagues/free", {"prizes": "A cup"}, {"title": "Free for all"}, "league.save"),
        (f"/pages/{rules}", {"body": "Be kind."}, {"title": "All rules"}, "page.save"),
    ):
        read = dana.call("GET", MANAGE + path).headers.get("etag") or '"0"'
        tag = {"if-match": read}
        assert otto.call("PATCH", MANAGE + path, json=first).status_code == 200, path
        mine = dana.call("PATCH", MANAGE + path, json=second)
        assert mine.status_code == 200, mine.text
        flat = {"quota.per_day": 7} if "quota" in first else first
        assert [entry.after for entry in log(site, key)[-2:]] == [flat, second], path
        stale = dana.call("PATCH", MANAGE + path, json={**second, "title": "Mine"}, headers=tag)
        assert (stale.status_code, stale.json()["error"]) == (409, "stale"), path
        unknown = dana.call("PATCH", MANAGE + path, json={"colour": "red"})
        assert unknown.status_code == 422 and "There is no such field." in unknown.text, path
    phase = dana.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
    assert (phase["title"], phase["quota"]["per_day"], phase["quota"]["total"]) == (
        "First phase",
        7,
        100,
    )


def test_what_one_organizer_has_done_another_does_not_do_again(site: Site) -> None:
    """Acts without a form: the second finds it done, is told so, and the log holds it once."""
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    pia = site.member("pia")
    submission = pia.submit().json()["id"]
    finish(site.worker(), 0.5)
    gamma_id = make_paper_pack(site.services, "gamma")
    with site.services.database.writing() as session:
        spare = create_pool(
            session, slug="spare", name="Spare", owner_id=dana.id, competition_id=site.competition(session).id
        )
        gamma = session.get_one(Pack, gamma_id)
        create_pool_version(session, spare, [gamma], created_by=dana.id)
        team_id = session.get_one(Submission, submission).team_id
    for path, body, key in (
        (f"{MANAGE}/phases/feedback/acts/pause", {}, "phase.pause"),
        ("/api/v1/pools/spare/acts/publish", {"confirm": "spare"}, "pool.publish"),
        (f"{MANAGE}/code/{team_id}/acts/hide", {}, "code.hide"),
    ):
        for actor in (dana, otto):
            answer = actor.call("POST", path, json=body)
            assert answer.is_success, (path, answer.text)
        assert [entry.actor_id for entry in log(site, key)] == [dana.id], key
    body = {"act": "disqualify", "ids": [submission], "reason": "two accounts"}
    assert dana.call("POST", f"{MANAGE}/submissions/acts", json=body).json()["skipped"] == {}
    second = otto.call("POST", f"{MANAGE}/submissions/acts", json={**body, "reason": "no reason"}).json()
    assert second["skipped"] == {submission: "It is disqualified already."}
    assert [entry.reason for entry in log(site, "submission.disqualify")] == ["two accounts"]


def test_two_organizers_rehearse_once(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.OWNER)
    upload = dana.upload(make_zip(salt="a baseline"))
    dana.call(
        "POST", f"{MANAGE}/baselines", json={"name": "Simple", "upload_id": upload, "leagues": ["free"]}
    )
    begun = [
        one.call("POST", f"{MANAGE}/rehearsals", json={"tasks": 2, "teams": 5}).json()["id"]
        for one in (dana, otto)
    ]
    assert begun[0] == begun[1] and len(log(site, "competition.rehearse")) == 1


# Terms


def test_whoever_has_not_accepted_new_terms_is_asked(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    post(owner, SETTINGS, seen=seen(owner, SETTINGS), **settings_form(terms="Be kind.\n"))
    refused = pia.submit()
    assert (refused.status_code, refused.json()["error"]) == (403, "terms_changed")
    assert f"/competitions/{SLUG}/join" in refused.json()["message"]
    assert "The terms have changed" in page(pia, f"/competitions/{SLUG}").text
    joined = pia.call("POST", f"/api/v1/competitions/{SLUG}/join", json={"accepts_terms": True})
    assert joined.is_success, joined.text
    assert pia.submit().status_code == 201
    version = joined.json().get("terms_version")
    unchanged = settings_form(terms="Be kind.\r\n", prizes="1 euro")
    post(owner, SETTINGS, seen=seen(owner, SETTINGS), **unchanged)
    known = owner.call("GET", f"{MANAGE}/settings").json()
    assert owner.call("PUT", f"{MANAGE}/settings", json={**known, "terms": "Be kind.\r\n"}).status_code == 200
    assert pia.submit(make_zip(salt="again")).status_code == 201, version
    post(owner, SETTINGS, seen=seen(owner, SETTINGS), **settings_form(terms="Be very kind."))
    assert pia.submit(make_zip(salt="more")).json()["error"] == "terms_changed"


def test_participants_are_told_once_that_the_terms_have_changed(site: Site) -> None:
    """They heard of it when an upload was refused: a banner on pages that they had no reason to open."""
    owner, pia, mute = site.owner(), site.member("pia"), site.member("mute")
    waiting = site.member("waiting")
    with site.services.database.writing() as session:
        membership = select(Membership).where(Membership.user_id == waiting.id)
        session.scalars(membership).one().status = MemberStatus.PENDING
    assert mute.call("PUT", f"/api/v1/competitions/{SLUG}/mute").is_success

    def change(**words: str) -> None:
        post(owner, SETTINGS, seen=seen(owner, SETTINGS), **settings_form(**words))

    def told(person: Person) -> list[dict[str, Any]]:
        rows = person.call("GET", "/api/v1/notifications").json()
        return [row for row in rows if row["kind"] == "terms"]

    change(terms="Be kind.")
    change(terms="Be kind.\r\n", prizes="1 euro")
    (message,) = told(pia)
    assert message["title"] == "A small competition: the terms have changed"
    assert message["body"] == "Read version 2 and accept it. Until then you can submit nothing."
    assert "Be kind." in page(pia, message["url"]).text
    assert [told(person) for person in (mute, owner, waiting)] == [[], [], []]
    with site.services.database.reading() as session:
        mails = session.scalars(select(Email).order_by(Email.to)).all()
    assert [(mail.to, mail.subject) for mail in mails] == [
        ("pia@example.org", "A small competition: the terms have changed")
    ]
    assert "Read version 2 and accept it." in mails[0].body and f"/competitions/{SLUG}/join" in mails[0].body
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    change(terms="Be very kind.")
    assert len(told(pia)) == 1, "a draft is seen by its organizers alone"


def test_nobody_joins_without_accepting_the_terms(site: Site) -> None:
    owner, pia = site.owner(), site.person("pia")
    post(owner, SETTINGS, seen=seen(owner, SETTINGS), **settings_form(terms="Be kind."))
    join = f"/api/v1/competitions/{SLUG}/join"
    refused = pia.call("POST", join, json={})
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "Please accept the terms of the competition.",
    )
    assert pia.submit().status_code == 403
    assert pia.call("POST", join, json={"accepts_terms": True}).is_success
    assert pia.submit().status_code == 201


# People


def test_a_participant_who_becomes_an_organizer_leaves_the_ranking(site: Site) -> None:
    owner = site.owner()
    dana = site.member("dana")
    dana.submit()
    finish(site.worker(), 0.9)
    assert [row["rank"] for row in site.board("free")["rows"]] == [1]
    named = {"username": "dana", "role": "organizer"}
    assert "The team dana leaves the ranking" in post(owner, f"{BASE}/people/add", **named).text
    post(owner, f"{BASE}/people/add", **named, confirm="dana")
    with site.services.database.reading() as session:
        member = find_membership(session, site.competition(session).id, dana.id)
        assert member is not None and member.role == Role.ORGANIZER
    assert [row["rank"] for row in site.board("free")["rows"]] == [None]


# Data


def test_a_phase_does_not_train_on_what_it_tests(site: Site) -> None:
    owner = site.owner()
    leaking = phase_form(**{"tasks.meta_train": "small-pool"})
    refused = post(owner, FEEDBACK, **leaking)
    assert "share alpha: what is trained on would be tested on" in refused.text
    refused = post(owner, f"{BASE}/phases/new", **{**leaking, "key": "more"})
    assert "share alpha" in refused.text
    held_out = {"tasks.protocol.name": "held_out_domains", "tasks.protocol.held_out_domains.domains": "paper"}
    assert "share alpha" in post(owner, FEEDBACK, **{**leaking, **held_out}).text
    split = {"tasks.protocol.name": "within_domain"}
    assert flash(post(owner, FEEDBACK, **{**leaking, **split})) == "Saved."


def test_hidden_data_that_are_public_elsewhere_are_refused(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        pack = session.query(Pack).filter_by(name="alpha").one()
        for slug, public in (("open", True), ("secret", False)):
            pool = create_pool(session, slug=slug, name=slug, owner_id=owner.id)
            pool.published_at = now() if public else None
            create_pool_version(session, pool, [pack], created_by=owner.id)
    refused = post(owner, FEEDBACK, **phase_form(**{"tasks.meta_test": "secret"}))
    assert "its dataset alpha is in the public pool open" in refused.text
    assert "public pool open" in page(owner, BASE).text  # the live phase tests on it too


def test_a_phase_keeps_its_version_of_a_pool_and_shows_it(site: Site) -> None:
    owner = site.owner()
    put_another_pack(site)
    post(owner, FEEDBACK, **phase_form(**{"tasks.count": "77"}))
    assert "meta-test pool small-pool, version 1" in page(owner, FEEDBACK).text


def put_another_pack(site: Site) -> None:
    """Version 2 of the pool that is tested on."""
    gamma = make_paper_pack(site.services, "gamma")
    with site.services.database.writing() as session:
        pool = session.query(Pool).filter_by(slug="small-pool").one()
        put_packs(session, pool, [session.get_one(Pack, gamma)], "", site.owner_id)


def test_a_draft_keeps_the_versions_of_pools_and_takes_the_newest_when_asked(site: Site) -> None:
    """A draft of another rule took the newest data: the old predictions were scored as if they were of them."""
    owner, pia = site.owner(), site.member("pia")
    pia.submit()
    finish(site.worker(), 0.5)
    put_another_pack(site)
    rule = {**phase_form(**{"scoring.ranking": "mean_run"}), "act": "version"}
    for sent, number, version in ((rule, 2, 1), ({**rule, "newest_pools": "1"}, 3, 2)):
        where = post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **sent).headers["location"]
        assert where.partition("?")[0].endswith(f"/versions/{number}")
        text = page(owner, where).text
        assert f"Pool, version {version}" in text and "Training, version 1" in text
        kept = version == 1
        words = "the predictions were made under other" in " ".join(text.split())
        assert words != kept
        way = f"{MANAGE}/phases/feedback/versions/{number}/acts/rescore"
        answer = owner.call("POST", way, json={"mode": "score"})
        assert answer.is_success == kept, answer.text
        assert kept or "Data and tasks > Meta-test pool" in answer.text


def test_the_newest_versions_of_pools_are_taken_when_asked(site: Site) -> None:
    owner = site.owner()
    post(owner, FEEDBACK, **phase_form())
    put_another_pack(site)
    post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **phase_form(title="Renamed"))
    assert "meta-test pool small-pool, version 1" in page(owner, FEEDBACK).text
    newest = {"newest_pools": "1", **phase_form(title="Renamed")}
    assert 'name="newest_pools"' in page(owner, FEEDBACK).text
    assert flash(post(owner, FEEDBACK, seen=seen(owner, FEEDBACK), **newest)) == "Saved."
    assert "meta-test pool small-pool, version 2" in page(owner, FEEDBACK).text
    entry = log(site, "phase.change")[-1]
    assert (entry.before, entry.after) == (
        {"tasks.meta_test": "small-pool, version 1"},
        {"tasks.meta_test": "small-pool, version 2"},
    )


def test_the_answer_of_a_save_names_the_pool_that_was_saved(site: Site) -> None:
    owner = site.owner()
    gamma = make_paper_pack(site.services, "gamma")
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="other", name="Other", owner_id=owner.id)
        create_pool_version(session, pool, [session.get_one(Pack, gamma)], created_by=owner.id)
    saved = owner.call("PATCH", f"{MANAGE}/phases/feedback", json={"tasks": {"meta_test": "other"}})
    assert saved.json()["settings"]["tasks"]["meta_test"] == "other"


def test_over_json_the_newest_pools_are_refused_where_there_are_submissions(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    put_another_pack(site)
    phase = f"{MANAGE}/phases/feedback"
    settings = owner.call("GET", phase).json()["settings"]
    assert owner.call("PUT", phase, json=settings).is_success
    assert "meta-test pool small-pool, version 1" in page(owner, FEEDBACK).text
    assert owner.call("PATCH", phase, json={"newest_pools": True}).is_success
    assert "meta-test pool small-pool, version 2" in page(owner, FEEDBACK).text
    with site.services.database.writing() as session:
        pool = session.query(Pool).filter_by(slug="small-pool").one()
        put_packs(session, pool, [session.query(Pack).filter_by(name="alpha").one()], "", site.owner_id)
    pia.submit()
    finish(site.worker(), 0.5)
    for method, body in (("PUT", settings), ("PATCH", {})):
        refused = owner.call(method, phase, json={**body, "newest_pools": True})
        assert refused.status_code == 409 and "tasks.meta_test" in refused.text
    draft = {"settings": settings, "newest_pools": True}
    ways = owner.call("POST", f"{phase}/versions", json=draft).json()["ways"]
    assert "Data and tasks > Meta-test pool" in ways["score"] and ways["meta_test"] is None


@pytest.mark.parametrize("word", ["banana", ""])
def test_registration_is_one_of_three(site: Site, word: str) -> None:
    answer = post(site.owner(), SETTINGS, **settings_form(registration=word))
    assert ("one of open, approval, closed, not" in answer.text) == bool(word)
