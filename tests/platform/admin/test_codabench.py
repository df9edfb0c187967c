"""Bundles in the shapes in which organizers write them for Codabench and CodaLab."""

import base64
import re
from datetime import UTC, datetime

import pytest

from anyshot_platform.contest.bundles.codabench_columns import metric_of
from anyshot_platform.contest.bundles.codabench_dates import UnclearDate, read_date
from anyshot_platform.contest.bundles.reading import BundleInvalid, CompetitionBundle, read_bundle
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.site.web.markdown import markdown
from tests.platform.admin.zips import zipped
from tests.platform.site import PaperWorker, Person, Site, make_zip, summary
from tests.platform.web.crawling import walk_below

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
VERSION_2 = """\
# Main settings
version: '2'
title: Mini learning – été
description: A benchmark
image: logo.png
registration_auto_approve: True
docker_image: someone/image:latest
enable_detailed_results: True
queue: null
terms: pages/terms.md
pages:
  - title: Overview
    file: pages/overview.md
  - title: Terms
    file: pages/terms.md
  - title: Old page
    file: pages/old.html
tasks:
- index: 0
  name: Development
  input_data: input_data
  reference_data: reference_data
  scoring_program: scoring_program
  ingestion_program: ingestion_program
solutions: []
solutions:
  - {index: 0, tasks: [0], path: solution/}
phases:
- index: 1
  name: Final
  start: 2-1-2026 # never ends
  max_submissions_per_day: 0
  execution_time_limit: 600
  auto_migrate_to_this_phase: true
  tasks: [0]
- index: 0
  name: Development
  description: 'create models
    and submit them'
  start: 1-3-2024
  end: 1-30-2026
  max_submissions_per_day: 5
  max_submissions:
  execution_time_limit:
  hide_output: true
  starting_kit: starting_kit
  tasks: [0]
fact_sheet: {"method": {"key": "method", "type": "text"}}
leaderboards:
- index: 0
  title: Results
  key: main
  submission_rule: "Force_Last"
  columns:
    - {title: Average rank, key: avg_rank, index: 0, sorting: asc, computation: avg, computation_indexes: [1]}
    - {title: Accuracy, key: acc, index: 1, sorting: desc, precision: 4}
    - {title: Duration, key: duration, index: 2, sorting: asc}
"""
FILES_2 = {
    "logo.png": PNG,
    "pages/overview.md": "# Welcome",
    "pages/terms.md": "Agree.",
    "pages/old.html": "<h1>Été</h1><script>alert(1)</script>".encode("latin-1"),
}
VERSION_15 = """\
title: A shared task
description: Somewhere
image: missing.png
has_registration: true
force_submission_to_leaderboard: true
admin_names: one,two
allow_teams: True
end_date: 2019-03-01
html: {overview: overview.html, evaluation: evaluation.html, terms: terms.html, 参加チーム一覧: teams.html}
leaderboard:
  leaderboards:
    RESULTS: &RESULTS {label: Results, rank: 1}
    Times: &TIME {label: Times, rank: 2}
  columns:
    task_fscore:
      leaderboard: *RESULTS
      label: F
      rank: 2
      numeric_format: 5
    task_accuracy: {leaderboard: *RESULTS, label: Acc, rank: 1}
    TIMEX3_precision: {leaderboard: *TIME, label: P, rank: 1}
    beauty: {leaderboard: *TIME, label: Beauty, rank: 2}
phases:
  1:
    phasenumber: 1
    label: "予備戦"
    color: grey
    start_date: 2018-08-20 00:00:00+09:00
    max_submissions: 999
    max_submissions_per_day: 10
    scoring_program: !!python/unicode 'datasets/None/program.zip'
    reference_data: 542e4557-9170-48c5-83e2-110921bcab45
    is_scoring_only: true
  2:
    phasenumber: 2
    label: Evaluation
    start_date: 2019-01-10
    auto_migration: true
    execution_time_limit: 500
    leaderboard_management_mode: hide_results
"""
FILES_15 = {
    name: f"<p>{name}</p>" for name in ("overview.html", "evaluation.html", "terms.html", "teams.html")
}


def notices(bundle: CompetitionBundle) -> str:
    return "\n".join(str(notice) for notice in bundle.without_equivalent)


