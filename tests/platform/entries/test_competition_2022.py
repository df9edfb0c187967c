"""The competition of 2022, whole, from import to published results: through the pages, and through the command line.

A real worker makes the scores, out of what the table below says that a method answers (`tests.services.known_answers`);
everything else is done as people do it. The tables of winners below are worked out by hand: the
gates of free-style (0.587) and meta-learning (0.361), then the lowest of each entry's three final runs.
"""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from anyshot_core.wire.jobs import Scored
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_worker.carry_out import carry_out
from tests.platform.admin.test_manage import post
from tests.platform.entries.playing import (
    Commands,
    Pages,
    browser,
    close_feedback,
    join_team,
    open_it,
    opened,
)
from tests.platform.site import Person, Site, make_zip
from tests.services.known_answers import Answers, make_worker, scoring, write_coloured_pack

TASKS = 50  # the scores below are thousandths: a twentieth of one of these tasks
SLUG = "cross-domain-metadl-2022"
BASE = f"/competitions/{SLUG}"
# Who uploads what: leagues, feedback score, the three final runs.
PLAN: dict[str, tuple[list[str], float, list[float]]] = {
    "mia": (["free-style"], 0.710, [0.710, 0.699, 0.705]),
    "emma": (["free-style"], 0.690, [0.690, 0.682, 0.700]),
    "carl free": (["free-style"], 0.650, [0.660, 0.646, 0.650]),
    "carl scratch": (["meta-learning"], 0.370, [0.300, 0.265, 0.280]),
    "cd2": (["meta-learning"], 0.380, [0.290, 0.283, 0.285]),
    "weak": (["meta-learning"], 0.360, []),  # below the gate
    "bea": (["free-style", "women"], 0.630, [0.630, 0.615, 0.620]),
    "ada": (["free-style", "women"], 0.620, [0.620, 0.600, 0.610]),
    "ben": (["free-style"], 0.590, [0.595, 0.592, 0.600]),
    "low": (["free-style"], 0.587, []),  # equals the gate
    "kofi": (["rarely-represented-country"], 0.400, [0.590, 0.580, 0.600]),  # no gate there
    "tia": (["rarely-represented-country"], 0.700, []),  # the organizers refuse the team
    "nia": (["new-in-ml"], 0.300, [0.500, 0.510, 0.520]),
    "noa": (["new-in-ml"], 0.310, [0.520, 0.500, 0.540]),  # ties with nia, who uploaded before
    "oscar": (["free-style"], 0.900, []),  # becomes an organizer
    "leo early": (["free-style"], 0.600, [0.600, 0.595, 0.601]),
    "leo late": (["free-style"], 0.660, [0.661, 0.660, 0.670]),  # in time, but still running at the launch
}
WINNERS = {
    "free-style": [
        (1, "mia", 0.699, 400),
        (2, "emma", 0.682, 250),
        (3, "leo", 0.660, 150),
        (4, "CDML", 0.646, 0),
        (5, "Duo", 0.615, 0),
        (6, "ada", 0.600, 0),
        (7, "ben", 0.592, 0),
    ],
    "meta-learning": [(1, "cd2", 0.283, 400), (2, "CDML", 0.265, 250)],
    "new-in-ml": [(1, "nia", 0.500, 400), (2, "noa", 0.500, 250)],
    "women": [(1, "Duo", 0.615, 400), (2, "ada", 0.600, 250)],  # Duo without ben, who left
    "rarely-represented-country": [(1, "kofi", 0.580, 400)],
}
WHO_WINS = [
    "ada",
    "bea",
    "carl",
    "cd2",
    "dana",
    "emma",
    "kofi",
    "leo",
    "mia",
    "nia",
    "noa",
]  # CDML is carl, dana
# emma is disqualified after the publication: who stands below moves up, and so do the prizes.
AFTER = {
    **WINNERS,
    "free-style": [
        (1, "mia", 0.699, 400),
        (2, "leo", 0.660, 250),
        (3, "CDML", 0.646, 150),
        (4, "Duo", 0.615, 0),
        (5, "ada", 0.600, 0),
        (6, "ben", 0.592, 0),
    ],
}


def content_of(method: str) -> bytes:
    return make_zip(salt=method)


METHODS = {hashlib.sha256(content_of(method)).hexdigest(): method for method in PLAN}


