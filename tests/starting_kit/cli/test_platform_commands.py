"""login, submit, status, log, results, cancel against the real web service over HTTP."""

import json
import random
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import func, select

from anyshot_core.client import Client, NotAllowed, Refused, Unreachable
from anyshot_core.command import main
from anyshot_core.receipts import read_receipts
from anyshot_core.wire.worker_api import Stage
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.visibility import submissions as sight
from anyshot_starting_kit.cli.account import account_file, read_account, write_account
from tests.core.bundle.archives import MODEL
from tests.platform.admin.results import finish_with_scores
from tests.platform.site import PASSWORD, SLUG, Site, make_zip
from tests.services.processes import free_port
from tests.services.sites import served


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """The site on a port of loopback."""
    with served(site.app, free_port(), lifespan="off") as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submission's folder; the account file is the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("ANYSHOT_SERVER", "ANYSHOT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.py").write_bytes(MODEL)
    return tmp_path / "mine"


def call(*words: str, input: str | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=input, catch_exceptions=False)


def logged_in(site: Site, address: str, name: str = "ann") -> None:
    token = site.member(name).token
    result = call("login", "--server", address, "--token", token)
    assert result.exit_code == 0, result.output


def test_log_in_by_password_keeps_a_token_only_its_owner_reads(
    site: Site, address: str, folder: Path
) -> None:
    site.person("ben", password=PASSWORD)
    result = call("login", "--server", address, "--username", "ben", "--password", PASSWORD)
    assert result.exit_code == 0 and "as ben" in result.output
    assert account_file().stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in account_file().read_text()
    assert (
        call("login", "--server", address, "--username", "ben", "--password", "wrong words here").exit_code
        == 3
    )


def test_a_participant_without_a_clone_begins_with_a_baseline(site: Site, address: str, folder: Path) -> None:
    """Baselines lay in the repository alone: who had installed the kit from a site had none."""
    ann = site.member("ann")
    page = ann.call("GET", f"/competitions/{SLUG}/phases/feedback/submit").text
    assert 'href="/api/v1/baselines/prototypical_networks/zip"' in page
    listed = {one["name"]: one["settings"] for one in ann.call("GET", "/api/v1/baselines").json()}
    assert "quick" in listed["prototypical_networks"] and len(listed) > 10
    mine = folder.parent / "begun"
    asked = ("init", str(mine), "--server", address, "--from")
    unknown = call(*asked, "protonet")
    assert (
        unknown.exit_code == 1 and "There is no baseline protonet; there are baseline_cv," in unknown.output
    )
    unset = call(*asked, "random", "--settings", "huge")
    assert unset.exit_code == 1 and "random has no settings huge; it has " in unset.output
    assert not mine.exists(), "what is refused leaves nothing"
    done = call(*asked, "prototypical-networks", "--settings", "quick")
    assert done.exit_code == 0 and f"anyshot dry-run {mine}" in done.output, done.output
    assert call("check", str(mine)).exit_code == 0
    quick = json.loads((mine / "config.json").read_text())["method"]
    call("init", str(folder.parent / "own"), "--server", address, "--from", "prototypical_networks")
    assert json.loads((folder.parent / "own" / "config.json").read_text())["method"] != quick
    assert call("init", str(folder.parent / "none"), "--settings", "quick").exit_code == 2


def test_a_muted_competition_says_nothing_until_it_is_heard_again(
    site: Site, address: str, folder: Path
) -> None:
    logged_in(site, address)
    announcements = f"/api/v1/competitions/{SLUG}/manage/announcements/acts/add"
    assert "No competition is muted." in call("mute").output
    assert "Nothing has been announced yet." in call("announcements", SLUG).output
    assert call("mute", SLUG).output == call("mute").output == f"Muted: {SLUG}\n"
    site.owner().call("POST", announcements, json={"title": "Not heard", "body": ""})
    assert call("mute", SLUG, "--off").output == "No competition is muted.\n"
    site.owner().call("POST", announcements, json={"title": "Heard", "body": "One\n\x08two"})
    read = call("announcements", SLUG).output
    assert read.index("UTC  Heard\nOne\n␈two\n") < read.index("UTC  Not heard\n"), (
        "newest first, and steers no terminal"
    )
    assert [one["title"] for one in json.loads(call("announcements", SLUG, "--json").output)] == [
        "Heard",
        "Not heard",
    ]
    with Client(address, read_account().token) as client:
        notes = client.ask("GET", "/notifications")
    assert [note["title"] for note in notes] == ["A small competition: Heard"]
    assert call("mute", "--off").exit_code == 2 and call("mute", "nowhere").exit_code == 1


