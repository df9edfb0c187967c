"""The pages without a browser: forms, what may be seen by whom, large boards."""

import csv
import html
import io
import json
import random
import re
import zipfile
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.states import Audience
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission, SubmissionTag
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.notifications.models import Email, NotificationChoice
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_platform.site.users.account_pages import browser_words
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import (
    DATASETS,
    PASSWORD,
    TASKS,
    Scene,
    add_submission,
    finish,
    keep_table,
    make_table,
)


def test_a_page_needs_the_forms_token(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    answer = visitor.client.post("/account", data={"display_name": "x"}, headers={"accept": "text/html"})
    assert answer.status_code == 403


def test_password_reset_by_mail(visitor: Visitor, scene: Scene) -> None:
    told = visitor.send("/reset", "/reset", 200, email="ada@example.org").text
    assert (
        told == visitor.send("/reset", "/reset", 200, email="nobody@example.org").text
        or "If the address" in told
    )
    with visitor.services.database.reading() as session:
        mails = session.scalars(select(Email)).all()
    assert [mail.to for mail in mails] == ["ada@example.org"]
    link = re.search(r"(/reset/[\w-]+)", mails[0].body)
    assert link is not None
    visitor.send(link[1], link[1], 422, password="short")
    visitor.send(link[1], link[1], password="seven sleeping owls")
    visitor.send("/login", "/login", username="ada", password="seven sleeping owls", next="/account")
    assert "ada@example.org" in visitor.see("/account")
    visitor.send("/account/security", link[1], 404, password="another long one")


def test_what_is_wrong_with_a_sign_up_is_said_at_its_field(visitor: Visitor) -> None:
    good = {"username": "newcomer", "email": "newcomer@example.org", "password": "four quiet blue whales"}
    for field, bad in (("username", "a"), ("username", "ada"), ("email", "nowhere"), ("password", "short")):
        page = visitor.send("/sign-up", "/sign-up", 422 if bad != "ada" else 409, **{**good, field: bad}).text
        (marked,) = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', page)
        assert marked == field and f'id="{field}-error"' in page
        assert field == "email" or 'value="newcomer@example.org"' in page


def test_browsers_that_are_signed_in_have_names(visitor: Visitor, scene: Scene) -> None:
    said = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0"
    visitor.sign_in(scene.ada)
    with visitor.services.database.writing() as session:
        session.execute(update(LoginSession).values(user_agent=said))
    assert f'title="{said}">Firefox on Windows</span>' in visitor.see("/account/security")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36", "Chrome on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1",
            "Safari on iOS",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        ("python-httpx/0.27", "python-httpx/0.27"),
        ("", "unknown"),
    ],
)
def test_a_browser_is_called_by_its_name(said: str, words: str) -> None:
    assert str(browser_words(said)) == words


