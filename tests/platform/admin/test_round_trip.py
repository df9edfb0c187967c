"""Importing what was exported gives the identical competition."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.actions.service import (
    AddressTaken,
    export_competition,
    import_competition,
)
from anyshot_platform.contest.bundles.reading import CompetitionBundle, read_bundle
from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.storage import FolderStorage
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from tests.platform.admin.test_bundle_reading import FILES, GOOD
from tests.platform.admin.test_codabench import FILES_2, FILES_15, VERSION_2, VERSION_15
from tests.platform.admin.zips import zipped
from tests.platform.conftest import Databases

_FULL = (
    (
        GOOD.replace(
            "title: Demo",
            "title: Demo\nlogo: logo.svg\nterms: terms.md\ncontact: a@example.org\nteam_size: 3",
        )
        .replace(
            "    title: Free-style", "    title: Free-style\n    columns: [{metric: macro_f1, decimals: 2}]"
        )
        .replace(
            "phases:",
            "baselines:\n  - {key: proto, title: Proto, file: baselines/proto, leagues: [free]}\nphases:",
        )
    )
    + """\
    machine: {memory: 3 GiB, cpus: 2.5, gpus: 1, hardware: gpu}
    quota: {per_day: null, total: 7, running: 1, cancelled_counts: false}
    shown: {logs: everything, board: participants, confusion: true}
    smoke: {pool: set-0, tasks: 3, budget: 30s, per_day: null}
  - key: final
    title: Final
    kind: final
    timezone: Asia/Tokyo
    start: 2022-09-01
    accepts_uploads: false
    tasks:
      meta_train: both
      meta_test: set-1
      protocol: {name: fixed, ways: 5, shots: 1}
      count: 60
      same_test_tasks: true
      isolated: true
    scoring: {runs: 3, ranking: median_run, board_shows: best}
    shown: {after_publishing: true, scores: false}
    entries: {phase: feedback, gates: [{league: free, score: 0.25, note: by hand}]}
"""
)
FULL = _FULL.replace(
    "  - name: set-0\n", "  - {name: both, combines: [set-0, set-1]}\n  - name: set-0\n  - name: set-1\n"
)
FULL_FILES = {
    **FILES,
    "logo.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "terms.md": "Be fair.",
    "baselines/proto/model.py": "class MyMetaLearner: ...",
    "baselines/proto/config.json": "{}",
}


class Site:
    """A database with one user, and a storage."""

    def __init__(self, address: str, folder: Path) -> None:
        self.database = Database(address)
        self.storage = FolderStorage(folder / "blobs")
        with self.database.writing() as session:
            user = User(username="owner", username_key="owner")
            session.add(user)
            session.flush()
            self.viewer = Viewer(user_id=user.id, username="owner")

    def take_in(self, session: Session, bundle: CompetitionBundle, **options: object) -> bytes:
        made = import_competition(session, self.storage, bundle, self.viewer, **options)  # pyright: ignore[reportArgumentType]
        session.flush()
        session.expire_all()
        return export_competition(session, self.storage, made.competition, secrets=True)


@pytest.fixture
def sites(tmp_path: Path, databases: Databases) -> Iterator[tuple[Site, Site]]:
    one, two = tmp_path / "one", tmp_path / "two"
    pair = Site(databases.new(one), one), Site(databases.new(two), two)
    yield pair
    for site in pair:
        site.database.dispose()


BUNDLES = {
    "everything": zipped({"competition.yaml": FULL, **FULL_FILES}),
    "codabench 2": zipped({"competition.yaml": VERSION_2, **FILES_2}),
    "codalab 1.5": zipped({"competition.yaml": VERSION_15, **FILES_15}),
}


@pytest.mark.parametrize("name", [*BUNDLES, "cross-domain-metadl-2022", "within-domain-metadl-2021"])
def test_export_then_import_gives_the_identical_competition(name: str, sites: tuple[Site, Site]) -> None:
    bundle = read_bundle(BUNDLES[name]) if name in BUNDLES else read_ready_made(name)
    first, second = sites
    with first.database.writing() as session:
        exported = first.take_in(session, bundle)
    with second.database.writing() as session:
        again = second.take_in(session, read_bundle(exported))
    assert again == exported
    spec = read_bundle(exported).spec
    assert [phase.key for phase in spec.phases] == [phase.key for phase in bundle.spec.phases]
    assert [pool.name for pool in spec.pools] == sorted(pool.name for pool in bundle.spec.pools)
    for before, after in zip(bundle.spec.phases, spec.phases, strict=True):
        secret = {
            "tasks": before.tasks.model_copy(update={"train_seeds": [], "test_seeds": []}),
            "timezone": None,
        }
        assert len(after.tasks.key or "") == 64 and not after.tasks.test_seeds  # secret, drawn by the import
        drawn = {
            "tasks": after.tasks.model_copy(update={"train_seeds": [], "key": None}),
            "timezone": None,
        }
        assert after.model_copy(update=drawn).model_dump() == before.model_copy(update=secret).model_dump()
        assert len(after.tasks.train_seeds) == before.scoring.runs


def test_seeds_stay_secret_unless_asked_for(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    with site.database.writing() as session:
        made = import_competition(session, site.storage, read_bundle(BUNDLES["everything"]), site.viewer)
        plain = read_bundle(export_competition(session, site.storage, made.competition, secrets=False))
    secrets = [
        (phase.tasks.key, phase.tasks.test_seeds, phase.tasks.train_seeds) for phase in plain.spec.phases
    ]
    assert secrets == [(None, [], [])] * len(secrets)


def test_a_short_name_is_given_once(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    bundle = read_bundle(BUNDLES["everything"])
    with site.database.writing() as session:
        site.take_in(session, bundle)
        with pytest.raises(AddressTaken, match="demo-2"):
            import_competition(session, site.storage, bundle, site.viewer)
        copy = import_competition(session, site.storage, bundle, site.viewer, slug="demo-2")
        assert copy.competition.slug == "demo-2"
        foreign = read_bundle(BUNDLES["codabench 2"])
        names = [
            import_competition(session, site.storage, foreign, site.viewer).competition.slug for _ in "ab"
        ]
        assert names == ["mini-learning-ete", "mini-learning-ete-2"]


def test_dates_can_be_moved_as_a_whole(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    with site.database.writing() as session:
        start = datetime(2030, 1, 1, tzinfo=UTC)
        exported = site.take_in(session, read_ready_made("cross-domain-metadl-2022"), start=start)
    phases = read_bundle(exported).spec.phases
    assert phases[0].start == start
    assert [(phase.end - phase.start).days for phase in phases if phase.end] == [16, 62, 30]


def test_other_peoples_pools_are_not_reached_by_name(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    with site.database.writing() as session:
        site.take_in(session, read_bundle(BUNDLES["everything"]))
        session.add(stranger := User(username="other", username_key="other"))
        session.flush()
        site.viewer = Viewer(user_id=stranger.id, username="other")
        exported = site.take_in(session, read_bundle(BUNDLES["everything"]), slug="theirs")
    assert {pool.name for pool in read_bundle(exported).spec.pools} >= {"set-0-2", "set-1-2"}