def test_a_question_is_asked_found_answered_and_accepted(site: Site, address: str, folder: Path) -> None:
    """From a shell, by two people; what one writes cannot steer the terminal of the other."""
    logged_in(site, address)
    asker = read_account()
    asked = call("discussion", SLUG, "--ask", "How many shots?", "--text", "Five, or \x08twenty?")
    short = asked.output.strip()[-8:]
    assert asked.exit_code == 0 and f"{address}/competitions/{SLUG}/discussion/" in asked.output
    assert "\x08" not in call("discussion", SLUG, short).output
    logged_in(site, address, "bob")
    assert "This thread has 1 post." in call("discussion", SLUG, short, "--accept", "2").output
    assert "#2  bob" in call("discussion", SLUG, short, "--reply", input="One to twenty.").output
    assert call("discussion", SLUG, short, "--accept", "2").exit_code == 1
    edited = call("discussion", SLUG, short, "--edit", "2", "--text", "From 1 to 20.").output
    assert ", edited" in edited and "From 1 to 20." in edited and "One to twenty" not in edited
    write_account(asker)
    assert ", accepted answer" in call("discussion", SLUG, short, "--accept", "2").output
    found = call("discussion", SLUG, "--search", "From 1").output
    assert short in found and "2 posts" in found and "answered" in found
    assert "Threads in all: 0." in call("discussion", SLUG, "--search", "nothing of this").output
    read = json.loads(call("discussion", SLUG, "--json").output)
    assert [line["title"] for line in read["threads"]] == ["How many shots?"]


def test_an_acceptance_is_taken_back_and_a_post_is_removed_and_put_back(
    site: Site, address: str, folder: Path
) -> None:
    logged_in(site, address)
    asker = read_account()
    short = call("discussion", SLUG, "--ask", "How many shots?", "--text", "Five?").output.strip()[-8:]
    call("discussion", SLUG, short, "--reply", "--text", "One to twenty.")
    assert ", accepted answer" in call("discussion", SLUG, short, "--accept", "2").output
    taken_back = call("discussion", SLUG, short, "--accept", "2", "--off").output
    assert "accepted" not in taken_back and "#2  ann" in taken_back
    removed = call("discussion", SLUG, short, "--remove", "2").output
    assert "(removed)" in removed and "One to twenty." not in removed
    assert call("discussion", SLUG, short, "--remove", "2", "--off").exit_code == 1  # organizers only
    logged_in(site, address, "bob")
    assert call("discussion", SLUG, short, "--remove", "1").exit_code == 1
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert "One to twenty." in call("discussion", SLUG, short, "--remove", "2", "--off").output
    assert "How many shots? (pinned)\n" in call("discussion", SLUG, short, "--pin").output
    assert "How many shots? (pinned) (closed)\n" in call("discussion", SLUG, short, "--close").output
    assert "How many shots? (closed)\n" in call("discussion", SLUG, short, "--pin", "--off").output
    assert call("discussion", SLUG, short, "--pin", "--close").exit_code == 2
    write_account(asker)
    assert "closed this thread" in call("discussion", SLUG, short, "--reply", "--text", "And 30?").output
    assert call("discussion", SLUG, short, "--close", "--off").exit_code == 1  # organizers only
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert call("discussion", SLUG, short, "--off").exit_code == 2


def test_a_long_list_of_threads_has_pages_and_an_old_thread_is_found_by_the_end_of_its_id(
    site: Site, address: str, folder: Path
) -> None:
    made: list[str] = []
    for name in ("ann", "bob"):  # one person alone writes 30 posts an hour at most
        logged_in(site, address, name)
        with Client(address, read_account().token) as client:
            numbers = range(len(made), len(made) + 16)
            made += [client.begin_thread(SLUG, f"Question {number}", "?")["id"] for number in numbers]
    first, second = (call("discussion", SLUG, "--page", page).output for page in ("1", "2"))
    assert "Question 31 " in first and "Question 1 " not in first and first.count("Question ") == 30
    assert "Question 0 " in second and second.count("Question ") == 2
    assert "Page 2. Threads in all: 32." in second
    assert "Question 0\n" in call("discussion", SLUG, made[0][-8:]).output