def test_version_2_takes_over_what_has_an_equivalent() -> None:
    bundle = read_bundle(zipped({"competition.yaml": VERSION_2, **FILES_2}))
    spec = bundle.spec
    assert bundle.format == "Codabench 2"
    assert (spec.title, spec.slug) == ("Mini learning – été", "mini-learning-ete")
    assert [page.title for page in spec.pages] == ["Overview", "Terms", "Old page"]
    assert bundle.files[spec.pages[2].file].decode() == "<h1>Été</h1><script>alert(1)</script>"
    assert bundle.files[spec.terms or ""] == b"Agree."
    assert bundle.files[spec.logo or ""] == PNG
    development, final = spec.phases
    assert development.start == datetime(2024, 1, 3, tzinfo=UTC)
    assert development.end == datetime(2026, 1, 30, tzinfo=UTC)
    assert (development.quota.per_day, development.quota.total) == (5, None)
    assert development.shown.logs == "nothing"
    assert (final.kind, final.end, final.quota.per_day, final.budget.run) == ("final", None, None, 600.0)
    assert final.entries is not None
    assert final.entries.phase == development.key
    columns = [(column.metric, column.decimals) for column in spec.leagues[0].columns]
    assert columns == [("accuracy", 4), ("duration", 2)]


def test_version_2_lists_what_has_no_equivalent() -> None:
    said = notices(read_bundle(zipped({"competition.yaml": VERSION_2, **FILES_2})))
    for expected in (
        "line 7: docker_image",
        "line 8: enable_detailed_results",
        "tasks: Anyshot draws hidden tasks",
        "solutions: stands twice",
        "the column 'Average rank' has no metric of ours",
        "'1-3-2024' was read as month, day, year",
        "starting_kit",
        "0 means no limit there",
        "choose pools, protocol and number of tasks",
    ):
        assert expected in said, expected


def test_public_submissions_of_codabench_are_said_not_to_be_listed() -> None:
    """The report said that they are shown as the phase says, which no setting did."""
    text = f"{VERSION_2}can_participants_make_submissions_public: true\n"
    said = notices(read_bundle(zipped({"competition.yaml": text, **FILES_2})))
    assert "can_participants_make_submissions_public: others' submissions are not listed here" in said


def test_version_15_is_known_by_its_shape() -> None:
    bundle = read_bundle(zipped({"competition.yaml": VERSION_15, **FILES_15}))
    spec = bundle.spec
    assert bundle.format == "CodaLab 1.5"
    assert spec.registration == "approval"
    assert spec.team_size > 1
    assert [page.title for page in spec.pages] == ["Overview", "Evaluation", "参加チーム一覧"]
    first, second = spec.phases
    assert first.title == "予備戦"
    assert first.start == datetime(2018, 8, 19, 15, tzinfo=UTC)
    assert first.end == second.start == datetime(2019, 1, 10, tzinfo=UTC)
    assert second.end == datetime(2019, 3, 1, tzinfo=UTC)
    assert second.shown.board == "organizers"
    assert [(league.key, [c.metric for c in league.columns]) for league in spec.leagues] == [
        ("results", ["accuracy", "macro_f1"]),
        ("times", ["macro_precision"]),
    ]
    said = notices(bundle)
    for expected in (
        "admin_names",
        "missing.png",
        "scoring_program",
        "the column 'Beauty'",
        "is_scoring_only",
    ):
        assert expected in said, expected


def test_parallel_phases_lose_their_parent() -> None:
    text = VERSION_15.replace("    color: grey", "    is_parallel_parent: true").replace(
        "    auto_migration: true", "    parent_phasenumber: 1"
    )
    bundle = read_bundle(zipped({"competition.yaml": text, **FILES_15}))
    assert [phase.title for phase in bundle.spec.phases] == ["Evaluation"]
    assert "a parent of parallel phases" in notices(bundle)


