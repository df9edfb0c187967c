"""Pages of people and teams: who is named, and that their pictures are theirs."""

import re

import pytest

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Visibility
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.identicons import identicon
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.users.models import User
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene

PROFILE, API = "/users/ada", "/api/v1/users/ada"


def _team(scene: Scene) -> str:
    return f"/competitions/{scene.competition.slug}/teams/{scene.team.id}"


def _publish(visitor: Visitor, scene: Scene, public: bool = True) -> None:
    visitor.sign_in(scene.ada)
    fields: dict[str, str | list[str]] = {"display_name": "Ada Lovelace", "affiliation": "Analytical Society"}
    fields |= {"about": "I like *few* shots.", "homepage": "https://example.org/ada", "time_zone": "UTC"}
    visitor.send("/account", "/account", 303, **fields, **({"profile_public": "1"} if public else {}))
    visitor.client.cookies.clear()


def test_a_profile_is_private_until_its_owner_says_otherwise(visitor: Visitor, scene: Scene) -> None:
    _publish(visitor, scene, public=False)
    page = visitor.see(PROFILE)
    assert "ada keeps this profile private" in page
    said = ("Ada Lovelace", "Analytical Society", "example.org/ada", "I like", scene.team.name)
    assert not [words for words in said if words in page]
    assert visitor.client.get(API).json() == {
        **dict.fromkeys(("display_name", "affiliation", "country", "homepage", "about"), ""),
        "username": "ada",
        "shown": False,
        "created_at": None,
        "participations": [],
    }
    visitor.sign_in(scene.ada)
    assert "Only you see this page" in visitor.see(PROFILE) and "Analytical Society" in visitor.see(PROFILE)


def test_a_public_profile_has_teams_and_where_they_stand(visitor: Visitor, scene: Scene) -> None:
    _publish(visitor, scene)
    page = visitor.see(PROFILE)
    for words in ("Ada Lovelace", "Analytical Society", "<em>few</em>", scene.team.name, "Free-style"):
        assert words in page, words
    assert 'href="https://example.org/ada" rel="noopener nofollow ugc"' in page
    (one,) = visitor.client.get(API).json()["participations"]
    board = visitor.client.get(
        f"/api/v1/competitions/{scene.competition.slug}/phases/{scene.phase.slug}/leaderboard"
    ).json()
    row = next(row for row in board["rows"] if row["team"] == scene.team.name)
    standing = next(row for row in one["standings"] if row["league"] == board["league"])
    assert (standing["rank"], standing["ranked"], standing["score"]) == (
        row["rank"],
        board["total"],
        row["score"],
    )
    assert f"{row['rank']} of {board['total']}" in " ".join(page.split())


def test_a_team_names_only_members_who_want_it(visitor: Visitor, scene: Scene) -> None:
    """A team's name may be a pseudonym: others learn its members only from public profiles."""
    page, api = _team(scene), f"/api/v1{_team(scene)}"
    assert "ada" not in re.sub(
        r"<[^>]+>", "", visitor.see(page).partition('id="main"')[2].partition("</main>")[0]
    )
    assert visitor.client.get(api).json()["members"] == [] and visitor.client.get(api).json()["others"]
    for person in (scene.ada, scene.organizer):
        visitor.sign_in(person)
        assert "/users/ada" in visitor.see(page)
    visitor.sign_in(scene.bob)
    assert "/users/ada" not in visitor.see(page)
    _publish(visitor, scene)
    assert visitor.client.get(api).json()["members"] == ["ada"] and "/users/ada" in visitor.see(page)


def test_a_team_says_its_best_rank_its_entries_and_where_its_people_are(
    visitor: Visitor, scene: Scene
) -> None:
    _publish(visitor, scene, public=False)
    visitor.sign_in(scene.organizer)  # sees who the members are, not what they keep to themselves
    page = " ".join(visitor.see(_team(scene)).split())
    assert "Best rank: 4 of 8 in Feedback phase, Free-style" in page
    assert "/users/ada" in page and "Analytical Society" not in page
    visitor.client.cookies.clear()
    _publish(visitor, scene)
    assert "Analytical Society" in visitor.see(_team(scene))
    api = f"/api/v1{_team(scene)}"
    assert {one["entries"] for one in visitor.client.get(api).json()["standings"]} == {2}
    with visitor.services.database.writing() as session:  # what came since is nobody's business yet
        older = session.get_one(Submission, scene.submissions["older"].id)
        phase = session.get_one(Phase, scene.phase.id)
        phase.frozen_at = phase.live.live_at = older.finished_at
    assert {one["entries"] for one in visitor.client.get(api).json()["standings"]} == {1}


def test_a_team_on_no_board_that_one_may_see_is_not_there(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).scores_visible = False
    _publish(visitor, scene)
    visitor.see(_team(scene), 404)
    assert visitor.client.get(API).json()["participations"][0]["standings"] == []
    visitor.sign_in(scene.bob)
    visitor.see(_team(scene), 404)
    visitor.sign_in(scene.ada)
    assert "On no leaderboard yet" in visitor.see(_team(scene))
    visitor.see(f"/competitions/within-domain-2025/teams/{scene.team.id}", 404)


def test_boards_and_discussions_lead_to_teams_and_people(visitor: Visitor, scene: Scene) -> None:
    board = visitor.see(f"/competitions/{scene.competition.slug}/leaderboard")
    assert f'href="{_team(scene)}" title=' in board
    thread = re.search(
        rf'href="(/competitions/{scene.competition.slug}/discussion/\w{{32}})"',
        visitor.see(f"/competitions/{scene.competition.slug}/discussion"),
    )
    assert thread is not None and re.search(r'href="/users/[\w-]+"', visitor.see(thread[1]))


@pytest.mark.parametrize("gone", ["blocked", "erased", "unknown"])
def test_who_is_gone_has_no_page(visitor: Visitor, scene: Scene, gone: str) -> None:
    _publish(visitor, scene)
    with visitor.services.database.writing() as session:
        user = session.get_one(User, scene.ada.id)
        if gone == "blocked":
            user.blocked_at = now()
        elif gone == "erased":
            erase_user(session, user)
    path = "/users/nobody-at-all" if gone == "unknown" else PROFILE
    visitor.see(path, 404)
    assert visitor.client.get(f"/api/v1{path}").status_code == 404


def test_a_competition_that_one_may_not_know_of_is_on_no_profile(visitor: Visitor, scene: Scene) -> None:
    _publish(visitor, scene)
    with visitor.services.database.writing() as session:
        session.get_one(Competition, scene.competition.id).visibility = Visibility.PRIVATE
    assert visitor.client.get(API).json()["participations"] == []
    assert scene.competition.title not in visitor.see(PROFILE)
    visitor.sign_in(scene.ada)
    assert scene.competition.title in visitor.see(PROFILE)


def test_a_picture_is_of_one_name_and_symmetric() -> None:
    drawn = {name: str(identicon(f"user:{name}")) for name in ("ada", "bob", "vera")}
    assert drawn["ada"] == str(identicon("user:ada")) and len(set(drawn.values())) == 3
    assert str(identicon("team:ada")) != drawn["ada"]  # a team called like a person is not that person
    for picture in drawn.values():
        cells = {(int(x), int(y)) for x, y in re.findall(r"M(\d) (\d)h", picture)}
        assert cells and cells == {(4 - x, y) for x, y in cells}
