"""Acts of organizers that change scores, data or who is told: what each does, down to what a worker is given."""

import ast
import csv
import hashlib
import importlib.metadata
import io
import json
import re
import sys
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.actions.acts import pools_to_publish, publish_if_over
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.standings.baselines.actions.service import fetch_zip
from anyshot_platform.standings.baselines.models import Baseline
from tests.platform.admin.results import draw_table, finish_with_results
from tests.platform.admin.test_manage import BASE, acts, finish, flash, page, phase_form, post
from tests.platform.admin.test_reproduced_boards import FOLLOW, reproduce, unpack
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_paper_pack, summary


def draft(site: Site, **changes: Any) -> str:
    """A drafted second version of the feedback phase; its address."""
    owner = site.owner()
    made = post(owner, f"{BASE}/phases/feedback", act="version", **phase_form(**changes))
    assert made.headers["location"].endswith("/versions/2"), made.text
    return f"{BASE}/phases/feedback/versions/2"


def finish_keeping(worker: PaperWorker, mean: float, *names: str) -> None:
    """Complete the next run and leave these files."""
    job = worker.claim()
    assert job is not None
    kept = []
    for name in names:
        content = f"{name} of {job['run_id']}".encode()
        assert worker.put(job, name, content).is_success
        kept.append({"name": name, "digest": hashlib.sha256(content).hexdigest(), "size": len(content)})
    assert worker.complete(job, mean, artifacts=kept).status_code == 204