def test_what_cannot_be_taken_over_is_a_problem_with_its_line() -> None:
    broken = VERSION_2.replace("start: 1-3-2024", "start: soon")
    with pytest.raises(BundleInvalid) as caught:
        read_bundle(zipped({"competition.yaml": broken, **FILES_2}))
    said = [str(problem) for problem in caught.value.problems]
    assert any("'soon' is not a date" in line for line in said)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-20", datetime(2024, 3, 20, tzinfo=UTC)),
        ("8-01-2025", datetime(2025, 8, 1, tzinfo=UTC)),
        ("31/12/2025", datetime(2025, 12, 31, tzinfo=UTC)),
        ("12/31/2025 23:59", datetime(2025, 12, 31, 23, 59, tzinfo=UTC)),
        ("June 5, 2022", datetime(2022, 6, 5, tzinfo=UTC)),
        ("5 Jun 2022", datetime(2022, 6, 5, tzinfo=UTC)),
        ("2022-06-05T10:00:00+02:00", datetime(2022, 6, 5, 8, tzinfo=UTC)),
        ("2019-09-01 14:59:00", datetime(2019, 9, 1, 14, 59, tzinfo=UTC)),
    ],
)
def test_dates_as_people_write_them(text: str, expected: datetime) -> None:
    assert read_date(text)[0] == expected


