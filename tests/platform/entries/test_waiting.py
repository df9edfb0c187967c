"""What waits for the organizers' decision: the badge at Leagues and the overview count what the lists show."""

import re

from sqlalchemy import select, update

from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.people.teams.models import Team
from tests.platform.admin.test_manage import BASE, page, post
from tests.platform.entries.test_entries import MANAGE, add_league, join_team, scored
from tests.platform.entries.test_league_conditions import WHY, answer, change
from tests.platform.site import Person, Site

NOTHING = "Nothing to decide"


def waiting(owner: Person) -> tuple[int, int]:
    """What waits, as the badge at Leagues and the overview say."""
    text = " ".join(page(owner, BASE).text.split())
    tabs = " ".join(page(owner, f"{BASE}/leagues").text.split())
    (link,) = re.findall(rf'<a[^>]*href="{BASE}/leagues"[^>]*>(?:(?!</a>).)*Leagues(?:(?!</a>).)*</a>', tabs)
    badge = re.findall(r">\s*(\d+)\s*<", link)
    said = re.findall(r"Entries waiting for a decision: (\d+)", text)
    return int(badge[0]) if badge else 0, int(said[0]) if said else 0


def cards(owner: Person) -> tuple[str, str]:
    """What the page of leagues shows as waiting: of teams, of submissions."""
    text = " ".join(page(owner, f"{BASE}/leagues").text.split())
    teams, _, rest = text.partition("Submissions, and what was found in them")
    submissions = rest.partition("bulkbar")[0].partition("Decided already")[0]
    teams = teams.partition("Teams in leagues with questions")[2].partition("bulkbar")[0]
    return teams.partition("<details")[0], submissions


def delete(owner: Person, submission: str) -> None:
    post(owner, f"{BASE}/submissions/acts", act="delete", confirmed="1", id=submission)


def test_a_submission_that_is_deleted_waits_no_more(site: Site) -> None:
    owner, worker, ada = site.owner(), site.worker(), site.member("ada")
    add_league(site, "reviewed", admission=Admission.APPROVAL)
    made = scored(worker, ada, 0.5, leagues=["reviewed"])
    assert waiting(owner) == (1, 1) and made in cards(owner)[1]
    delete(owner, made)
    assert waiting(owner) == (0, 0) and NOTHING in cards(owner)[1]


def test_a_team_waits_when_it_has_answered_until_it_is_gone_or_out_of_the_ranking(site: Site) -> None:
    owner, ada, eve = site.owner(), site.member("ada"), site.member("eve")
    join_team(site, ada, eve)
    add_league(site, "students", admission=Admission.APPROVAL, questions=[WHY], every_member_qualifies=True)
    answer(ada, "students", why="I study")
    assert waiting(owner) == (0, 0) and NOTHING in cards(owner)[0], "eve must answer first"
    assert "Members must answer first: 1 team</summary>" in " ".join(
        page(owner, f"{BASE}/leagues").text.split()
    )
    answer(eve, "students", why="I study")
    assert waiting(owner) == (1, 1) and "ada in Students" in cards(owner)[0]
    for gone in ({"out_of_ranking": True}, {"out_of_ranking": False, "deleted_at": now()}):
        with site.services.database.writing() as session:
            session.execute(update(Team).where(Team.name == "ada").values(**gone))
        assert waiting(owner) == (0, 0)
        assert owner.call("GET", f"{MANAGE}/teams").json() == []


def test_a_league_that_asks_no_more_has_no_team_that_waits(site: Site) -> None:
    owner, ada = site.owner(), site.member("ada")
    add_league(site, "students", admission=Admission.APPROVAL, questions=[WHY])
    answer(ada, "students", why="I study")
    assert waiting(owner) == (1, 1)
    change(owner, "students", questions=[])
    assert waiting(owner) == (0, 0)


def test_a_submission_that_still_waits_where_teams_are_approved_is_listed_and_decided_on(site: Site) -> None:
    """An earlier release left it behind: the league asked nothing when it came."""
    owner, ada = site.owner(), site.member("ada")
    add_league(site, "students", admission=Admission.APPROVAL, questions=[WHY])
    made = scored(site.worker(), ada, 0.5, leagues=["students"])
    with site.services.database.writing() as session:
        league = session.scalars(select(League).where(League.slug == "students")).one()
        session.execute(
            update(LeagueEntry).where(LeagueEntry.league_id == league.id).values(status=EntryStatus.DECLARED)
        )
    assert waiting(owner) == (1, 1) and made in cards(owner)[1]
    said = {"entries": [{"submission": made, "league": "students"}], "admit": True}
    assert owner.call("POST", f"{MANAGE}/entries/decide", json=said).json()["changed"] == 1
    assert waiting(owner) == (0, 0) and made not in page(owner, f"{BASE}/leagues").text


def test_what_the_settings_made_fail_and_was_deleted_is_not_to_be_run_again(site: Site) -> None:
    owner, rob, worker = site.owner(), site.member("rob"), site.worker()
    made = rob.submit().json()["id"]
    job = worker.claim()
    assert job is not None and worker.fail(job, "BAD_POOL", "no such pool").status_code == 204
    sentence = "Submissions that the settings made fail, to be run again"
    assert f"{sentence}: 1" in " ".join(page(owner, BASE).text.split())
    delete(owner, made)
    shown = " ".join(page(owner, BASE).text.split())
    assert sentence not in shown and "Submissions that failed in the last 24 hours" not in shown