@pytest.mark.parametrize(
    "words",
    [
        ["--reply"],
        ["x", "--ask", "T"],
        ["no-such"],
        ["x", "--reply", "--accept", "1"],
        ["x", "--remove", "1", "--accept", "1"],
    ],
)
def test_a_post_needs_one_act_and_a_thread_that_there_is(
    site: Site, address: str, folder: Path, words: list[str]
) -> None:
    logged_in(site, address)
    assert call("discussion", SLUG, *words, "--text", "t").exit_code == 2


def test_submit_status_results_of_a_finished_run(
    site: Site, address: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged_in(site, address)
    result = call("submit", str(folder), "--league", "free", "--comment", "first")
    assert result.exit_code == 0, result.output
    assert "2 of 3 submissions left today." in result.output
    assert "What counts is when your upload begins: one that begins before " in result.output
    assert call("status").exit_code == 5
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.beat(job, tasks_done=4, tasks_total=10, seconds_used=12.0)
    running = json.loads(call("status", "--json").output)
    assert running["runs"][0]["tasks_done"] == 4
    worker.put(job, "log.txt", b"hello")
    digest = {"name": "log.txt", "digest": _digest(b"hello"), "size": 5}
    assert worker.complete(job, 0.5, artifacts=[digest]).is_success
    done = call("results", "-o", str(tmp_path / "out"))
    with Client(address, read_account().token) as client:
        figures = client.figures(read_account().last)
    first = next(row for row in figures if row["by"] == "dataset")
    table = done.output.partition("By dataset")[2]
    assert str(first["key"]) in table and f"{first['score']:.3f}" in table
    assert done.exit_code == 0 and "score 0.5000 ± 0.0200" in done.output
    assert (tmp_path / "out" / "log.txt").read_bytes() == b"hello"
    assert len(read_receipts((tmp_path / "out" / "receipts.json").read_bytes())) == 1
    with site.services.database.writing() as session:
        session.scalars(select(Artifact)).one().name = ".."
    monkeypatch.setattr(sight, "_OF_THE_TEAM", {".."})  # a site that means harm
    climbing = call("results", "-o", str(tmp_path / "deep" / "er"))
    assert climbing.exit_code == 1 and "The site names a file '..'" in climbing.output
    with site.services.database.writing() as session:
        run = session.scalars(select(Run)).one()
        session.add(
            RunEvent(
                run_id=run.id,
                epoch=run.epoch,
                seq=0,
                at=datetime.now(UTC),
                stream="stdout",
                stage=Stage.META_TRAINING,
                text="epoch 1 of 1",
            )
        )
    followed = call("status", "--follow", read_account().last)
    assert followed.exit_code == 0 and "finished" in followed.output
    assert "stdout | epoch 1 of 1" in followed.output


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def test_all_that_the_site_holds_of_an_account_is_downloaded(
    site: Site, address: str, folder: Path, tmp_path: Path
) -> None:
    """By command and in the browser alike; no secret, nothing of others."""
    logged_in(site, address)
    assert call("submit", str(folder), "--comment", "my first").exit_code == 0
    call("discussion", SLUG, "--ask", "How many seeds?", "--text", "One?")
    bob = site.member("bob")
    bob.call(
        "POST", f"/api/v1/competitions/{SLUG}/discussion", json={"title": "Mine", "body": "Secret of bob"}
    )
    done = call("my-data", "-o", str(tmp_path / "me.json"))
    assert done.exit_code == 0 and "me.json" in done.output
    text = (tmp_path / "me.json").read_text()
    found = json.loads(text)
    assert found["account"]["username"] == "ann" and "email" in found["account"]
    assert [row["competition"] for row in found["memberships"]] == [SLUG]
    assert [row["comment"] for row in found["submissions"]] == ["my first"]
    assert [post["body"] for post in found["posts"]] == ["One?"] and "bob" not in text
    assert found["tokens"] and found["record"]
    assert read_account().token not in text and "digest" not in text and "password" not in text
    page = bob.call("GET", "/account/data.json")
    assert page.status_code in (200, 403) and "ann" not in page.text
    assert json.loads(call("my-data").output)["account"] == found["account"]


def test_a_failed_run_shows_the_fault_and_the_command_to_repeat_it(
    site: Site, address: str, folder: Path
) -> None:
    logged_in(site, address)
    assert call("submit", str(folder), "--json").exit_code == 0
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    answer = worker.fail(
        job, "RUNTIME_ERROR", "KeyError in fit.", detail="model.py, line 3", task_index=2, ways=7, shots=4
    )
    assert answer.is_success, answer.text
    result = call("status")
    assert result.exit_code == 1
    assert "RUNTIME_ERROR: KeyError in fit." in result.output
    assert "at task number 3: 7-way, 4-shot" in result.output
    (again,) = [line for line in result.output.splitlines() if "anyshot dry-run mine.zip" in line]
    assert "--ways 7 --shots 4" in again and "--tasks 5" in again


def test_log_and_cancel(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    call("submit", str(folder), "--to", "small/feedback")
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    events = [
        {"seq": n, "at": time.time(), "stream": "stdout", "stage": "meta_training", "text": f"line {n}"}
        for n in range(3)
    ]
    assert worker.tell(job, *events).is_success
    result = call("log")
    assert [line.split("| ")[1] for line in result.output.splitlines()] == ["line 0", "line 1", "line 2"]
    assert [line.split("| ")[1] for line in call("log", "--find", "LINE 1").output.splitlines()] == ["line 1"]
    settings = site.services.settings.model_copy(update={"events_max_lines": 3})
    object.__setattr__(site.services, "settings", settings)
    assert worker.tell(job, *[{**events[0], "seq": n} for n in range(3, 7)]).is_success
    *kept, last = call("log").output.splitlines()
    assert [line.split("| ")[1].partition(".")[0] for line in kept] == [
        "line 0",
        "line 1",
        "Left out here: 4 lines",
        "line 0",
    ]
    assert "Left out: 4 lines." in last
    assert call("log", "--json").output.count("\n") == 4
    cancelled = call("cancel")
    assert cancelled.exit_code == 0 and "quota" in cancelled.output
    page = f"{address}/submissions/{read_account().last}"
    assert f"Submission small/feedback/1 is being cancelled: {page}" in cancelled.output


def test_a_bad_bundle_is_not_even_uploaded(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    (folder / "model.py").write_text("def f(:")
    result = call("submit", str(folder), "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["ok"] is False


@pytest.mark.seconds("many commands")
def test_exit_codes_of_what_cannot_be_reached(site: Site, address: str, folder: Path) -> None:
    assert call("status", "x").exit_code == 2  # which platform?
    assert call("status", "x", "--server", f"http://127.0.0.1:{free_port()}", "--token", "t").exit_code == 3
    assert call("status", "x", "--server", address, "--token", "any_wrong").exit_code == 3
    logged_in(site, address)
    assert call("status", "no-such-submission").exit_code == 1


def test_who_takes_no_part_yet_is_told_how(site: Site, address: str, folder: Path) -> None:
    token = site.person("eve").token
    assert call("login", "--server", address, "--token", token).exit_code == 0
    result = call("submit", str(folder), "--to", "small/feedback")
    assert result.exit_code == 1
    assert "--join" in result.output and "Log in again" not in result.output
    assert call("submit", str(folder), "--to", "small/feedback", "--join").exit_code == 0


def test_upload_goes_on_where_a_connection_broke(site: Site, address: str, tmp_path: Path) -> None:
    """The second part is cut off once; the client asks how much arrived and goes on."""
    import httpx

    class Breaking(httpx.HTTPTransport):
        broken = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "PUT" and "offset=0" not in str(request.url) and not Breaking.broken:
                Breaking.broken = 1
                raise httpx.ReadError("cable pulled", request=request)
            return super().handle_request(request)

    content = make_zip({"model.py": MODEL, "weights.bin": bytes(range(256)) * 100_000})
    path = tmp_path / "large.zip"
    path.write_bytes(content)
    sent: list[int] = []
    with Client(address, site.member("ann").token, transport=Breaking(), wait=0.01) as client:
        made = client.submit(path, "small", "feedback", on_sent=lambda done, total: sent.append(done))
    assert made["size"] == len(content) and sent[-1] == len(content)
    if len(content) > site.services.settings.upload_chunk_bytes:
        assert Breaking.broken == 1


@pytest.fixture
def in_parts(site: Site) -> int:
    """The site takes parts of so many bytes."""
    changed = site.services.settings.model_copy(update={"upload_chunk_bytes": 1000})
    object.__setattr__(site.services, "settings", changed)
    return 1000


def zip_of_parts(folder: Path) -> Path:
    """A zip that is sent in several parts."""
    path = folder / "large.zip"
    path.write_bytes(make_zip({"model.py": MODEL, "weights.bin": random.Random(1).randbytes(5000)}))
    return path


def test_the_same_command_goes_on_with_an_upload_that_was_interrupted(
    site: Site, address: str, folder: Path, tmp_path: Path, in_parts: int
) -> None:
    """It began at the first byte again, and each try counted with all its bytes."""
    logged_in(site, address)
    path = zip_of_parts(tmp_path)

    def interrupt(sent: int, total: int) -> None:
        if sent > total / 2:
            raise KeyboardInterrupt

    with Client(address, read_account().token) as client, pytest.raises(KeyboardInterrupt):
        client.submit(path, SLUG, "feedback", on_sent=interrupt)
    result = call("submit", str(path), "--to", f"{SLUG}/feedback")
    assert result.exit_code == 0, result.output
    assert re.search(r"The upload goes on at [3-5]\.0 kB of [5-7]\.\d kB\.", result.output), result.output
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count(Upload.id))) == 1
        assert session.scalar(select(Submission.size)) == path.stat().st_size


def test_two_commands_that_send_the_same_zip_at_once_both_submit_it(
    site: Site, address: str, folder: Path, tmp_path: Path, in_parts: int
) -> None:
    """They share an upload, which one of them uses first."""
    logged_in(site, address)
    path = zip_of_parts(tmp_path)
    with Client(address, read_account().token) as client:
        numbers: list[int] = []

        def overtake(sent: int, total: int) -> None:
            if sent and not numbers:
                numbers.append(client.submit(path, SLUG, "feedback")["number"])

        numbers.append(client.submit(path, SLUG, "feedback", on_sent=overtake)["number"])
    assert sorted(numbers) == [1, 2]


def test_an_upload_that_begins_says_nothing_of_going_on(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    result = call("submit", str(folder), "--to", f"{SLUG}/feedback")
    assert result.exit_code == 0 and "goes on" not in result.output


def test_client_errors_are_told_apart(site: Site, address: str, tmp_path: Path) -> None:
    with Client(address) as client, pytest.raises(NotAllowed):
        client.me()
    path = tmp_path / "bad.zip"
    path.write_bytes(make_zip({"readme.txt": b"no model"}))
    with Client(address, site.member("ann").token) as client:
        with pytest.raises(Refused) as refused:
            client.submit(path, "small", "feedback")
        assert refused.value.code == "bad_archive"
        assert any(check["outcome"] == "failed" for check in refused.value.details["checks"])
    with Client(f"http://127.0.0.1:{free_port()}", wait=0.001) as client, pytest.raises(Unreachable):
        client.competitions()


def test_a_smoke_test_ends_with_an_answer_and_is_submitted_by_its_number(
    site: Site, address: str, folder: Path
) -> None:
    logged_in(site, address)
    site.offer_smoke_tests()
    site.set_phase(smoke_tasks=2)
    assert call("submit", str(folder), "--smoke", "--comment", "wide").exit_code == 0
    worker = site.worker()
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.5, usage={"meta_test_seconds": 4.0}).is_success
    ended = call("status", "1")
    assert "score 0.5000 ± 0.0200 on 2 public tasks" in ended.output and "At this speed" in ended.output
    assert "anyshot again small/feedback/1" in ended.output
    assert f"{address}/submissions/{read_account().last}" in ended.output
    promoted = call("again", "small/feedback/1")
    assert promoted.exit_code == 0 and "Submission small/feedback/2 is queued" in promoted.output
    assert "Watch it: anyshot status --follow small/feedback/2" in promoted.output
    entry = json.loads(call("status", "small/2", "--json").output)
    assert (entry["kind"], entry["comment"], entry["filename"]) == ("entry", "wide", "mine.zip")
    assert worker.complete(worker.claim() or {}, 0.4).is_success
    assert "rank 1 of 1" in call("results", "#2").output.lower()
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Upload)) == 1


