"""The code of a submission in the browser, and what changed since the zip before: page, JSON, command."""

import html
import re
from pathlib import Path

from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.app import create_app
from anyshot_platform.foundation.isolated_parsing.code import MOST_FILES, compare_code, read_code
from tests.platform.site import Person, Site, make_zip
from tests.services.processes import free_port
from tests.services.sites import served

MODEL = b"class MyMetaLearner: pass\nclass MyLearner: pass\n"


def zipped(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    path = folder / name
    path.write_bytes(make_zip(files))
    return path


def submitted(site: Site) -> tuple[Person, str, str]:
    """Two submissions of ada's team: the second has another line, one more file, and one less."""
    ada = site.member("ada")
    made = []
    for files in (
        {"model.py": MODEL, "gone.py": b"old = 1\n"},
        {"model.py": MODEL + b"x = '<script>'\n", "new.txt": b"fresh\n", "weights.bin": b"\0\1"},
    ):
        answer = ada.submit(make_zip(files))
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])
    return ada, made[0], made[1]


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def test_the_page_shows_files_and_lines_and_runs_nothing(site: Site) -> None:
    ada, _, second = submitted(site)
    page = ada.call("GET", f"/submissions/{second}/code", headers={"accept": "text/html"}).text
    assert '<span class="hl-k">class</span>' in page and 'id="L3"' in page
    assert "<script>'" not in page and "x = '<script>'" in text_of(page)
    assert "?file=new.txt" in page and "?file=weights.bin" not in page and "weights.bin" in page
    other = ada.call("GET", f"/submissions/{second}/code?file=new.txt", headers={"accept": "text/html"}).text
    assert "fresh" in text_of(other)
    assert other.count('aria-label="new.txt"') == 1 and 'aria-labelledby="file-title"' not in other, (
        "one landmark"
    )


def test_changes_are_to_the_zip_before_and_to_any_other(site: Site) -> None:
    ada, first, second = submitted(site)
    found = ada.call("GET", f"/api/v1/submissions/{second}/code/changes").json()
    assert found["since"] == 1
    assert {file["path"]: file["what"] for file in found["files"]} == {
        "gone.py": "removed",
        "model.py": "changed",
        "new.txt": "added",
        "weights.bin": "added",
    }
    (part,) = next(file["parts"] for file in found["files"] if file["path"] == "model.py")
    assert [line["text"] for line in part if line["sign"] == "+"] == ["x = '<script>'"]
    assert ada.call("GET", f"/api/v1/submissions/{first}/code/changes").json() == {"since": None, "files": []}
    assert ada.call("GET", f"/api/v1/submissions/{second}/code/changes?since=9").status_code == 404
    page = ada.call("GET", f"/submissions/{second}/code/changes", headers={"accept": "text/html"}).text
    assert 'class="is-added"' in page and "4 files changed" in " ".join(text_of(page).split())


def test_weights_of_the_same_size_and_other_content_have_changed(site: Site) -> None:
    """Page, JSON and command alike; a file that stayed the same is not among the changes."""
    ada, long = site.member("ada"), 300 << 10
    for salt in (b"1", b"2"):
        files = {
            "model.py": MODEL,
            "weights.bin": b"\0" * 9 + salt,
            "long.txt": salt * long,
            "kept.bin": b"\0" * 10,
            "kept.txt": b"k" * long,
        }
        made = ada.submit(make_zip(files)).json()["id"]
    changed = [("long.txt", "changed", None), ("weights.bin", "changed", None)]
    files = ada.call("GET", f"/api/v1/submissions/{made}/code/changes").json()["files"]
    assert [(file["path"], file["what"], file["parts"]) for file in files] == changed
    page = ada.call("GET", f"/submissions/{made}/code/changes", headers={"accept": "text/html"}).text
    assert "2 files changed" in " ".join(text_of(page).split())
    assert "weights.bin" in page and "long.txt" in page and "kept" not in page
    port = free_port()
    with served(create_app(site.services.settings, site.services), port):
        where = ["--server", f"http://127.0.0.1:{port}", "--token", ada.token]
        told = CliRunner().invoke(main, ["code", made, "--changes", *where]).output
    assert "weights.bin" in told and "long.txt" in told and "kept" not in told