def known(site: Site, job: Scored) -> Answers:
    """What comes out of a run: the first, second or third of the final, or the one of the feedback phase."""
    with site.services.database.reading() as session:
        run = session.get_one(Run, job.run_id)
        submission = session.get_one(Submission, run.submission_id)
    _, feedback, finals = PLAN[METHODS[submission.digest]]
    return scoring(finals[run.seed_index] if submission.kind == "final" else feedback, TASKS)


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Set-0, Set-1 and Set-2: twenty classes of forty images each, as in Meta-Album's Mini."""
    folder = tmp_path_factory.mktemp("packs")
    names = ("metadl-set-0", "metadl-set-1", "metadl-set-2")
    return {name: write_coloured_pack(folder, name, 20, 40, salt) for salt, name in enumerate(names)}


def make_pools(site: Site, packs: dict[str, Path]) -> None:
    """What the bundle's pools are found by: their names."""
    for name, path in packs.items():
        pack = add_pack(site.services, path)
        with site.services.database.writing() as session:
            pool = create_pool(session, slug=name, name=name, owner_id=site.owner_id)
            create_pool_version(session, pool, [pack], created_by=site.owner_id)


@pytest.fixture(params=[Pages, Commands])
def way(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pages]:
    """The pages, or the command line."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with opened(request.param, site, tmp_path, SLUG) as made:
        yield made


@pytest.mark.rotating
@pytest.mark.slow("fifty runs of fifty tasks by a real worker")
def test_the_whole_competition(site: Site, way: Pages, packs: dict[str, Path], tmp_path: Path) -> None:
    owner = site.owner()
    worker = make_worker(site, tmp_path, lambda job: known(site, job))
    people = {name: site.person(name) for name in {method.split()[0] for method in PLAN} | {"dana", "lea"}}
    make_pools(site, packs)
    way.bring_in(owner, f"{now() - timedelta(days=20):%Y-%m-%d}")
    open_it(site, SLUG, tasks=TASKS)  # where the bundle says 1,000 and 6,000
    join_team(BASE, browser(site, people["carl"]), browser(site, people["dana"]), "CDML")
    join_team(BASE, browser(site, people["bea"]), browser(site, people["ben"]), "Duo")

    assert post(browser(site, people["ben"]), f"{BASE}/team/leave").status_code == 303  # the team breaks up

    for method, (leagues, *_) in PLAN.items():
        if method != "leo late":
            assert way.submit(people[method.split()[0]], content_of(method), leagues) == ""
            worker.work()
    too_late = post(browser(site, people["dana"]), f"{BASE}/team/leave")
    assert (too_late.status_code, "Your team has submitted." in too_late.text) == (409, True)
    answer_the_questions(way, owner, people)
    post(owner, f"{BASE}/manage/people/add", username="oscar", role="organizer", confirm="oscar")

    assert way.submit(people["leo"], content_of("leo late"), ["free-style"]) == ""
    late = worker.client.claim(worker.announced)
    assert late is not None
    close_feedback(site, SLUG)
    assert "closed" in way.submit(people["lea"], make_zip(salt="too late"), ["free-style"])
    assert "not ended yet" in way.launch(owner)  # leo's second upload still runs
    assert "12 entries are queued." in way.launch(owner, confirm="final", override="1")
    carry_out(late, worker.site)
    assert "1 entry is queued." in way.launch(owner, "leo", confirm="final", override="1")
    worker.work()
    assert way.verify(owner) == WHO_WINS
    way.publish(owner)

    visitor = site.person("vera")
    assert way.results(visitor) == WINNERS
    way.disqualify(owner, "free-style", "emma")
    assert way.results(visitor) == AFTER
    with site.services.database.reading() as session:
        published = session.query(Submission).filter(Submission.code_published_at.is_not(None)).all()
        assert {one.team.name for one in published} == {"mia", "cd2", "nia", "Duo", "kofi"}


def answer_the_questions(way: Pages, owner: Person, people: dict[str, Person]) -> None:
    """Every member answers, then the organizers decide on teams, once."""
    women = {"qualifies": "yes"}
    assert way.answer(people["ada"], "women", **women) == ""
    assert way.answer(people["bea"], "women", **women) == ""
    assert "Confirm: I identify as a woman." in way.answer(people["ben"], "women", qualifies="no")
    for name in ("kofi", "tia"):
        said = {"country": "Ghana, by citizenship", "qualifies": "yes"}
        assert way.answer(people[name], "rarely-represented-country", **said) == ""
    for name in ("nia", "noa"):
        assert way.answer(people[name], "new-in-ml", publications="none", qualifies="yes") == ""
        way.decide(owner, "new-in-ml", name, "admit")
    way.decide(owner, "women", "ada", "admit")
    way.decide(owner, "women", "Duo", "admit")
    way.decide(owner, "rarely-represented-country", "kofi", "admit")
    way.decide(owner, "rarely-represented-country", "tia", "refuse", "its country is one of the ten")