def test_who_submits_a_zip_again_reads_first_what_it_replaces(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    worker = site.worker()
    call("submit", str(folder))
    assert worker.complete(worker.claim() or {}, 0.4).is_success
    lines = call("again", "1").output.splitlines()
    (told,) = [place for place, line in enumerate(lines) if "no. 1 with 0.400" in line]
    (queued,) = [place for place, line in enumerate(lines) if "small/feedback/2 is queued" in line]
    assert "replace" in lines[told] and told < queued, lines
    call("cancel")
    assert "no. 1" not in call("again", "1", "--smoke").output, "a smoke test replaces nothing"


@pytest.mark.seconds("many commands")
def test_two_submissions_are_compared_by_their_numbers(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    worker = site.worker()
    for score in (0.6, 0.3):
        call("again", "1") if score < 0.5 else call("submit", str(folder))
        finish_with_scores(worker, worker.claim() or {}, {"one": score, "two": score - 0.1})
    said = call("compare", "1", "2")
    assert said.exit_code == 0, said.output
    assert "#1 mine.zip: 0.550" in said.output and "#2 mine.zip: 0.250" in said.output, said.output
    statement = json.loads(call("compare", "2", "small/feedback/1", "--json").output)
    assert statement["statement"]["difference"] == pytest.approx(-0.3)
    assert call("compare", "1", "9").exit_code == 2


def test_a_team_chooses_its_entry_by_number(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    site.set_phase(team_chooses=True)
    worker = site.worker()
    for score in (0.6, 0.4):
        call("again", "1") if score < 0.5 else call("submit", str(folder))
        assert worker.complete(worker.claim() or {}, score).is_success
    shown = call("entries", "small/feedback").output
    assert "may be chosen: no. 1 with 0.600, --choose 1" in shown, shown
    chosen = call("entries", "small/feedback", "--league", "free", "--choose", "1")
    assert "no. 1 with 0.600" in chosen.output and "(chosen by hand)" in chosen.output, chosen.output
    assert (
        "None of your submissions is"
        in call("entries", "small/feedback", "--league", "free", "--choose", "9").output
    )
    by_rule = call("entries", "small/feedback", "--league", "free", "--choose", "rule").output
    assert "no. 2 with 0.400" in by_rule


def test_a_zip_that_is_known_is_not_sent_again(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    for number in (1, 2):
        said = call("submit", str(folder))
        assert said.exit_code == 0 and f"small/feedback/{number} is queued" in said.output
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Upload)) == 1


def test_notes_and_tags_are_changed_and_found_again(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    call("submit", str(folder), "--comment", "first")
    call("submit", str(folder), "--comment", "second")
    said = call("note", "1", "a better note", "--tag", "Wide", "--tag", "no-pretraining")
    assert said.exit_code == 0 and said.output.splitlines() == ["a better note", "#no-pretraining #wide"]
    listed = call("list", "--tag", "wide").output
    assert "small/feedback/1" in listed and "a better note #no-pretraining #wide" in listed
    assert "small/feedback/2" not in listed
    assert "No submission matches." in call("list", "--text", "third").output
    with site.services.database.writing() as session:
        one = session.scalars(select(Submission).where(Submission.number == 2)).one()
        one.status = SubmissionStatus.FAILED
    unfailed = call("list", "--status", "not-failed").output
    assert "small/feedback/1" in unfailed and "small/feedback/2" not in unfailed
    assert call("note", "1", "--tag", "two words").exit_code == 1
    assert call("note", "1", "--no-tags").output.splitlines() == ["a better note", "(no tags)"]
    assert call("status", "7").exit_code == 2 and "anyshot list" in call("status", "7").output


def test_without_a_target_the_only_phase_that_is_open_is_submitted_to(
    site: Site, address: str, folder: Path
) -> None:
    """Phases that have closed or not begun were counted too."""
    logged_in(site, address)
    with site.services.database.writing() as session:
        open_one = session.get_one(Phase, site.phase_id)
        for slug, days in (("before", -20), ("after", 40)):
            start = now() + timedelta(days=days)
            other = Phase(
                competition_id=open_one.competition_id,
                slug=slug,
                name=slug,
                starts_at=start,
                ends_at=start + timedelta(days=2),
            )
            other.versions = [PhaseVersion(protocol={"name": "any_way_any_shot"})]
            session.add(other)
    for words in ((), ("--to", SLUG)):
        done = call("submit", str(folder), *words)
        assert done.exit_code == 0 and "Submission small/feedback/" in done.output, done.output
    site.set_phase(ends_at=now() - timedelta(hours=1))
    refused = call("submit", str(folder))
    assert refused.exit_code == 2 and "none is open" in refused.output


def test_status_of_a_phase_tells_what_it_still_holds(site: Site, address: str, folder: Path) -> None:
    logged_in(site, address)
    assert call("submit", str(folder), "--to", f"{SLUG}/feedback").exit_code == 0
    told = call("status", f"{SLUG}/feedback")
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert "submissions left until the end: 2 today (UTC)" in lines[0]
    assert "Free style: nothing of your team counts yet." in lines
    assert "#1 mine.zip (queued): when it ends cannot be told yet." in lines
    assert (
        lines[-1] == "A submission counts by when it is handed in, also where its run ends after the phase."
    )
    found = json.loads(call("status", f"{SLUG}/feedback", "--json").output)
    assert found["under_way"][0]["number"] == 1 and found["last_moment"] is None