def test_the_code_is_its_teams_and_reading_it_is_noted(site: Site) -> None:
    _, _, second = submitted(site)
    stranger, owner = site.member("eve"), site.owner()
    for path in (f"/api/v1/submissions/{second}/code", f"/submissions/{second}/code/changes"):
        assert stranger.call("GET", path).status_code == 404
        assert owner.call("GET", path).status_code == 200


def test_what_is_no_text_too_long_or_too_much_is_not_shown(tmp_path: Path) -> None:
    many = {f"{number:04}.txt": b"x" for number in range(MOST_FILES + 9)}
    assert len(read_code(zipped(tmp_path, "many.zip", many), "")["files"]) == MOST_FILES
    long = zipped(tmp_path, "long.zip", {"model.py": b"#" * (300 << 10), "latin.txt": b"\xe9"})
    found = read_code(long, "model.py")
    assert found["lines"] is None and not any(file["text"] for file in found["files"])
    (tmp_path / "none.zip").write_bytes(b"no zip")
    assert read_code(tmp_path / "none.zip", "")["files"] == []
    assert compare_code(long, long)["files"] == []


def test_a_top_folder_is_left_out_and_model_py_comes_first(tmp_path: Path) -> None:
    found = read_code(zipped(tmp_path, "one.zip", {"mine/a.py": b"a = 1", "mine/model.py": b"m = 1"}), "")
    assert found["shown"] == "model.py" and [file["path"] for file in found["files"]] == ["a.py", "model.py"]


def test_the_command_lists_prints_and_compares(site: Site) -> None:
    ada, _, second = submitted(site)
    port = free_port()
    where = f"http://127.0.0.1:{port}"

    def run(*words: str) -> str:
        return (
            CliRunner().invoke(main, ["code", second, *words, "--server", where, "--token", ada.token]).output
        )

    with served(create_app(site.services.settings, site.services), port):
        assert [line.split()[-1] for line in run().splitlines()] == ["model.py", "new.txt", "weights.bin"]
        assert run("new.txt") == "fresh\n"
        assert "There is no gone.py in this zip" in run("gone.py")
        assert "is no text" in run("weights.bin")
        assert "+x = '<script>'" in run("--changes").splitlines()


TRACEBACK = """\
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/torch/nn.py", line 118, in fit
    predictor = learner.fit(support)
  File "/scratch/run/program/nets/a b.py", line 2, in forward
    return self.norm(x)
RuntimeError: shape"""


def test_a_line_of_a_traceback_leads_to_the_line_of_the_code(site: Site) -> None:
    """In the failure's card and in the log; not for files that are not one's own."""
    ada = site.member("ada")
    made = ada.submit(make_zip({"model.py": MODEL, "nets/a b.py": b"import torch\nfirst = 1\n"}))
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.tell(job, {"stream": "stderr", "text": '  File "/scratch/run/program/model.py", line 2, in fit'})
    worker.fail(job, "RUNTIME_ERROR", "RuntimeError: shape", detail=TRACEBACK)
    known = made.json()
    page = ada.call("GET", f"/submissions/{known['id']}", headers={"accept": "text/html"}).text
    links = [html.unescape(link) for link in re.findall(r'<a href="([^"]+/code\?[^"]+)"', page)]
    code = f"/submissions/{known['id']}/code?file="
    assert links == [f"{code}nets%2Fa+b.py#L2", f"{code}model.py#L2"]
    shown = ada.call("GET", links[0].partition("#")[0], headers={"accept": "text/html"}).text
    assert "first = 1" in text_of(shown) and 'id="L2"' in shown