def test_a_version_that_changes_the_rule_alone_is_scored_from_predictions(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    submission = site.member("pia").submit().json()["id"]
    finish_keeping(worker, 0.5, "predictions.parquet")
    version = draft(site, **{"scoring.ranking": "mean_run"})
    assert "Not possible" not in page(owner, version).text
    assert flash(post(owner, f"{version}/rescore", mode="score")) == "1 run is queued."
    job = worker.claim()
    assert job is not None
    assert job["kind"] == "score" and "learner" not in job
    assert job["predictions"]["size"] > 0
    worker.complete(job, 0.55)
    post(owner, f"{version}/make-live", confirm="feedback")
    assert site.submission(submission).score == 0.55


def test_a_version_with_other_tasks_is_tested_from_the_saved_learner(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    submission = site.member("pia").submit().json()["id"]
    finish_keeping(worker, 0.5, "predictions.parquet", "learner.bin")
    version = draft(site, **{"tasks.count": "20"})
    assert (
        "the predictions were made under other settings: Data and tasks &gt; Tasks a run"
        in page(owner, version).text
    )
    assert flash(post(owner, f"{version}/rescore", mode="meta_test")) == "1 run is queued."
    job = worker.claim()
    assert job is not None
    assert (job["kind"], job["tasks"]) == ("meta_test", 20) and "predictions" not in job
    assert job["learner"]["size"] > 0
    worker.complete(job, 0.6)
    post(owner, f"{version}/make-live", confirm="feedback")
    assert site.submission(submission).score == 0.6


def test_what_is_no_longer_kept_ends_the_rescoring_with_its_reason(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    submission = site.member("pia").submit().json()["id"]
    finish(worker, 0.5)  # leaves no files
    version = draft(site, **{"tasks.count": "20"})
    post(owner, f"{version}/rescore", mode="meta_test")
    assert worker.claim() is None
    shown = " ".join(page(owner, version).text.split())
    assert "1 of 1 runs ended, 1 without a score" in shown
    assert "learner.bin is no longer kept: choose another way" in shown
    post(owner, f"{version}/discard")
    assert site.submission(submission).score == 0.5


def test_one_submission_is_scored_again_under_the_same_version(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    submission = site.member("pia").submit().json()["id"]
    finish_keeping(worker, 0.5, "predictions.parquet")
    post(owner, f"{BASE}/submissions/acts", act="rescore", confirmed="1", id=[submission])
    job = worker.claim()
    assert job is not None
    assert job["kind"] == "score"
    worker.complete(job, 0.4)
    assert site.submission(submission).score == 0.4
    assert acts(site)[-1] == "submission.rescore"


ANSWERS, LEARNER = "predictions.parquet", "learner.bin"


def test_a_result_that_lacks_a_run_is_not_scored_again(site: Site) -> None:
    """It became finished without a score, the team heard that it was scored, and what was free cost quota."""
    owner, worker, pia = site.owner(), site.worker(), site.member("pia")
    site.set_version(train_seeds=[1, 2], test_seeds=[1, 2])
    submission = pia.submit().json()["id"]
    finish_keeping(worker, 0.5, ANSWERS)
    job = worker.claim()
    assert job is not None
    worker.fail(job, "BAD_SETTINGS")
    free = site.submission(submission)
    assert (free.status, free.counts_quota) == ("failed", False)
    asked = post(owner, f"{BASE}/submissions/acts", act="rescore", id=[submission]).text
    assert "Not all of its seeded runs are finished: there is no whole result to score again." in asked
    post(owner, f"{BASE}/submissions/acts", act="rescore", confirmed="1", id=[submission])
    assert worker.claim() is None
    after = site.submission(submission)
    assert (after.status, after.verdict, after.counts_quota) == ("failed", free.verdict, False)


def test_a_submission_whose_rerun_failed_does_not_get_its_old_score_back(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    submission = site.member("pia").submit().json()["id"]
    finish_keeping(worker, 0.5, ANSWERS)
    post(owner, f"{BASE}/submissions/acts", act="rerun", confirmed="1", id=[submission])
    job = worker.claim()
    assert job is not None
    worker.fail(job, "RUNTIME_ERROR")
    asked = post(owner, f"{BASE}/submissions/acts", act="rescore", id=[submission]).text
    assert "It failed when it was run again, and its earlier score is gone: run it again." in " ".join(
        asked.split()
    )
    post(owner, f"{BASE}/submissions/acts", act="rescore", confirmed="1", id=[submission])
    assert worker.claim() is None and site.submission(submission).status == "failed"


def test_a_result_that_stands_after_a_lost_rerun_is_what_is_scored_again(site: Site) -> None:
    """Of the re-run that was partly lost one run was scored again: under a draft there was never a score."""
    owner, worker = site.owner(), site.worker()
    site.set_version(train_seeds=[1, 2], test_seeds=[1, 2])
    submission = site.member("pia").submit().json()["id"]
    finish_keeping(worker, 0.5, ANSWERS)
    finish_keeping(worker, 0.6, ANSWERS)
    post(owner, f"{BASE}/submissions/acts", act="rerun", confirmed="1", id=[submission])
    finish_keeping(worker, 0.8, ANSWERS)
    job = worker.claim()
    assert job is not None
    worker.fail(job, "BAD_SETTINGS")
    assert (site.submission(submission).status, site.submission(submission).score) == ("finished", 0.5)
    version = draft(site, **{"scoring.ranking": "mean_run", "scoring.runs": "2"})
    assert flash(post(owner, f"{version}/rescore", mode="score")) == "2 runs are queued."
    finish(worker, 0.5, 0.6)
    asked = post(owner, f"{version}/make-live", confirm="feedback")
    assert flash(asked) == "Version 2 is live."
    assert site.submission(submission).score == pytest.approx(0.55)
    post(owner, f"{BASE}/submissions/acts", act="rescore", confirmed="1", id=[submission])
    finish(worker, 0.7, 0.9)
    assert site.submission(submission).score == pytest.approx(0.8)


@pytest.mark.parametrize("mode", ["score", "meta_test", "everything"])
def test_a_version_that_is_made_live_is_tested_further(site: Site, mode: str) -> None:
    """The further evaluations of the phase were empty from then on, and stayed so."""
    owner, worker, pia = site.owner(), site.worker(), site.member("pia")
    version = draft(site, **{"scoring.ranking": "mean_run", "shown.evaluations": "1"})
    site.set_phase(evaluations="shots numbers=1 tasks=4")
    submission = pia.submit().json()["id"]
    finish_keeping(worker, 0.5, ANSWERS, LEARNER)
    finish(worker, 0.3)  # the further test
    assert further(pia, submission) == [0.3]
    post(owner, f"{version}/rescore", mode=mode)
    finish_keeping(worker, 0.55, ANSWERS, LEARNER)
    assert worker.claim() is None  # a draft is not tested further
    asked = " ".join(post(owner, f"{version}/make-live").text.split())
    assert "1 test of the further evaluations is queued under this version, after all other work." in asked
    post(owner, f"{version}/make-live", confirm="feedback")
    finish(worker, 0.4)
    assert further(pia, submission) == [0.4]
    assert owner.call("POST", f"/api/v1{BASE}/phases/feedback/acts/evaluate", json={}).is_success
    assert worker.claim() is None
    first = f"{BASE}/phases/feedback/versions/1"
    assert "tests of the further" not in post(owner, f"{first}/make-live").text
    post(owner, f"{first}/make-live", confirm="feedback")
    assert worker.claim() is None and further(pia, submission) == [0.3], "what was tested is kept"


def test_who_makes_a_version_live_reads_that_a_learner_is_gone(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    site.member("pia").submit()
    finish_keeping(worker, 0.5, ANSWERS)  # no learner was kept
    version = draft(site, **{"scoring.ranking": "mean_run"})
    site.set_phase(evaluations="shots numbers=1 tasks=4")
    post(owner, f"{version}/rescore", mode="score")
    finish_keeping(worker, 0.55, ANSWERS)
    asked = " ".join(post(owner, f"{version}/make-live").text.split())
    assert "1 submission has no learner any more: it gets no further evaluations under this version." in asked
    assert "is queued under this version" not in asked


def further(person: Person, submission: str) -> list[float]:
    """The scores of a submission's further evaluations, as its page has them."""
    rows = person.call("GET", f"/api/v1/submissions/{submission}/evaluations").json()
    return [row["mean"] for row in rows]


def test_the_archive_makes_the_tables_and_figures_again(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = site.worker()
    site.set_version(tasks=30, train_seeds=[1, 2, 3], test_seeds=[1, 2, 3])
    for place, (name, skill) in enumerate((("pia", 0.6), ("quin", 0.3))):
        site.member(name).submit()
        for run in range(3):
            finish_with_results(worker, skill, seed=10 * place + run)
    unpack(site, tmp_path)
    reproduce(tmp_path)
    assert FOLLOW in capsys.readouterr().out
    with (tmp_path / "tables" / "feedback-free.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[1] for row in rows] == ["pia", "quin"]
    worst = min(float(draw_table(0.6, 30, seed).normalized_accuracy.mean()) for seed in range(3))
    assert min(map(float, rows[0][3:])) == pytest.approx(worst, abs=1e-6)
    assert float(rows[0][2]) == pytest.approx(worst)
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"feedback-free-ways.svg", "feedback-free-shots.svg", "feedback-free-difficulty.svg"} <= figures
    difficulty = (tmp_path / "tables" / "feedback-free-difficulty.csv").read_text()
    assert difficulty.startswith("dataset,intrinsic,modelling")


def test_what_the_archive_says_to_install_runs_it(site: Site) -> None:
    """From the site that made it, and with what the script imports: the kit alone has no tables and no charts."""
    archive = zipfile.ZipFile(io.BytesIO(site.owner().call("GET", f"{BASE}/exports/archive.zip").content))
    readme, script = (archive.read(name).decode() for name in ("README.md", "reproduce.py"))
    address = site.services.settings.base_url.rstrip("/")
    asked = re.search(
        rf'pip install --extra-index-url {re.escape(address)}/kit/simple/ "(\S+)\[(\w+)\]==(\S+)"', readme
    )
    assert asked is not None, readme
    brought, (package, extra, version) = set[str](), asked.groups()
    assert version == importlib.metadata.version(package)
    for line in importlib.metadata.requires(package) or []:
        name, _, condition = line.partition(";")
        if not condition or f'extra == "{extra}"' in condition.replace("'", '"'):
            brought.add(re.split(r"[^\w-]", name.strip())[0].replace("-", "_"))
    imported = {
        ((node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported - set(sys.stdlib_module_names) <= brought | {package.replace("-", "_")}


def test_a_combined_pool_takes_the_packs_of_its_parts(site: Site) -> None:
    owner = site.owner()
    ids = [make_paper_pack(site.services, name) for name in ("beta", "gamma")]
    with site.services.database.writing() as session:
        for slug, pack_id in zip(("one", "two"), ids, strict=True):
            pool = create_pool(session, slug=slug, name=slug, owner_id=site.owner_id)
            create_pool_version(session, pool, [session.get_one(Pack, pack_id)], created_by=site.owner_id)
        create_pool(session, slug="both", name="both", owner_id=site.owner_id).combines = ["one", "two"]
    assert "Holds the packs of one, two" in page(owner, "/organize/pools/both").text
    assert flash(post(owner, "/organize/pools/both/combine")) == "Version 1 holds 2 datasets."
    names = [p["name"] for p in owner.call("GET", "/api/v1/pools/both").json()["versions"][0]["packs"]]
    assert names == ["beta", "gamma"]
    with site.services.database.writing() as session:
        session.scalars(select(Pool).where(Pool.slug == "both")).one().combines = ["one", "one"]
    assert "is there twice" in flash(post(owner, "/organize/pools/both/combine"))


def test_a_pool_is_published_by_the_clock_when_all_is_over(site: Site) -> None:
    owner = site.owner()

    def tick() -> list[str]:
        with site.services.database.writing() as session:
            done = [one for one in pools_to_publish(session) if publish_if_over(session, one)]
            return [session.get_one(Pool, one).slug for one in done]

    assert "by itself" not in page(owner, "/organize/pools/small-pool").text.lower().replace(
        "not publish by itself", ""
    )
    path = "/organize/pools/small-pool"
    asked = post(owner, f"{path}/publish-when-over")
    assert "labels included" in asked.text and "of “A small competition” uses it." in asked.text
    assert flash(post(owner, f"{path}/publish-when-over", confirm="small-pool")).startswith("It will be")
    assert tick() == []  # the phase is open
    site.set_phase(ends_at=now() - timedelta(seconds=1), needs_publishing=True)
    assert tick() == []  # its results are not public yet
    site.set_phase(published_at=now())
    assert tick() == ["small-pool"]
    assert tick() == []
    assert owner.call("GET", "/api/v1/pools/small-pool").json()["published_at"]
    assert acts(site)[-1] == "pool.publish"
    post(owner, f"{path}/unpublish")
    assert tick() == []  # who hides it by hand is not overruled by the clock


def test_columns_that_a_league_declares_stand_on_its_board(site: Site) -> None:
    worker = site.worker()
    with site.services.database.writing() as session:
        league = session.scalars(select(League).where(League.slug == "free")).one()
        league.columns = [{"metric": "macro_f1", "title": "F1", "decimals": 2}, {"metric": "duration"}]
    site.member("pia").submit()
    job = worker.claim()
    assert job is not None
    said = summary(0.5, job["tasks"])
    said["metrics"] = [{"key": "macro_f1", "mean": 0.375, "half_width": 0.01, "tasks": job["tasks"]}]
    assert worker.complete(job, 0.5, summary=said).status_code == 204
    (row,) = site.board("free")["rows"]
    assert row["columns"] == {"F1": "0.38", "Duration": "0 s"}
    shown = site.client.get(f"/competitions/{SLUG}/leaderboard").text
    assert ">F1<" in shown
    assert ">0.38<" in shown
    assert row["by_dataset"] == {"Hidden 1": 0.5}
    assert "alpha" not in shown  # the name is hidden from visitors, in links too
    assert ">F1<" not in site.client.get(f"/competitions/{SLUG}/leaderboard?league=scratch").text


def test_labels_of_hidden_datasets_follow_the_pool_everywhere(site: Site) -> None:
    worker = site.worker()
    ids = [make_paper_pack(site.services, name) for name in ("zulu", "mike", "echo")]
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="three", name="three", owner_id=site.owner_id)
        rows = [session.get_one(Pack, pack_id) for pack_id in ids]
        made = create_pool_version(session, pool, rows, created_by=site.owner_id)
        session.get_one(Phase, site.phase_id).versions[0].meta_test_pool_version_id = made.id
    pia = site.member("pia")
    pia.submit()
    job = worker.claim()
    assert job is not None
    means = {"zulu": 0.1, "mike": 0.2, "echo": 0.3}
    worker.complete(job, 0.2, summary=summary(0.2, job["tasks"], means))
    (row,) = site.board("free")["rows"]
    assert row["by_dataset"] == {"Hidden 1": 0.1, "Hidden 2": 0.2, "Hidden 3": 0.3}
    path = f"/competitions/{SLUG}/leaderboard"
    for query in ("", "?sort=-d:Hidden 2", "?sort=d:mike"):
        shown = site.client.get(path + query)
        assert shown.status_code == 200
        assert "Hidden 2" in shown.text or "D2" in shown.text
        for name in means:
            assert name not in shown.text.replace("d%3Amike", "").replace("d:mike", ""), (query, name)


def test_a_baseline_that_ships_is_run_with_the_settings_of_the_paper(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    with site.services.database.writing() as session:
        competition_id = site.competition(session).id
        for settings in ("", "paper", "within"):
            session.add(
                Baseline(
                    competition_id=competition_id,
                    slug=f"proto-{settings or 'own'}",
                    name="Prototypical Networks",
                    builtin="prototypical-networks",
                    settings=settings,
                    leagues=["free"],
                )
            )
    iterations = {}
    with site.services.database.writing() as session:
        for baseline in session.scalars(select(Baseline)):
            fetched = fetch_zip(session, site.services, baseline)
            with site.services.storage.open(fetched.digest) as stored:
                config = json.loads(zipfile.ZipFile(io.BytesIO(stored.read())).read("config.json"))
            iterations[baseline.settings] = config["method"]["iterations"]
    assert (iterations["paper"], iterations["within"]) == (30_000, 4_290)
    assert iterations[""] < 1000
    post(owner, f"{BASE}/baselines/proto-paper/run", phase="feedback")
    finish(worker, 0.3)
    assert [(row["rank"], row["is_baseline"]) for row in site.board("free")["rows"]] == [(None, True)]


def test_webhooks_are_added_tested_switched_renewed_and_removed(site: Site) -> None:
    owner = site.owner()
    sent = {"url": "ftp://example.org/hook", "events": ["submission.finished", "submission.failed"]}
    for who, place in (
        (owner, f"{BASE}/webhooks"),
        (site.person("ann", is_site_admin=True), "/admin/webhooks"),
    ):
        bad = post(who, place, **sent)
        assert bad.status_code == 422 and "begins with http" in bad.text
        assert 'value="ftp://example.org/hook"' in bad.text, "what was typed is there still"
        ticked = re.findall(r'value="([\w.]+)" checked', " ".join(bad.text.split()))
        assert sorted(ticked) == sorted(sent["events"])
    unknown = post(owner, f"{BASE}/webhooks", url="https://example.org/hook", events="party")
    assert "There is no event party" in unknown.text and 'value="https://example.org/hook"' in unknown.text
    wanted = {"url": "https://example.org/hook", "events": "submission.finished"}
    assert flash(post(owner, f"{BASE}/webhooks", **wanted)) == "The webhook is added."

    def hook() -> Webhook:
        with site.services.database.reading() as session:
            return session.scalars(select(Webhook)).one()

    path, version = f"{BASE}/webhooks/{hook().id}", hook().secret_version
    before = page(owner, f"{BASE}/webhooks").text
    for act_name, words in (("test", "on its way"), ("off", "is off"), ("renew", "has a new secret")):
        assert words in flash(post(owner, f"{path}/{act_name}"))
    assert "already; the list below" in flash(post(owner, f"{path}/test"))  # one waits: no second is sent
    assert (hook().active, hook().secret_version) == (False, version + 1)
    after = page(owner, f"{BASE}/webhooks").text
    assert "Switch on" in after
    assert secret_in(before) != secret_in(after)
    post(owner, f"{path}/on")
    assert hook().active
    with site.services.database.reading() as session:
        assert session.scalars(select(WebhookDelivery)).one().event == "test"
    assert post(owner, f"{path}/explode").status_code == 404
    post(owner, f"{path}/remove")
    assert post(owner, f"{path}/on").status_code == 404
    assert "No webhooks" in page(owner, f"{BASE}/webhooks").text
    assert acts(site)[-1] == "webhook.remove"


def test_a_refused_baseline_keeps_its_name_and_leagues(site: Site) -> None:
    refused = site.owner().call(
        "POST",
        f"{BASE}/baselines",
        data={"name": "Mine, of an evening", "leagues": ["scratch"]},
        files={"file": ("mine.zip", b"no zip")},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert refused.status_code == 422 and 'id="file-error"' in refused.text
    assert 'value="Mine, of an evening"' in refused.text
    assert re.findall(r'value="(\w+)" checked', " ".join(refused.text.split())) == ["scratch"]


def secret_in(text: str) -> str:
    """The secret that the page shows."""
    return text.partition('id="secret-')[2].partition("</")[0]