@pytest.mark.parametrize("text", ["soon", "30-30-2024", "2024", "2024-13-45"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(UnclearDate):
        read_date(text)


def test_metrics_are_known_by_key_or_title() -> None:
    assert metric_of("col_1", "Balanced accuracy") == "balanced_accuracy"
    assert metric_of("norm_acc", "Score") == "normalized_accuracy"
    assert metric_of("Time", "Excecution Time") == "duration"
    assert metric_of("challenge_score", "Challenge Score") is None


def changed(*pairs: tuple[str, str], files: dict[str, bytes] | None = None) -> CompetitionBundle:
    """Version 2 with other words in it."""
    text = VERSION_2
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return read_bundle(zipped({"competition.yaml": text, **FILES_2, **(files or {})}))


def test_codabenchs_defaults_count_where_a_phase_is_silent() -> None:
    """The review: 12 of 16 bundles rely on 5 a day, 100 in all, 600 s, and got no limit."""
    final = changed(("  max_submissions_per_day: 0\n  execution_time_limit: 600\n", "")).spec.phases[1]
    assert (final.quota.per_day, final.quota.total, final.budget.run) == (5, 100, 600.0)
    bundle = read_bundle(zipped({"competition.yaml": VERSION_15, **FILES_15}))
    first, second = bundle.spec.phases
    assert (first.quota.total, first.quota.per_day, first.budget.run) == (999, 10, 300.0)
    assert (second.quota.total, second.quota.per_day, second.budget.run) == (100, 999, 500.0)


@pytest.mark.parametrize(("forced", "chooses"), [("true", False), ("false", True)])
def test_in_codalab_a_team_puts_its_submission_on_the_board_unless_it_is_forced(
    forced: str, chooses: bool
) -> None:
    text = VERSION_15.replace("leaderboard: true", f"leaderboard: {forced}")
    phases = read_bundle(zipped({"competition.yaml": text, **FILES_15})).spec.phases
    assert [phase.scoring.team_chooses for phase in phases] == [chooses, False]  # the second is blind
    best = text.replace(
        "    color: grey\n", "    color: grey\n    force_best_submission_to_leaderboard: true\n"
    )
    first = read_bundle(zipped({"competition.yaml": best, **FILES_15})).spec.phases[0]
    assert (first.scoring.board_shows, first.scoring.team_chooses) == ("best", False)


def test_a_missing_text_stops_no_import_and_is_something_to_do() -> None:
    """The review: a bundle was refused because its terms were not in it."""
    bundle = changed(
        ("terms: pages/terms.md", "terms: gone.md"), ("file: pages/overview.md", "file: lost.md")
    )
    assert (bundle.spec.terms, [page.title for page in bundle.spec.pages]) == (None, ["Terms", "Old page"])
    left = {notice.message: notice.place for notice in bundle.without_equivalent}
    assert left["the file 'gone.md' is not in the bundle: write 'terms' here"] == "/pages"
    assert left["the file 'lost.md' is not in the bundle: write 'Overview' here"] == "/pages"


def test_phases_that_are_all_over_are_said_to_be_moved() -> None:
    said = notices(read_bundle(zipped({"competition.yaml": VERSION_15, **FILES_15})))
    assert "all phases are over: move their dates" in said
    later = VERSION_15.replace("2019-03-01", "2999-03-01")
    assert "all phases are over" not in notices(read_bundle(zipped({"competition.yaml": later, **FILES_15})))


def test_two_images_of_one_name_stay_two() -> None:
    page = b"![one](plot.png) ![two](../plot.png)"
    other = b"\x89PNG\r\n\x1a\n" + bytes(41)
    bundle = changed(files={"pages/overview.md": page, "pages/plot.png": PNG, "plot.png": other})
    text = bundle.files[bundle.spec.pages[0].file].decode()
    assert text == "![one](files/plot.png) ![two](files/plot-2.png)"
    assert (bundle.files["files/plot.png"], bundle.files["files/plot-2.png"]) == (PNG, other)


def test_a_hidden_board_is_shown_to_nobody() -> None:
    hidden = ("  key: main\n", "  key: main\n  hidden: True\n")
    assert {phase.shown.board for phase in changed(hidden).spec.phases} == {"organizers"}
    other = (
        "leaderboards:\n",
        "leaderboards:\n- {index: 1, title: Private, key: private, hidden: true, columns: []}\n",
    )
    bundle = changed(other)
    assert [league.title for league in bundle.spec.leagues] == ["Results"]
    assert {phase.shown.board for phase in bundle.spec.phases} == {"everyone"}
    assert "the board 'Private' is hidden there" in notices(bundle)


@pytest.mark.parametrize(
    ("rule", "board", "chooses"),
    [
        ("Force_Best", "best", False),
        ("Force_Last", "last", False),
        ("Add", "last", True),
        ("Odd", "last", False),
    ],
)
def test_the_rule_of_a_board_is_kept(rule: str, board: str, chooses: bool) -> None:
    bundle = changed(('"Force_Last"', f'"{rule}"'))
    assert {(one.scoring.board_shows, one.scoring.team_chooses) for one in bundle.spec.phases} == {
        (board, chooses)
    }
    assert ("boards follow the rules Odd" in notices(bundle)) == (rule == "Odd")


OPEN = (  # both phases, the first of them open now
    ("end: 1-30-2026", "end: 1-30-2999"),
    ("start: 2-1-2026", "start: 2-1-2999"),
)
RULE = '  submission_rule: "Force_Last"\n'


def imported(site: Site, *pairs: tuple[str, str]) -> str:
    """Import version 2 with other words, give its first phase data, publish it; the address of that phase."""
    text = VERSION_2
    for old, new in (*OPEN, *pairs):
        assert old in text, old
        text = text.replace(old, new)
    content = zipped({"competition.yaml": text, **FILES_2})
    sent = site.owner().call("POST", "/organize/import", files={"bundle": ("x.zip", content)})
    assert sent.url.path.endswith("/manage/import"), sent.text
    with site.services.database.writing() as session:
        known = session.get_one(Phase, site.phase_id).versions[0]
        phase = session.query(Phase).filter_by(slug="development").one()
        version = phase.versions[0]
        for name in ("meta_train_pool_version_id", "meta_test_pool_version_id", "protocol", "tasks"):
            setattr(version, name, getattr(known, name))
        version.train_seeds, version.test_seeds = [93], [94]
        phase.competition.state = CompetitionState.PUBLISHED
    return "/competitions/mini-learning-ete/phases/development"


def play_twice(site: Site, phase: str) -> tuple[Person, list[str]]:
    """A participant uploads twice and scores 0.8, then 0.6; the ids of both submissions."""
    ada = site.person("ada")
    competition = phase.partition("/phases")[0]
    joined = ada.call("POST", f"/api/v1{competition}/join", json={"accepts_terms": True})
    assert joined.status_code == 200, joined.text
    worker = site.worker()
    return ada, [play(worker, ada, phase, mean) for mean in (0.8, 0.6)]


def play(worker: PaperWorker, ada: Person, phase: str, mean: float) -> str:
    """Submit to a phase and have it scored; the submission's id."""
    upload = ada.upload(make_zip(salt=str(mean)))
    sent = ada.call("POST", f"/api/v1{phase}/submissions", json={"upload_id": upload})
    assert sent.status_code == 201, sent.text
    job = worker.claim()
    assert job is not None and job["budget"]["run_seconds"] == 600.0
    metrics = [{"key": "accuracy", "mean": 0.87654, "half_width": 0.01, "tasks": 10}]
    done = worker.complete(job, mean, summary={**summary(mean, job["tasks"]), "metrics": metrics})
    assert done.status_code < 300, done.text
    return str(sent.json()["id"])


def row(site: Site, phase: str) -> str:
    """What a visitor without an account reads in the rows of a phase's board."""
    return seen(site, phase, re.compile(r"<tbody>(.*?)</tbody>", re.DOTALL))


def seen(site: Site, phase: str, part: re.Pattern[str] = re.compile(r"(.*)", re.DOTALL)) -> str:
    """What a visitor without an account reads on the page of a phase's board, or in a part of it."""
    competition, _, key = phase.partition("/phases/")
    answer = site.client.get(
        f"{competition}/leaderboard", params={"phase": key}, headers={"accept": "text/html"}
    )
    assert answer.status_code == 200, answer.text
    found = part.search(answer.text)
    assert found is not None, answer.text
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


SECOND = "leaderboards:\n- {index: 1, title: Other, key: other, submission_rule: Force_Best, columns: []%s}\n"


@pytest.mark.seconds("a competition for each rule")
@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("Force_Best", "0.800"),
        ("Force_Last", "0.600"),
        ("Add", "0.600"),
        ("Add_And_Delete_Multiple", "0.600"),
        ("Force_Latest_Multiple", "0.600"),
        ("Best, then Force_Last", "0.800"),
        ("hidden Best, then Force_Last", "0.600"),
    ],
)
def test_the_board_of_an_imported_competition_follows_its_rule(site: Site, rule: str, shown: str) -> None:
    """A board that names no rule follows Codabench's `Add`: a participant puts a submission on it.

    Of boards with different rules the first counts, a hidden one beside others for nothing.
    """
    words = "" if rule == "Add" else RULE if "then" in rule else RULE.replace("Force_Last", rule)
    second = SECOND % (", hidden: true" if "hidden" in rule else "") if "then" in rule else "leaderboards:\n"
    phase = imported(site, (RULE, words), ("leaderboards:\n", second))
    ada, (first, _) = play_twice(site, phase)
    assert f"ada {shown}" in row(site, phase)
    assert row(site, phase).count("ada") == 1  # also where several of a participant stand on the board there
    chosen = ada.call("PUT", f"/api/v1{phase}/entries/results", json={"submission": first})
    assert chosen.status_code == (200 if rule.startswith("Add") else 403)
    assert ("ada 0.800" in row(site, phase)) == (shown == "0.800" or rule.startswith("Add"))
    report = site.owner().call("GET", "/api/v1/competitions/mini-learning-ete/manage/import").json()
    said = " ".join(one["words"] for one in report["todo"])
    assert ("boards follow the rules Force_Best, Force_Last" in said) == (rule == "Best, then Force_Last")
    assert ("here it is one of each team" in said) == rule.endswith("_Multiple")


