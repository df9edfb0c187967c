"""One statement on two entries: brackets, sentences, JSON, CSV and the compare page say the same of every pair."""

import csv
import io
import re
from dataclasses import dataclass

import numpy as np
import pytest

from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from anyshot_scoring.table import TaskTable
from tests.contract.test_jobs import text_of
from tests.platform.admin.results import draw_table, finish_with_table
from tests.platform.site import SLUG, Person, Site

BOARD = f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard"
SENTENCE = {
    "different": "by {size}, more than task sampling alone",
    "undecided": "by {size}, but another draw of tasks could reverse the order",
    "unknown": "by {size}, but there are too few tasks to tell more",
    "equivalent": "For practical purposes",
}


@dataclass(frozen=True)
class Case:
    """The tables of two teams, and what is to be said of them; None: nothing."""

    upper: TaskTable
    lower: TaskTable
    verdict: str | None


def table(skill: float, tasks: int, noise: float = 0.0, **changes: np.ndarray) -> TaskTable:
    """The same hard and easy tasks for everybody, and `noise` of one's own that leaves the mean as it is."""
    own = np.random.default_rng(3).normal(size=tasks)
    drawn = draw_table(0.0, tasks, 0)
    base = 0.1 * np.random.default_rng(1).normal(size=tasks)
    score = skill + base - base.mean() + noise * (own - own.mean())
    columns = {name: getattr(drawn, name) for name in TaskTable.__dataclass_fields__}
    return TaskTable.from_columns(columns | {"normalized_accuracy": score} | changes)


CASES = {
    "a clear difference": Case(table(0.6, 40), table(0.4, 40, 0.05), "different"),
    # The intervals of the two means overlap widely: taken as unpaired they could not be told apart.
    "small, and the same on all tasks": Case(table(0.52, 40), table(0.5, 40, 0.005), "different"),
    "unsure": Case(table(0.42, 40), table(0.4, 40, 0.08), "undecided"),
    "equal": Case(table(0.501, 40), table(0.5, 40, 0.002), "equivalent"),
    "two tasks": Case(table(0.52, 2), table(0.5, 2, 0.01), "undecided"),
    "one task": Case(table(0.6, 1), table(0.4, 1), "undecided"),
    "other tasks": Case(table(0.6, 40), table(0.4, 40, task=np.arange(40) + 7), None),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, site: Site) -> tuple[Site, Case, list[Person], list[str]]:
    made = CASES[request.param]
    site.set_version(tasks=len(made.upper))
    site.set_phase(tasks_visible=True)
    worker, people, ids = site.worker(), [], []
    for name, found in (("ada", made.upper), ("bob", made.lower)):
        people.append(site.member(name))
        assert people[-1].submit().status_code == 201
        ids.append(finish_with_table(worker, found))
    assert [site.submission(one).status for one in ids] == ["finished"] * 2, "results that can be true"
    return site, made, people, ids


@pytest.mark.seconds("a board's model for each of seven pairs")
def test_every_exit_says_the_same_of_a_pair(case: tuple[Site, Case, list[Person], list[str]]) -> None:
    site, made, (ada, bob), ids = case
    first, second = site.client.get(BOARD).json()["rows"]
    assert (first["team"], second["team"], first["against_above"]) == ("ada", "bob", None)
    said = second["against_above"]
    assert (said and said["verdict"]) == made.verdict

    classes = re.findall(
        r'<tr id="row-[^"]*" class="([^"]*)"', page(ada, f"/competitions/{SLUG}/leaderboard")
    )
    joined = made.verdict in ("undecided", "equivalent")
    assert [("bracket--start" in one, "bracket--end" in one) for one in classes] == [
        (joined, False),
        (False, joined),
    ]

    sheet = site.owner().call("GET", f"/competitions/{SLUG}/manage/exports/leaderboards.csv")
    rows = [row for row in csv.DictReader(io.StringIO(sheet.text)) if row["league"] == "free"]
    assert [row["against_above"] for row in rows] == ["", made.verdict or ""]

    sentences = [text_of(page(person, f"/competitions/{SLUG}/leaderboard")) for person in (ada, bob)]
    compared = text_of(compare(site, ids))
    if made.verdict is None:
        assert not any("The row " in text for text in sentences)
        assert "cannot be compared" in compared
        return
    assert (said["better"] is None) == (len(made.upper) < 6) and said["elsewhere"] is None  # three datasets
    kind = "unknown" if said["better"] is None else made.verdict
    words = SENTENCE[kind].format(size=f"{said['difference']:.3f}")
    assert said["difference"] == pytest.approx(first["score"] - second["score"])
    assert float(rows[1]["above_minus_this"]) == pytest.approx(said["difference"])
    assert "The row below:" in sentences[0] and "The row above:" in sentences[1]
    assert all(words in text for text in (*sentences, compared))
    lead = "is better than" if kind == "different" else "is ahead of"
    assert made.verdict == "equivalent" or (
        f"your team {lead} bob" in sentences[0] and f"ada {lead} your team" in sentences[1]
    )
    others = [text for name, text in SENTENCE.items() if name != kind]
    assert "Needs at least 6 datasets (this phase has 3)" in compared or len(made.upper) < 6
    assert not any(text.split("{size}")[-1].strip(",") in compared for text in others)


