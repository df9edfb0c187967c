"""The leaderboard's page in the states that people meet first: a search without a hit, no interval, no phase yet."""

import html
import re
from datetime import timedelta

from anyshot_core.evaluations import PointScore
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.states import PhaseKind
from anyshot_platform.foundation.database import now
from anyshot_platform.site.evaluations.view import curve_cards, single_points
from tests.platform.site import SLUG, PaperWorker, Person, Site, summary

BOARD = f"/competitions/{SLUG}/leaderboard"


def read(person: Person, query: str = "") -> str:
    answer = person.call("GET", f"{BOARD}?{query}", headers={"accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def play(site: Site, worker: PaperWorker, name: str, mean: float, half_width: float | None = 0.02) -> Person:
    person = site.member(name)
    assert person.submit().status_code == 201
    job = worker.claim()
    assert job is not None
    assert (
        worker.complete(job, mean, summary={**summary(mean, 10), "half_width": half_width}).status_code == 204
    )
    return person


def test_a_search_without_a_hit_keeps_the_search_and_ones_own_rank(site: Site) -> None:
    worker = site.worker()
    play(site, worker, "first", 0.8)
    pia = play(site, worker, "pia", 0.5)
    shown = read(pia, "q=nobody")
    assert "No team has “nobody” in its name" in shown
    assert 'type="search"' in shown
    assert ">Clear</a>" in shown
    assert "No rows yet" not in shown
    for query in ("", "q=nobody", "q=first"):
        assert "Your team is on rank 2 of 2." in read(pia, query)


def test_a_search_keeps_axis_and_colours_of_the_board(site: Site) -> None:
    worker = site.worker()
    for name, mean in (("first", 0.9), ("second", 0.2), ("pia", 0.5)):
        pia = play(site, worker, name, mean)
    whole, found = read(pia), read(pia, "q=pia")
    (ticks,) = re.findall(r'board__ticks"><span>[^<]+</span><span>[^<]+</span>', whole)
    assert ticks in found and read(pia, "sort=-seconds").count(ticks) == 1
    drawn = [
        next(row for row in page.split("<tr") if "pia</a>" in row).partition("whisker")[2]
        for page in (whole, found)
    ]
    assert drawn[0].partition("</tr>")[0] == drawn[1].partition("</tr>")[0] != ""


def test_before_any_phase_begins_the_board_is_that_of_the_next_one(site: Site) -> None:
    later = now() + timedelta(days=90)
    with site.services.database.writing() as session:
        feedback = session.get_one(Phase, site.phase_id)
        feedback.starts_at = now() + timedelta(days=1)
        final = Phase(
            competition_id=feedback.competition_id,
            slug="final",
            name="Final",
            kind=PhaseKind.FINAL,
            position=1,
            starts_at=later,
        )
        session.add(final)
    shown = read(site.owner())
    assert "Feedback, " in shown
    assert "This phase has not begun" in shown and "appears here within seconds" not in shown
    (opens,) = re.findall(r"It opens on <time[^>]* datetime=\"([^\"]+)\"", shown)
    assert opens[:16] == (now() + timedelta(days=1)).isoformat()[:16]


def test_one_point_of_an_evaluation_is_a_column_by_its_own_name_and_several_are_a_card() -> None:
    """A column “Number of shots” would not say how many; what has no label of its own is not said twice."""

    def score(evaluation: str, title: str, label: str, mean: float) -> PointScore:
        return PointScore(evaluation, title, "", label, label, None, mean, None, 4)

    novel = score("novel", "Novel classes", "Novel classes", 0.4)
    one = score("shots", "Number of shots", "1 shot", 0.5)
    few = [score("far", "Number of shots (far)", f"{number} shots", 0.6) for number in (2, 3)]
    series = {"ada": [novel, one, *few], "bob": few}
    assert single_points(series) == {
        "Novel classes": {"ada": "0.400"},
        "Number of shots: 1 shot": {"ada": "0.500"},
    }
    (card,) = curve_cards(series)
    assert (card.title, card.names) == ("Number of shots (far)", ("ada", "bob"))