def test_tokens_are_shown_once_and_revoked(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    page = visitor.send(
        "/account/tokens", "/account/tokens", 200, name="cluster", scope=["read", "submit"], days="30"
    ).text
    secret = re.search(r"any_[\w-]+", page)
    listed = visitor.see("/account/tokens")
    assert secret is not None and secret[0] not in listed
    offered = listed.partition('name="days"')[2].partition("</select>")[0]
    assert re.findall(r'value="(\d+)"', offered) == ["30", "90", "365"]  # none lasts for ever
    header = {"authorization": f"Bearer {secret[0]}"}
    assert (
        visitor.client.get(f"/api/v1/submissions/{scene.submissions['older'].id}", headers=header).status_code
        == 200
    )
    with visitor.services.database.reading() as session:
        token = session.scalars(select(ApiToken).where(ApiToken.name == "cluster")).one()
    visitor.send("/account/tokens", f"/account/tokens/{token.id}/revoke")
    assert visitor.client.get("/api/v1/me", headers=header).status_code == 401


def test_deleting_the_account_erases_the_person(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    visitor.send("/account/delete", "/account/delete", 422, confirm_name="adx", password=PASSWORD)
    visitor.send("/account/delete", "/account/delete", 422, confirm_name="ada", password="wrong")
    done = visitor.send("/account/delete", "/account/delete", confirm_name="ada", password=PASSWORD)
    assert done.headers["location"] == "/" and "Your account is deleted." in visitor.see("/")
    assert visitor.client.get("/account", follow_redirects=False).status_code == 401
    with visitor.services.database.reading() as session:
        user = session.get_one(User, scene.ada.id)
        assert user.deleted_at and user.email is None and user.display_name == "" and user.username != "ada"
        for table in (LoginSession, ApiToken):
            assert session.scalars(select(table).where(table.user_id == user.id)).all() == []
    assert "Analytical Engines" in visitor.see(f"/competitions/{scene.competition.slug}/leaderboard")


def test_the_only_owner_of_a_competition_is_told_so_before_the_account_is_deleted(
    visitor: Visitor, scene: Scene
) -> None:
    words = "You are its only owner: without you, a site administrator alone can publish or archive it."
    visitor.sign_in(scene.ada)
    assert words not in visitor.see("/account/delete")
    visitor.sign_in(scene.organizer)
    shown = visitor.see("/account/delete")
    assert words in shown and scene.competition.title in shown


def test_notification_choices_are_kept(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    visitor.send("/account/notifications", "/account/notifications", 303, **{"page:announcement": "1"})
    with visitor.services.database.reading() as session:
        row = session.get_one(NotificationChoice, (scene.ada.id, "announcement"))
        assert row.page and not row.email


def test_profile_refuses_bad_values_and_keeps_what_was_typed(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    sent = {"display_name": "Ada K.", "time_zone": "UTC", "homepage": "javascript:alert(1)"}
    page = visitor.send("/account", "/account", 422, **sent).text
    assert "Ada K." in page and "Homepage" in page
    visitor.send("/account", "/account", 303, **{**sent, "homepage": "https://example.org"})
    assert "Ada K." in visitor.see("/")


def test_strangers_see_no_submission_of_others(visitor: Visitor, scene: Scene) -> None:
    path = f"/submissions/{scene.submissions['finished'].id}"
    assert (
        visitor.client.get(path, headers={"accept": "text/html"}, follow_redirects=False).status_code == 303
    )
    for user in (scene.visitor, scene.bob):
        visitor.sign_in(user)
        for part in ("", "/stream", "/log.txt", "/tasks.csv", "/report.html", "/everything.zip", "/cancel"):
            visitor.see(path + part, 404)
        assert "There is no such submission" in visitor.see(
            f"/compare?id={scene.submissions['finished'].id}&id=x"
        )


def test_hidden_dataset_names_stay_hidden(visitor: Visitor, scene: Scene) -> None:
    """Names that are not anonymous yet never reach a participant's pages or downloads; organizers see them."""
    path = f"/submissions/{scene.submissions['finished'].id}"
    board = f"/competitions/{scene.competition.slug}/leaderboard"
    visitor.sign_in(scene.ada)
    for page in (board, path, f"{path}/figures.csv", f"{path}/report.html"):
        text = visitor.see(page)
        assert "Hidden 1" in text and "Hidden 10" in text
        assert not [name for name in (*DATASETS, "Animals") if name in text]
    visitor.sign_in(scene.organizer)
    assert all(name in visitor.see(board) for name in DATASETS)


def test_the_datasets_of_a_published_pool_keep_their_names(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.scalars(select(Pool).where(Pool.slug == "set-1")).one().published_at = now()
    visitor.sign_in(scene.ada)
    text = visitor.see(f"/submissions/{scene.submissions['finished'].id}/figures.csv")
    assert all(name in text for name in DATASETS) and "Hidden" not in text


def test_scores_that_the_phase_hides_are_on_no_page(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).scores_visible = False
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['finished'].id}"
    shown = f"{scene.submissions['finished'].score:.3f}"
    assert shown not in visitor.see(path) and shown not in visitor.see("/submissions")
    visitor.see(f"{path}/tasks.csv", 404)


def test_figures_are_by_dataset_ways_and_shots(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    rows = list(
        csv.DictReader(
            visitor.see(f"/submissions/{scene.submissions['finished'].id}/figures.csv").splitlines()
        )
    )
    assert [row["key"] for row in rows if row["by"] == "dataset"] == [f"Hidden {n}" for n in range(1, 11)]
    assert sum(int(row["tasks"]) for row in rows if row["by"] == "ways") == TASKS
    assert {row["by"] for row in rows} == {"dataset", "ways", "shots"}


def test_while_the_phase_is_open_no_figure_is_of_a_few_tasks_or_an_exact_use_of_memory(
    visitor: Visitor, scene: Scene
) -> None:
    """Code that sees hidden images chooses both; figures and JSON are exact once the phase has closed."""
    shown = scene.submissions["finished"].id
    with visitor.services.database.writing() as session:
        score = session.scalars(select(RunScore).join(Run).where(Run.submission_id == shown)).one()
        lonely, *ways = score.summary.by_ways
        score.summary = replace(score.summary, by_ways=(replace(lonely, mean=0.1234567, tasks=1), *ways))
        granted = session.get_one(Run, score.run_id).phase_version.memory_bytes
    visitor.sign_in(scene.ada)
    for closed in (False, True):
        if closed:
            _set_phase(visitor, scene, closed_at=now())
        rows = [row.split(",") for row in visitor.see(f"/submissions/{shown}/figures.csv").splitlines()[1:]]
        assert (min(int(row[-1]) for row in rows) == 1) == closed
        pages = [visitor.see(f"/submissions/{shown}{page}") for page in ("", "/report.html", "/figures.csv")]
        assert any("0.123" in page for page in pages) == closed
        assert ("Means of fewer than 5 tasks are shown when the phase has closed." in pages[0]) != closed
        usage = visitor.client.get(f"/api/v1/submissions/{shown}").json()["runs"][0]["usage"]
        assert (usage["memory_peak_bytes"] == 3_100_000_000, usage["cpu_seconds"] == 15900.0) == (
            closed,
            closed,
        )
        assert (usage["memory_peak_bytes"] % (granted // 16) == 0) != closed


def test_rows_of_single_tasks_are_shown_by_setting_or_once_the_phase_has_closed(
    visitor: Visitor, scene: Scene
) -> None:
    path = f"/submissions/{scene.submissions['finished'].id}"
    visitor.sign_in(scene.ada)
    visitor.see(f"{path}/tasks.csv", 403)
    for page in (visitor.see(path), visitor.see(f"{path}/report.html")):
        assert "Distribution over tasks" not in page and "tasks.csv" not in page
    for change, back in (({"tasks_visible": True}, {"tasks_visible": False}), ({"closed_at": now()}, {})):
        _set_phase(visitor, scene, **change)
        lines = visitor.see(f"{path}/tasks.csv").splitlines()
        assert lines[0].startswith("run,task,dataset,domain,ways,shots") and len(lines) == 201
        assert "Hidden 1" in lines[1]
        for page in (visitor.see(path), visitor.see(f"{path}/report.html")):
            assert "Distribution over tasks" in page
        _set_phase(visitor, scene, **back)


def _set_phase(visitor: Visitor, scene: Scene, **values: object) -> None:
    with visitor.services.database.writing() as session:
        for name, value in values.items():
            setattr(session.get_one(Phase, scene.phase.id), name, value)


def test_everything_is_taken_home_as_one_zip(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['finished'].id}"
    assert f"{path}/everything.zip" in visitor.see(path)
    answer = visitor.client.get(f"{path}/everything.zip")
    assert int(answer.headers["content-length"]) == len(answer.content)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        assert {
            "README.txt",
            "submission.json",
            "provenance.json",
            "log.txt",
            "figures.csv",
            "report.html",
        } <= names
        assert "tasks.csv" not in names  # the phase is open
        assert archive.read("figures.csv").decode() == visitor.see(f"{path}/figures.csv")
        assert archive.read("log.txt").decode() == visitor.see(f"{path}/log.txt")
        (run,) = json.loads(archive.read("provenance.json"))
        assert run["state"] == "finished" and "Training seed" in run and run["repeat"].startswith("anyshot")
        assert run["Image digest"] == "sha256:" + "9f" * 32 and "<" not in "".join(map(str, run.values()))
        assert b"Animals" not in b"".join(archive.read(name) for name in names)
        assert not names & {
            "runs/1/results.parquet",
            "runs/1/predictions.parquet",
        }  # they name hidden classes
    failed = visitor.client.get(f"/submissions/{scene.submissions['failed'].id}/everything.zip")
    with zipfile.ZipFile(io.BytesIO(failed.content)) as archive:
        assert "figures.csv" not in archive.namelist() and "provenance.json" in archive.namelist()


def test_comparison_says_in_words_what_it_means(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    ids = [scene.submissions[name].id for name in ("finished", "older")]
    page = visitor.see(f"/compare?id={ids[0]}&id={ids[1]}")
    assert "is better than #1" in page and ">the first is better<" in page and "Hidden 10" in page
    said = visitor.client.get(f"/api/v1/submissions/{ids[0]}/compare/{ids[1]}").json()
    assert said["words"] in html.unescape(page) and said["statement"]["verdict"] == "different"
    assert said["first_score"] > said["second_score"] and said["statement"]["low"] > 0
    turned = visitor.client.get(f"/api/v1/submissions/{ids[1]}/compare/{ids[0]}").json()["statement"]
    assert turned["difference"] == -said["statement"]["difference"]
    failed = scene.submissions["failed"].id
    refused = visitor.client.get(f"/api/v1/submissions/{ids[0]}/compare/{failed}")
    assert refused.status_code == 409 and refused.json()["error"] == "cannot_compare"
    left_out = "&".join(f"id={number}" for number in range(5))
    named = html.unescape(visitor.see(f"/compare?id={ids[0]}&id={ids[1]}&{left_out}"))
    assert "At most 6 submissions are compared: these are the first 6 of the 7 that you chose." in named
    assert "Choose two submissions to one phase." in visitor.see("/compare")
    assert "Choose a second submission to the same phase." in visitor.see(f"/compare?id={ids[0]}")
    assert "Choose " not in page
    assert "has no score" in visitor.see(f"/compare?id={ids[0]}&id={scene.submissions['failed'].id}")


def test_a_comparison_names_notes_and_tags_and_may_be_with_a_baseline(visitor: Visitor, scene: Scene) -> None:
    """The question that everybody has; the page of the baseline stays the organizers'."""
    visitor.sign_in(scene.ada)
    own = scene.submissions["finished"].id
    with visitor.services.database.writing() as session:
        phase = session.get_one(Phase, scene.phase.id)
        session.get_one(Submission, own).comment = "cosine head"
        session.add(SubmissionTag(submission_id=own, tag="ablation"))
        baseline = session.scalars(
            select(Submission).where(
                Submission.phase_id == phase.id,
                Submission.kind == SubmissionKind.BASELINE,
                Submission.score.is_not(None),
            )
        ).first()
        assert baseline is not None
        other, name = baseline.id, baseline.comment
    offered = visitor.see(f"/compare?id={own}")
    assert f'<option value="{other}"' in offered and f"Baseline “{name}”" in offered
    page = visitor.see(f"/compare?id={own}&id={other}")
    told = page.partition("What is compared")[2].partition("</table>")[0]
    assert "cosine head" in told and "ablation" in told and f"Baseline “{name}”" in told
    assert f"/submissions/{own}" in told and f"/submissions/{other}" not in page
    assert "Each task" not in page  # an open phase shows no single tasks
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).ends_at = now() - timedelta(days=1)
    page = visitor.see(f"/compare?id={own}&id={other}")
    chart = next(
        spec
        for spec in map(json.loads, map(html.unescape, re.findall(r'data-chart="([^"]+)"', page)))
        if spec["x"]["kind"] == "score"
    )
    dots, line = chart["series"]
    assert line["values"] == chart["at"] == sorted(chart["at"]) and len(dots["values"]) == len(chart["at"])
    table = page.partition("First is ahead")[2].partition("</table>")[0]
    assert sum(map(int, re.findall(r'<td class="num">(\d+)</td>', table))) == len(chart["at"])
    visitor.see(f"/submissions/{other}", 404)
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).board_audience = Audience.ORGANIZERS
    hidden = visitor.see(f"/compare?id={own}&id={other}")
    assert "There is no such submission." in hidden and f"Baseline “{name}”" not in hidden


def test_equal_submissions_have_no_interval_of_no_width(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        ids = []
        for number in (51, 52):
            submission, run = add_submission(session, scene, RunState.FINISHED, number=number)
            held = replace(scene, storage=visitor.services.storage)
            finish(session, held, submission, run, make_table(0.5, 51))
            ids.append(submission.id)
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/compare?id={ids[0]}&id={ids[1]}")
    assert "(all tasks equal)" in page and "± 0.000" not in page and "NaN" not in page


def test_three_submissions_are_compared_pair_by_pair(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    with visitor.services.database.writing() as session:
        third, run = add_submission(session, scene, RunState.FINISHED, number=7, comment="third")
        table = make_table(0.461, 8)
        finish(session, replace(scene, storage=None), third, run, table)
        keep_table(session, visitor.services.storage, run, table)
    ids = [scene.submissions["finished"].id, scene.submissions["older"].id, third.id]
    page = visitor.see("/compare?" + "&".join(f"id={identity}" for identity in ids))
    assert "All pairs" in page and "a pair gets the same verdict as on a page of its own" in page
    cells = re.findall(r"badge[^>]*>(better|worse|equal|too close to call)<", page)
    assert len(cells) == 6 and sorted(cells[0:1] + cells[2:3]) == ["better", "worse"]


def test_confusion_is_shown_where_the_phase_allows_it(visitor: Visitor, scene: Scene) -> None:
    path = f"/submissions/{scene.submissions['finished'].id}"
    visitor.sign_in(scene.ada)
    assert "mixed up" not in visitor.see(path)
    visitor.see(f"{path}/confusion", 404)
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).show_confusion = True
    assert f"{path}/confusion" in visitor.see(path)
    page = visitor.see(f"{path}/confusion?dataset=3")
    assert "Confusion on Hidden 3" in page and "Most frequent mistakes" in page and "24 of 25 classes" in page
    (text,) = re.findall(r'data-chart="([^"]+)"', page)
    cells = json.loads(html.unescape(text))["cells"]
    shares = [value for row in cells["values"] for value in row if value is not None]
    assert len(cells["rows"]) == 24 and len(shares) > 300 and max(shares) <= 1
    table = page.partition('<details class="chart__table" open>')[2].partition("</details>")[0]
    assert table.count("<tr>") == 25 and re.search(rf">{round(100 * cells['values'][0][0])}\s%<", table)
    third = visitor.client.get(f"/api/v1{path}/confusion").json()[2]
    rates = [
        count / met
        for row, together in zip(third["counts"], third["together"], strict=True)
        for count, met in zip(row, together, strict=True)
        if met
    ]
    assert third["dataset"] == "Hidden 3" and third["classes"] == list(range(1, 26))
    assert set(shares) <= {round(rate, 4) for rate in rates}
    right = sum(row[place] for place, row in enumerate(third["counts"])) / sum(map(sum, third["counts"]))
    assert (
        third["right"] == right
        and f"{100 * right:.0f}" in page.partition("of the query images classified correctly")[0][-40:]
    )
    visitor.sign_in(scene.bob)
    visitor.see(f"{path}/confusion", 404)
    assert visitor.client.get(f"/api/v1{path}/confusion").status_code == 404


def test_provenance_says_how_to_repeat_the_run(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    submission = scene.submissions["finished"]
    page = visitor.see(f"/submissions/{submission.id}")
    for words in ("Code digest", submission.digest, "Image digest", "Training seed", "Hardware", "Granted"):
        assert words in page, words
    assert "Peak memory" in page and "up to 2.4 GiB in meta-training" in page
    seed = scene.version.train_seeds[0]
    assert f"anyshot dry-run proto-net.zip --seed {seed} --budget" in page
    assert "with generated pictures: the phase's training data are hidden" in html.unescape(page)
    assert not re.search(rf"\b{scene.version.test_seeds[0]}\b", page)
    running = visitor.see(f"/submissions/{scene.submissions['running'].id}")
    assert "Training seed" not in running
    detail = visitor.client.get(f"/api/v1/submissions/{submission.id}").json()
    assert detail["runs"][0]["reproduce"].startswith("anyshot dry-run proto-net.zip --seed")


def test_the_board_says_how_sure_ones_place_is(visitor: Visitor, scene: Scene) -> None:
    board = f"/competitions/{scene.competition.slug}/leaderboard"
    visitor.sign_in(scene.ada)
    page = visitor.see(board)
    assert re.search(
        r"The row above: CDML is better than your team by \d\.\d{3}, more than task sampling alone",
        page,
    )
    assert "The row below: Too close to call: your team is ahead of " in page
    assert page.index("</table>") < page.index("The row above:")  # the table first, then what is said of it
    tied = "another draw of tasks could reverse the order, or the two scores differ"
    assert f"Statistically tied with the row above: {tied}" in " ".join(page.split())
    assert 'href="/docs/participants/leaderboards/">How this is decided</a>' in page
    for query in ("q=CDML", "sort=seconds"):  # rows that are not shown, or not in this order
        assert "The row" not in visitor.see(f"{board}?{query}"), query
    visitor.sign_in(scene.visitor)
    assert "The row above:" not in visitor.see(board)


def test_discussion(visitor: Visitor, scene: Scene) -> None:
    base = f"/competitions/{scene.competition.slug}/discussion"
    visitor.sign_in(scene.visitor)
    visitor.see(f"{base}/new", 403)
    visitor.sign_in(scene.bob)
    visitor.send(f"{base}/new", f"{base}/new", 422, title="x", body="long enough")
    made = visitor.send(
        f"{base}/new", f"{base}/new", title="How many seeds?", body="<b onclick=x>One</b> or three?"
    )
    thread = made.headers["location"]
    assert "onclick" not in visitor.see(thread)
    visitor.sign_in(scene.ada)
    visitor.send(thread, f"{thread}/reply", body="Three, in the final.")
    post = re.search(r'id="post-(\w+)"', visitor.see(thread))
    assert post is not None
    visitor.send(thread, f"{thread}/posts/{post[1]}/remove", 403)
    visitor.sign_in(scene.bob)
    assert "answered in" in visitor.see("/notifications")
    visitor.sign_in(scene.organizer)
    visitor.send(thread, f"{thread}/posts/{post[1]}/remove")
    assert "This post was removed" in visitor.see(thread)
    visitor.send(thread, f"{thread}/posts/{post[1]}/restore")
    visitor.send(thread, f"{thread}/moderate", locked="1")
    visitor.sign_in(scene.ada)
    visitor.send(thread, f"{thread}/reply", 409, body="One more thing")


def test_who_joins_is_pointed_to_first_steps_only_where_there_are_some(
    visitor: Visitor, scene: Scene
) -> None:
    base = f"/competitions/{scene.competition.slug}"

    def join(user: User) -> str:
        visitor.sign_in(user)
        visitor.send(f"{base}/join", f"{base}/join", team_name=user.username, accept="1")
        return visitor.see(base)

    page = join(scene.visitor)
    assert "The first steps below" in page and 'aria-label="First steps"' in page
    with visitor.services.database.writing() as session:
        session.execute(update(Phase).values(accepts_uploads=False))
        late = create_user(
            session, username="late", email="late@example.org", password=PASSWORD, display_name="Late"
        )
    page = join(late)
    assert "You have joined." in page and "first steps" not in page.lower()


def test_a_running_submission_is_cancelled_once(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    page = f"/submissions/{scene.submissions['running'].id}"
    assert f'action="{page}/cancel"' in visitor.see(page)
    visitor.send(page, f"{page}/cancel")
    told = visitor.see(page)
    assert "Cancel this submission?" not in told and f"{page}/cancel" not in told


def test_teams_share_one_quota_so_those_who_submitted_cannot_move(visitor: Visitor, scene: Scene) -> None:
    base = f"/competitions/{scene.competition.slug}"
    visitor.sign_in(scene.visitor)
    visitor.send(f"{base}/join", f"{base}/join", 422, team_name="Vera")
    visitor.send(f"{base}/join", f"{base}/join", team_name="Vera alone", accept="1")
    visitor.sign_in(scene.ada)
    visitor.send(f"{base}/team", f"{base}/team/invite", username="vera")
    visitor.send(f"{base}/team", f"{base}/team/name", 409, name="Another name")
    visitor.sign_in(scene.visitor)
    page = visitor.see(f"{base}/team")
    accept = re.search(r"/team/invitations/\w+/accept", page)
    assert accept is not None and "invites you" in page
    visitor.send(f"{base}/team", base + accept[0])
    assert "Analytical Engines" in visitor.see(f"{base}/team")
    visitor.send(f"{base}/team", f"{base}/team/leave", 409)
    with visitor.services.database.reading() as session:
        assert session.scalars(select(Team).where(Team.name == "Vera alone")).one().deleted_at is not None


@pytest.mark.seconds("ten thousand rows")
def test_a_board_of_ten_thousand_rows(visitor: Visitor, scene: Scene) -> None:
    """Every order, search and page of it works; `python -m benchmarks.pages` measures how quickly."""
    with visitor.services.database.writing() as session:
        fill_board(session, scene, 10_000)
    path = f"/competitions/{scene.competition.slug}/leaderboard?phase=feedback&league=free-style"
    visitor.sign_in(scene.ada)
    for query in ("", "&sort=-score", "&sort=d:Dataset+3", "&q=Team+77", "&page=150", "&sort=submitted"):
        assert "Your team is on rank" in visitor.see(path + query), query
    assert "Team 7777" in visitor.see(f"{path}&q=Team+7777")
    assert "10,008 rows" in visitor.see(path)
    own = re.search(r'href="([^"]+#row-[^"]+)"', visitor.see(path))
    assert own is not None
    assert f'id="row-{scene.team.id}"' in visitor.see(own[1].replace("&amp;", "&").partition("#")[0])


def fill_board(session: Session, scene: Scene, count: int) -> None:
    league = scene.leagues["free-style"]
    template = session.scalars(
        select(BoardRow).where(BoardRow.league_id == league.id, BoardRow.ranked).limit(1)
    ).one()
    teams = [
        {"id": new_id(), "competition_id": scene.competition.id, "name": f"Team {n}", "name_key": f"team {n}"}
        for n in range(count)
    ]
    session.execute(insert(Team), teams)
    moment = now()
    values_of = random.Random(3).sample([n / count for n in range(count)], count)
    values = {
        name: getattr(template, name)
        for name in (
            "phase_version_id",
            "league_id",
            "submission_score_id",
            "tasks",
            "runs",
            "seconds",
        )
    }
    submission = session.get_one(Submission, template.submission_id)
    entry = {column.key: getattr(submission, column.key) for column in Submission.__table__.columns}
    entries = [{**entry, "id": new_id(), "team_id": team["id"], "number": 1} for team in teams]
    session.execute(insert(Submission), entries)
    rows = [
        {
            **values,
            "id": new_id(),
            "submission_id": entries[n]["id"],
            "seconds": float(n),
            "row_key": team["id"],
            "team_id": team["id"],
            "ranked": True,
            "sort_value": -values_of[n],
            "value": values_of[n],
            "half_width": 0.01,
            "by_dataset": dict.fromkeys(DATASETS, values_of[n]),
            "submitted_at": moment,
            "updated_at": moment,
        }
        for n, team in enumerate(teams)
    ]
    session.execute(insert(BoardRow), rows)
    changed = ("phase_version_id", "league_id", "team_id", "submission_id", "value")
    steps = [
        {name: row[name] for name in changed} | {"at": moment + timedelta(seconds=n)}
        for n, row in enumerate(rows)
    ]
    session.execute(insert(BoardChange), steps)
    session.execute(
        text("ANALYZE")
    )  # as PostgreSQL does by itself within a minute; until then it plans for 8 rows
    assert (session.scalar(select(func.count(BoardRow.id))) or 0) > count
