"""The commands of the documentation, as it writes them, from the wheels of an environment that knows no checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from anyshot_platform.app import make_services
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.people.teams.models import Team
from tests.core.data.factory import write_dataset
from tests.packages.building import PROJECTS, UV, build, run
from tests.platform.admin.results import finish_with_predictions
from tests.platform.conftest import make_settings
from tests.platform.site import SLUG, Site
from tests.services.processes import free_port
from tests.services.sites import served

ROOT = Path(__file__).parents[2]

# In the order in which they are run. What stands for something of the reader's is put in by `_told`.
WITHOUT_A_SITE = (
    'anyshot data import folder PHOTOS --name PLT_LEA --licence "CC BY 4.0"',
    "anyshot data import csv list.csv --images PHOTOS --name PLT_LEA",
    "anyshot data check BIRDS",
    "anyshot data check BIRDS --least-images 40",
    "anyshot data pack BIRDS PLANTS --out packs",
    "anyshot data pack all-my-datasets --out packs --skip-bad",
    "anyshot data pack data --out packs",
    "anyshot data info packs/BRD.anyshot-pack",
    "anyshot data show packs/*.anyshot-pack --task 3",
    "anyshot score predictions.parquet",
    "anyshot score run1.parquet run2.parquet run3.parquet --rule worst_run",
    "anyshot score predictions.parquet --json",
    "anyshot score predictions.parquet --html report.html --results results.parquet",
    "anyshot admin create-user --home /srv/anyshot maria --email maria@example.org --site-admin",
    "anyshot admin backup /backups/anyshot-2026-11-21.tar",
    "anyshot admin restore /backups/anyshot-2026-11-21.tar",
)
ON_A_SITE = (
    "anyshot organize do my-competition pool.create set-1",
    "anyshot organize file packs set-1 packs/*.anyshot-pack",
    "anyshot organize file packs set-1 mended/BIRDS.anyshot-pack",
    "anyshot organize do my-competition pool.remove_dataset set-1 --set dataset=PLANTS",
    "anyshot organize show pool set-1",
    "anyshot organize file settings COMPETITION > about.json",
    "anyshot organize file phase COMPETITION feedback > feedback.json",
    "anyshot organize file page COMPETITION rules rules.md",
    "anyshot organize show phases COMPETITION --only key,status,settings.end",
    "anyshot organize show submissions COMPETITION --where phase=feedback --where status=failed --only id",
    "anyshot organize show audit COMPETITION --where action=phase.pause",
    "anyshot organize acts COMPETITION member",
    'anyshot organize do COMPETITION phase.pause feedback --reason "the disk is full"',
    'anyshot organize do COMPETITION announcement.add --set title="The final phase begins"',
    'anyshot organize do COMPETITION member.move ada --set team="Team name"',
    "anyshot organize do COMPETITION member.approve ada bob cyd",
    "anyshot organize do COMPETITION member.role ada --set role=reviewer --yes ada",
    "anyshot organize do COMPETITION phase.extend feedback --set end=2027-09-01T12:00 --set zone=Europe/Paris",
    "anyshot organize do COMPETITION phase.relieve feedback --set way=teams --set end=2027-09-01T12:00 --set zone=AoE "
    '--set teams="Team name" --yes feedback',
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of programs: of the starting kit's environment, and of the platform's, both from wheels."""
    wheels = build(tmp_path_factory.mktemp("wheels"), [ROOT / project for project in PROJECTS], "--wheel")
    found = {}
    wanted = {
        "anyshot-starting-kit": (
            "anyshot-starting-kit",
            "anyshot-core[results]",
        ),  # what [torch] brings, but torch
        "anyshot-platform": ("anyshot-platform",),
    }
    for package, what in wanted.items():
        folder = tmp_path_factory.mktemp("environment")
        for command in (
            (UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")),
            (UV, "pip", "install", "--quiet", "--python", str(folder / "venv/bin/python"), "--find-links", str(wheels),
             "--constraint", str(ROOT / "constraints.txt"), *what),
        ):  # fmt: skip
            done = run(*command, cwd=folder)
            assert done.returncode == 0, done.stderr
        found[package] = folder / "venv/bin"
    return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A running site with a small competition."""
    services = make_services(make_settings(tmp_path / "site"))
    migrate(services.database)
    with Site(services) as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with what the documentation's reader has: photographs, datasets, packs' place, texts."""
    folder = tmp_path / "desk"
    folder.mkdir()
    for name in ("BIRDS", "PLANTS", "all-my-datasets/FISH", "data/BRD"):
        write_dataset(folder / name, classes=6, images=40)
    for number in range(24):
        place = folder / "PHOTOS" / f"class-{number % 4}" / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (140, 140), (number * 9, 40, 200 - number)).save(place)
    files = [path.relative_to(folder / "PHOTOS").as_posix() for path in sorted(folder.glob("PHOTOS/*/*.png"))]
    lines = ["FILE_NAME,CATEGORY", *(f"{file},{file.split('/')[0]}" for file in files)]
    (folder / "list.csv").write_text("\n".join(lines) + "\n")
    for name in ("rules.md", "text.md"):
        (folder / name).write_text("# Words\n\nAll of them.\n")
    return folder