def test_a_board_that_is_ordered_by_average_rank_ranks_by_dataset_here(site: Site) -> None:
    """The leading column was dropped without a remark, and the board was ordered by the mean."""
    phase = imported(site)
    play_twice(site, phase)
    assert "The average of these ranks counts, lower is better" in seen(site, phase)
    report = site.owner().call("GET", "/api/v1/competitions/mini-learning-ete/manage/import").json()
    places = [
        one["place"] for one in report["todo"] if "ordered by the column 'Average rank'" in one["words"]
    ]
    assert places == ["/phases"]


@pytest.mark.parametrize(
    ("pairs", "ranking", "words"),
    [
        (
            [],
            "dataset_ranks_worst",
            "ordered by the column 'Average rank' there: here submissions are ranked",
        ),
        (
            [("sorting: asc, computation", "sorting: desc, computation")],
            "worst_run",
            "'Average rank' there, then",
        ),
        (
            [("  key: main", "  key: main\n  primary_index: 1")],
            "worst_run",
            "'Accuracy' there, then by the others",
        ),
        (
            [("  key: main", "  key: main\n  primary_index: 2")],
            "worst_run",
            "'Duration' there, lowest first, then",
        ),
    ],
)
def test_the_order_of_a_board_is_kept_or_said(pairs: list[tuple[str, str]], ranking: str, words: str) -> None:
    bundle = changed(*pairs)
    assert {phase.scoring.ranking for phase in bundle.spec.phases} == {ranking}
    said = [one for one in bundle.without_equivalent if "is ordered by the column" in one.message]
    assert len(said) == 1 and words in said[0].message and said[0].place == "/phases", said