@pytest.mark.seconds("a board's model")
def test_where_the_worst_run_counts_the_statement_is_about_the_worst_of_other_tasks_too(site: Site) -> None:
    """Ada's runs are 0.5 and 0.51, Bob's 0.7 and 0.49: Ada leads by the worst run, and on average Bob is far better.

    Each run met tasks of its own. With other, easier ones in the second run Bob would lead: the order is not sure.
    """
    site.set_version(tasks=40, train_seeds=[1, 2], test_seeds=[1, 2], ranking_rule="worst_run")
    worker, people, ids = site.worker(), {}, []
    for name, skills in (("ada", (0.5, 0.51)), ("bob", (0.7, 0.49))):
        people[name] = site.member(name)
        assert people[name].submit().status_code == 201
        ids += [finish_with_table(worker, table(skill, 40, 0.005)) for skill in skills]
    first, second = site.client.get(BOARD).json()["rows"]
    assert (first["team"], second["team"]) == ("ada", "bob")
    said = second["against_above"]
    assert (said["verdict"], said["difference"]) == ("undecided", pytest.approx(0.01))
    assert said["low"] < -0.01 < 0.01 < said["high"]
    shown = page(people["bob"], f"/competitions/{SLUG}/leaderboard")
    assert "bracket--start" in shown and "bracket--end" in shown
    assert "ada is ahead of your team by 0.010, but another draw of tasks could reverse the order" in text_of(
        shown
    )
    compared = text_of(compare(site, list(dict.fromkeys(ids))))
    assert "Tasks and datasets are shown by all runs here" in compared


@pytest.mark.seconds("a board's model")
@pytest.mark.parametrize("shared", [False, True])
def test_the_statement_is_by_the_runs_that_the_ranking_goes_by(site: Site, shared: bool) -> None:
    """Bob's second run is far better than both of Ada's, and does not count: Ada is ahead by the first ones."""
    seeds = [1, 1] if shared else [1, 2]
    site.set_version(
        tasks=40, train_seeds=[1, 2], test_seeds=seeds, same_test_tasks=shared, ranking_rule="worst_run"
    )
    worker, ids = site.worker(), []
    for name, skills in (("ada", (0.5, 0.52)), ("bob", (0.46, 0.7))):
        assert site.member(name).submit().status_code == 201
        ids += [finish_with_table(worker, table(skill, 40, 0.005)) for skill in skills]
    first, second = site.client.get(BOARD).json()["rows"]
    said = second["against_above"]
    assert (said["verdict"], said["difference"]) == ("different", pytest.approx(0.04))
    assert said["difference"] == pytest.approx(first["score"] - second["score"])
    compared = text_of(compare(site, list(dict.fromkeys(ids))))
    assert "Tasks and datasets are shown by all runs here" not in compared
    assert "by 0.040, more than task sampling alone" in compared and "Tasks in common 40" in compared