ANSWERS = {"admin": "a-long-password-of-maria\n" * 2, "organize": "y\n"}  # to what is asked


def shell(line: str, desk: Path, programs: Path, **variables: str) -> str:
    """What a line prints, typed into a shell that finds the programs of one environment first."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    environment = {**kept, "PATH": f"{programs}:{os.defpath}", "HOME": str(desk), **variables}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=desk,
        env=environment,
        capture_output=True,
        text=True,
        input=ANSWERS.get(line.split()[1], ""),
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def results(site: Site, desk: Path) -> Iterator[None]:
    """Files of predictions and results of three runs, as a worker writes them."""
    worker = site.worker()
    for number in (1, 2, 3):
        site.member(f"author{number}").submit()
        finish_with_predictions(worker, 0.6 + 0.1 * number, number)
    with site.services.database.reading() as session:
        rows = session.query(Artifact).order_by(Artifact.created_at, Artifact.name).all()
        found = [(row.name, row.digest) for row in rows]
    predictions = [digest for name, digest in found if name.startswith("predictions")]
    for name, digest in zip(
        ("run1", "run2", "run3", "predictions"), [*predictions, predictions[0]], strict=True
    ):
        with site.services.storage.open(digest) as source:
            (desk / f"{name}.parquet").write_bytes(source.read())
    yield


@pytest.mark.slow("builds seven wheels, fills two environments, types 33 commands")
def test_the_commands_of_the_documentation_from_the_installed_packages(
    site: Site, results: None, desk: Path, programs: dict[str, Path], tmp_path: Path
) -> None:
    kit, platform = programs["anyshot-starting-kit"], programs["anyshot-platform"]
    home, backups = tmp_path / "srv", tmp_path / "backups"
    backups.mkdir()
    shell(f"anyshot admin migrate --home {home}", desk, platform)
    for line in WITHOUT_A_SITE:
        told = line.replace("/srv/anyshot", str(home)).replace("/backups", str(backups))
        if line.startswith("anyshot admin restore"):
            home = tmp_path / "elsewhere"
        if line.startswith("anyshot data import csv"):
            shutil.rmtree(next(desk.rglob("PLT_LEA")))
        if line.startswith("anyshot admin"):
            shell(told, desk, platform, ANYSHOT_HOME=str(home))
        else:
            shell(told, desk, kit)
    assert (home / "anyshot.sqlite3").exists() and (desk / "report.html").exists()
    (desk / "mended").mkdir()
    write_dataset(tmp_path / "mended/BIRDS", classes=7, images=40)
    shell(f"anyshot data pack {tmp_path}/mended/BIRDS --out mended", desk, kit)
    ada, _, bob, cy = (site.member(name) for name in ("ada", "ben", "bob", "cyd"))
    ada.submit()
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.team_size = 3
        session.query(Team).filter_by(name="ben").one().name = "Team name"
        session.query(Team).filter_by(name="Team name").one().name_key = "team name"
        for waiting in session.query(Membership).filter(Membership.user_id.in_([bob.id, cy.id])):
            waiting.status = MemberStatus.PENDING
    with served(site.app, free_port()) as address:
        variables = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": site.owner().token}
        said = {line: shell(_told(line), desk, kit, **variables) for line in ON_A_SITE}
    assert "BIRDS" in said["anyshot organize file packs set-1 packs/*.anyshot-pack"]
    assert (
        said["anyshot organize do COMPETITION member.approve ada bob cyd"].count('"status": "approved"') == 3
    )
    assert '"title"' in (desk / "about.json").read_text()


def _told(line: str) -> str:
    """A line with what the reader puts in for it, and the answer to what it asks."""
    for word in ("my-competition", "COMPETITION"):
        line = line.replace(word, SLUG)
    return f"{line} --yes ada" if "member.move" in line else line