def test_a_board_of_normalized_accuracy_alone_has_the_same_order_here() -> None:
    start = VERSION_2.index("    - {title: Average rank")
    text = VERSION_2[:start] + "    - {title: Normalized accuracy, key: nacc, index: 0, sorting: %s}\n"
    for sorting, said in (("desc", False), ("asc", True)):
        bundle = read_bundle(zipped({"competition.yaml": text % sorting, **FILES_2}))
        assert ("is ordered by the column" in notices(bundle)) == said


def test_columns_stand_in_the_order_of_their_index() -> None:
    bundle = changed(("key: acc, index: 1", "key: acc, index: 7"))
    assert [column.metric for column in bundle.spec.leagues[0].columns] == ["duration", "accuracy"]


def test_in_codalab_the_first_column_orders_and_an_average_is_of_ranks() -> None:
    bundle = read_bundle(zipped({"competition.yaml": VERSION_15, **FILES_15}))
    assert "the board 'Results' is ordered by the column 'Acc' there, then by the others" in notices(bundle)
    assert bundle.spec.phases[0].scoring.ranking == "worst_run"
    text = VERSION_15.replace("label: Acc,", "label: Acc, computed: {operation: Avg, fields: task_fscore},")
    bundle = read_bundle(zipped({"competition.yaml": text, **FILES_15}))
    assert {phase.scoring.ranking for phase in bundle.spec.phases} == {"dataset_ranks_worst"}


def test_a_phase_that_entries_migrate_to_takes_no_uploads_and_says_so(site: Site) -> None:
    imported(site, ("start: 2-1-2999", "start: 2-1-2025"))
    ada = site.person("ada")
    ada.call("POST", "/api/v1/competitions/mini-learning-ete/join", json={"accepts_terms": True})
    sent = ada.call(
        "POST",
        "/api/v1/competitions/mini-learning-ete/phases/final/submissions",
        json={"upload_id": ada.upload(make_zip())},
    )
    assert sent.status_code == 409 and "“Final” takes no uploads." in sent.json()["message"], sent.text
    report = site.owner().call("GET", "/api/v1/competitions/mini-learning-ete/manage/import").json()
    (said,) = [one for one in report["todo"] if "takes no uploads here" in one["words"]]
    assert "what counts in 'Development' comes over as you launch the phase" in said["words"]
    assert said["place"] == "/phases"
    text = VERSION_15.replace("auto_migration: true", "auto_migration: false")
    for words, carried in ((VERSION_15, True), (text, False)):
        bundle = read_bundle(zipped({"competition.yaml": words, **FILES_15}))
        assert ("auto_migration: takes no uploads here" in notices(bundle)) == carried


def test_what_is_hidden_there_is_hidden_from_a_visitor_here(site: Site) -> None:
    """The review: `hidden: True` became a board shown to everyone, without a remark."""
    phase = imported(site, ("  key: main\n", "  key: main\n  hidden: True\n"))
    ada, _ = play_twice(site, phase)
    assert "0.6000" not in seen(site, phase) and "only the organizers see the leaderboard" in seen(
        site, phase
    )
    for person in (site.person("visitor"), ada):
        assert person.call("GET", f"/api/v1{phase}/leaderboard").status_code == 403
    assert site.owner().call("GET", f"/api/v1{phase}/leaderboard").status_code == 200


@pytest.mark.parametrize("hidden", ["true", "false", "'False'", ""])
def test_a_hidden_column_is_no_column_of_the_board(site: Site, hidden: str) -> None:
    """It was shown to all, with the advice to remove it."""
    flag = f", hidden: {hidden}" if hidden else ""
    shown = "key: acc, index: 1, sorting: desc"
    phase = imported(site, (f"{shown}, precision: 4", shown + flag))
    play_twice(site, phase)
    board, secret = row(site, phase), hidden == "true"
    assert ("0.88" in board, "Accuracy" in seen(site, phase)) == (not secret, not secret)
    assert "0.877" not in board  # two digits where a column does not say, as there
    report = site.owner().call("GET", "/api/v1/competitions/mini-learning-ete/manage/import").text
    assert ("the column 'Accuracy' is hidden there" in report) == secret