@pytest.mark.parametrize("shared", [False, True])
def test_runs_on_the_same_tasks_are_no_tasks_more(site: Site, shared: bool) -> None:
    """Three runs of 40 tasks: where all have the same ones these are 40 tasks, and decide no more than one run does."""
    unsure = CASES["unsure"]
    seeds = [1, 1, 1] if shared else [1, 2, 3]
    site.set_version(
        tasks=40, train_seeds=[1, 2, 3], test_seeds=seeds, same_test_tasks=shared, ranking_rule="mean_run"
    )
    worker, ids = site.worker(), []
    for name, found in (("ada", table(0.43, 40)), ("bob", unsure.lower)):
        assert site.member(name).submit().status_code == 201
        ids += {finish_with_table(worker, found) for _ in range(3)}
    said = site.client.get(BOARD).json()["rows"][1]["against_above"]
    assert said["verdict"] == ("undecided" if shared else "different")
    assert f"Tasks in common {40 if shared else 120}" in text_of(compare(site, ids))


def compare(site: Site, ids: list[str]) -> str:
    with site.services.database.writing() as session:
        owner = session.get_one(User, site.owner_id)
        cookie = begin_session(session, owner, user_agent="test", days=1).secret
    chosen = "&".join(f"id={one}" for one in ids)
    answer = site.client.get(f"/compare?{chosen}", headers={"cookie": f"{SESSION_COOKIE}={cookie}"})
    assert answer.status_code == 200, answer.text
    return answer.text


def page(person: Person, path: str) -> str:
    answer = person.call("GET", path, headers={"accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_all_pairs_are_judged_as_each_is_on_its_own(site: Site) -> None:
    """One model of the board: what is said of two does not depend on how many are looked at."""
    site.set_version(tasks=40)
    worker, ids = site.worker(), []
    for number, (name, skill) in enumerate((("ada", 0.5), ("bob", 0.47), ("eve", 0.3))):
        assert site.member(name).submit().status_code == 201
        ids.append(finish_with_table(worker, table(skill, 40, 0.01 * number)))
    together, alone = compare(site, ids), compare(site, ids[:2])
    rows = site.client.get(BOARD).json()["rows"]
    low, high = (f"{rows[1]['against_above'][end]:.3f}" for end in ("low", "high"))
    for shown in (together, alone):
        assert f" 0.030 (95 %: {low} to {high})" in text_of(shown), "the same interval everywhere"
    assert f"−0.030 (95 %: −{high} to −{low})" in text_of(together), "and the other way round"


@pytest.mark.seconds("several models")
def test_a_long_board_has_several_models_and_no_row_without_a_statement(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyshot_platform.standings.leaderboards.trust.MOST_ON_A_BOARD", 3)
    site.set_version(tasks=40)
    worker = site.worker()
    for number in range(6):
        assert site.member(f"team{number}").submit().status_code == 201
        finish_with_table(worker, table(0.6 - 0.05 * number, 40, 0.01 * (number % 3)))
    for offset, limit in ((0, 100), (1, 100), (2, 2), (3, 3)):
        rows = site.client.get(BOARD, params={"offset": offset, "limit": limit}).json()["rows"]
        said = [row["against_above"] for row in rows]
        assert said[0] is None and all(said[1:]) and len(rows) == min(limit, 6 - offset)
        assert [one["difference"] for one in said[1:]] == pytest.approx([0.05] * (len(rows) - 1))


def test_a_rule_of_ranks_states_its_pairs_in_ranks(site: Site) -> None:
    site.set_version(tasks=40, ranking_rule="dataset_ranks_worst")
    worker, people = site.worker(), []
    for name, skill in (("ada", 0.6), ("bob", 0.4)):
        people.append(site.member(name))
        assert people[-1].submit().status_code == 201
        finish_with_table(worker, table(skill, 40, 0.01))
    said = site.client.get(BOARD).json()["rows"][1]["against_above"]
    assert (said["verdict"], said["difference"]) == ("different", 1.0)
    shown = text_of(page(people[1], f"/competitions/{SLUG}/leaderboard"))
    assert "by 1.000 average ranks, more than task sampling alone" in shown
