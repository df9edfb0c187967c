"""Every analysis of results takes the files that the site gives out, and shows whose they are."""

import io
import zipfile
from pathlib import Path

import pytest

from anyshot_analysis.jobs.inputs import SAME_TASKS
from tests.analysis.test_files_of_the_product import COMMANDS, page_of
from tests.platform.admin.results import finish_with_results
from tests.platform.site import SLUG, Site


@pytest.mark.seconds("analyses each file")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_the_site_gives_out(command: tuple[str, ...], site: Site, tmp_path: Path) -> None:
    files = downloads(site, tmp_path)
    page = page_of(command, files["zips"], tmp_path / "zips")
    assert "ada #1" in page and "bob #1" in page
    page = page_of(command, files["tables"], tmp_path / "tables")
    assert "submission-ada" in page and "submission-bob" in page
    page = page_of(command, files["archive"], tmp_path / "archive")
    assert "ada" in page and "bob" in page


@pytest.mark.parametrize("shared", [True, False])
def test_files_of_the_site_say_whether_runs_have_the_same_tasks(
    shared: bool, site: Site, tmp_path: Path
) -> None:
    site.set_version(tasks=30, train_seeds=[1, 2], test_seeds=[], same_test_tasks=shared)
    for kind, files in downloads(site, tmp_path, runs=2).items():
        page = page_of(("difficulty",), files, tmp_path / kind)
        assert (SAME_TASKS in page) == shared, kind


def downloads(site: Site, folder: Path, runs: int = 1) -> dict[str, list[Path]]:
    """A team's zip and table each, and the organizers' archive, of two teams' scored submissions."""
    owner, worker = site.owner(), site.worker()
    site.set_phase(tasks_visible=True)  # an open phase gives figures, not rows of single tasks
    found: dict[str, list[Path]] = {
        "zips": [],
        "tables": [],
        "archive": [folder / "archive" / "results.parquet"],
    }
    for place, name in enumerate(("ada", "bob")):
        member = site.member(name)
        member.submit()
        (submission,) = {
            finish_with_results(worker, 0.5 + 0.1 * place, seed=10 * place + run) for run in range(runs)
        }
        for suffix, kind in (("everything.zip", "zips"), ("tasks.csv", "tables")):
            path = folder / f"submission-{name}-{suffix}"
            path.write_bytes(member.call("GET", f"/submissions/{submission}/{suffix}").content)
            found[kind].append(path)
    content = owner.call("GET", f"/competitions/{SLUG}/manage/exports/archive.zip").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extract("results.parquet", folder / "archive")
    return found