def test_hidden_files_of_scoring_hide_no_board(site: Site) -> None:
    """Codabench's `hide_score_output` keeps back the download of one file; scores and boards stay."""
    phase = imported(site, ("  hide_output: true\n", "  hide_score_output: true\n"))
    ada, (first, _) = play_twice(site, phase)
    assert "ada 0.600" in row(site, phase)
    assert ada.call("GET", f"/api/v1/submissions/{first}").json()["score"] == 0.8
    report = site.owner().call("GET", "/api/v1/competitions/mini-learning-ete/manage/import").text
    assert "it hides the files of scoring alone" in report


def test_in_a_blind_phase_of_codalab_a_team_sees_no_score() -> None:
    """There `hide_results` hides the board and the scores of one's own submissions, and the last one counts."""
    text = VERSION_15.replace("leaderboard: true", "leaderboard: false")
    first, blind = read_bundle(zipped({"competition.yaml": text, **FILES_15})).spec.phases
    assert (blind.shown.scores, blind.shown.board, blind.scoring.team_chooses) == (False, "organizers", False)
    assert (first.shown.scores, first.shown.board, first.scoring.team_chooses) == (True, "everyone", True)


def test_quotas_of_codabench_hold_for_who_uploads(site: Site) -> None:
    """The sixth upload of a day is refused where the phase says nothing."""
    phase = imported(site, ("  max_submissions_per_day: 5\n  max_submissions:\n", ""))
    ada, _ = play_twice(site, phase)
    worker = site.worker("second")
    for mean in (0.1, 0.2, 0.3):
        play(worker, ada, phase, mean)
    sent = ada.call("POST", f"/api/v1{phase}/submissions", json={"upload_id": ada.upload(make_zip(salt="6"))})
    assert (sent.status_code, sent.json()["limit"]) == (429, 5), sent.text


def test_several_submissions_on_a_board_there_are_one_here() -> None:
    for rule in ("Force_Latest_Multiple", "Add_And_Delete_Multiple"):
        assert "several submissions of a participant" in notices(changed(("Force_Last", rule)))
    assert "several submissions of a participant" not in notices(changed())


def test_fact_sheet_contact_and_reward_are_taken_over() -> None:
    sheet = """fact_sheet:
  method: {key: method, type: text, title: "Which method?", is_required: "true"}
  data: {key: data, type: select, title: "Which data?", selection: [a, b]}
contact_email: someone@example.org
reward: 1000 euros
"""
    bundle = changed(('fact_sheet: {"method": {"key": "method", "type": "text"}}\n', sheet))
    spec = bundle.spec
    assert [(one.key, one.label, one.required) for one in spec.fact_sheet] == [
        ("method", "Which method?", True),
        ("data", "Which data?", False),
    ]
    assert (spec.contact, spec.prizes) == ("someone@example.org", "1000 euros")
    assert "its choices are not taken over" in notices(bundle)


def test_images_of_pages_come_along() -> None:
    """The review: 21 of 111 real pages lost their images without a remark, also those in the bundle."""
    page = b"![A](img/a%20b.png) ![plot](plot.png)\n<p><img width=3 src='../logo.png'></p> ![x](https://elsewhere.org/x.png)"
    bundle = changed(files={"pages/overview.md": page, "pages/plot.png": PNG})
    text = bundle.files[bundle.spec.pages[0].file].decode()
    assert "![plot](files/plot.png)" in text and "src='files/logo.png'" in text
    assert bundle.files["files/plot.png"] == PNG and bundle.files["files/logo.png"] == PNG
    assert "1 image of this page cannot be shown" in notices(bundle)
    assert "1 image of this page cannot be shown: other hosts" in notices(bundle)
    assert "files/NAME in the page (https://elsewhere.org/x.png)" in notices(bundle)


def test_formulas_of_pages_are_drawn() -> None:
    """The review: 4 of 111 real pages hold formulas that stayed raw; most of them are HTML."""
    html = (
        rb"<p>The score \( c_{1} \) is 3 (\$5).</p>\n<div>\[ \frac{c}{w} \]</div>\n\nAnd \(x\), [a \(b](c)."
    )
    bundle = changed(files={"pages/overview.md": html.replace(b"\\n", b"\n").replace(b"\\", b"\x5c")})
    text = bundle.files[bundle.spec.pages[0].file].decode()
    assert "$c_{1}$" in text and "$$\\frac{c}{w}$$" in text and "And $x$, [a \\(b](c)" in text
    assert str(markdown(text)).count("<math") == 3
    assert "3 formulas written as" in notices(bundle)


def test_images_written_into_a_page_become_files(site: Site) -> None:
    """Codabench's editor writes them so; no other host is asked for anything, so a page here shows files alone."""
    one, two = (base64.b64encode(PNG + bytes([number])).decode() for number in range(2))
    page = (
        f'<img src="data:image/png;base64,{one}">\n\n![b](data:image/png;base64,{two}) '
        "![c](data:image/png;base64,@@) ![d](scan.tif) ![e](empty.png)"
    ).encode()
    files = {**FILES_2, "pages/overview.md": page, "pages/scan.tif": b"II*", "pages/empty.png": b""}
    content = zipped({"competition.yaml": VERSION_2, **files})
    bundle = read_bundle(content)
    text = bundle.files[bundle.spec.pages[0].file].decode()
    assert '<img src="files/image.png">' in text and "![b](files/image-2.png)" in text
    assert bundle.files["files/image-2.png"] == PNG + b"\1"
    assert "3 images of this page" in notices(bundle) and "files/scan.tif" not in bundle.files
    sent = site.owner().call("POST", "/organize/import", files={"bundle": ("x.zip", content)})
    assert sent.url.path.endswith("/manage/import"), sent.text


def test_parallel_phases_end_with_the_competition() -> None:
    """MetaDL of NeurIPS 2021 has five; four of them stayed open for ever."""
    text = VERSION_15.replace("start_date: 2019-01-10", "start_date: 2018-08-20 00:00:00+09:00")
    phases = read_bundle(zipped({"competition.yaml": text, **FILES_15})).spec.phases
    assert [phase.end for phase in phases] == [datetime(2019, 3, 1, tzinfo=UTC)] * 2


@pytest.mark.seconds("a whole import")
def test_the_report_of_an_import_is_kept_and_grouped(site: Site) -> None:
    """The review: 59 remarks of which 25 are one sentence, on the answer to a POST, never to be read again."""
    owner = site.owner()
    content = zipped({"competition.yaml": VERSION_2, **FILES_2})
    sent = owner.call(
        "POST",
        "/organize/import",
        files={"bundle": ("x.zip", content)},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    where = "/competitions/mini-learning-ete/manage/import"
    assert (sent.status_code, sent.headers["location"]) == (303, where)
    report = owner.call("GET", f"/api/v1{where}").json()
    assert report["format"] == "Codabench 2"
    assert {"2 phases: Development, Final", "1 league: Results", "3 pages", "the logo"} <= set(
        report["taken"]
    )
    todo = {row["words"]: row["place"] for row in report["todo"]}
    (once,) = [words for words in todo if "choose pools, protocol" in words]
    assert once.startswith("lines ") and todo[once] == "/phases"  # two phases, one remark
    assert any("Average rank" in words for words in report["without_equivalent"])
    log = where.replace("/import", "/audit")
    for said in (owner.call("GET", f"/api/v1{log}").text, owner.call("GET", log).text):
        assert "3 pages" in said and "said_as" not in said, "the log has sentences, not how they are kept"
    for _ in range(2):
        shown = owner.call("GET", where, headers={"accept": "text/html"}).text
        assert "What you must do" in shown and f'href="{where.removesuffix("/import")}/phases"' in shown
    assert (
        f'href="{where}"'
        in owner.call("GET", where.removesuffix("/import"), headers={"accept": "text/html"}).text
    )
    inside = where.removesuffix("/manage/import")
    opened, broken = walk_below(owner, owner.client, inside, where)
    assert not broken and len(opened) > 20, "every page of an imported competition and what it shows"
    made = "/competitions/small/manage/import"
    assert owner.call("GET", made).status_code == 404  # not imported
