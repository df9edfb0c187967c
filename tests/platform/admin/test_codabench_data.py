"""Data of Codabench and CodaLab bundles: Meta-Album folders become pools, the rest is neither read nor counted."""

import io
import zipfile
from pathlib import Path

import pytest

from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.foreign_data import take_out
from anyshot_platform.contest.bundles.reading import read_bundle
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool
from tests.core.data.factory import write_dataset
from tests.platform.admin.test_codabench import FILES_2, FILES_15, VERSION_2, VERSION_15
from tests.platform.admin.zips import zipped
from tests.platform.site import Site

REPORT = "/api/v1/competitions/{}/manage/import"


def files_of(folder: Path, under: str) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {f"{under}{path.relative_to(folder).as_posix()}": path.read_bytes() for path in found}


def send(site: Site, files: dict[str, str | bytes]) -> str:
    """Import a bundle in the browser's way; the competition's short name."""
    sent = site.owner().call(
        "POST",
        "/organize/import",
        files={"bundle": ("x.zip", zipped(files))},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert sent.status_code == 303, sent.text
    return sent.headers["location"].split("/")[2]


def pool_of(site: Site, slug: str) -> Pool | None:
    with site.services.database.reading() as session:
        pool = session.query(Pool).filter_by(slug=slug).one_or_none()
        return pool


def test_datasets_in_input_data_become_a_hidden_pool_of_the_competition(site: Site, tmp_path: Path) -> None:
    """Two good datasets, one without labels for an image, a text beside them."""
    for name, classes in (("first", 3), ("second", 4), ("broken", 2)):
        write_dataset(tmp_path / name, classes=classes, domain="paper")
    (tmp_path / "broken" / "labels.csv").write_text("FILE_NAME\nx.png\n")
    data = {
        **files_of(tmp_path, "input_data/datasets/"),
        "input_data/readme.txt": b"x",
        "reference_data/y": b"",
    }
    slug = send(site, {"competition.yaml": VERSION_2, **FILES_2, **data})
    report = site.owner().call("GET", REPORT.format(slug)).json()
    pool = f"{slug}-input-data"
    words = "2 datasets and 28 images; it is the meta-test pool of Development, Final"
    assert f"input_data: the hidden pool {pool} with {words}" in report["taken"]
    todo = " ".join(row["words"] for row in report["todo"])
    assert "the dataset broken was left out: broken: labels.csv" in todo
    assert f"all in the meta-test pool {pool}: choose a meta-train pool" in todo
    with site.services.database.reading() as session:
        made = session.query(Pool).filter_by(slug=pool).one()
        assert made.published_at is None and made.competition_id is not None
        phases = session.query(Phase).filter_by(competition_id=made.competition_id).all()
        versions = [phase.live.meta_test for phase in phases]
        assert len(versions) == 2
        for version in versions:
            assert version is not None and version.pool.slug == pool
            assert [entry.pack.name for entry in version.entries] == ["first", "second"]
            assert [entry.pack.classes for entry in version.entries] == [3, 4]
    stranger = site.person("mallory")
    assert stranger.call("GET", f"/api/v1/pools/{pool}").status_code == 404
    again = send(site, {"competition.yaml": VERSION_2, **FILES_2, **data})
    assert site.owner().call("GET", f"/api/v1/competitions/{again}/manage/import").is_success


def test_a_zip_of_data_within_the_bundle_and_codalabs_keys(site: Site, tmp_path: Path) -> None:
    write_dataset(tmp_path / "shapes", classes=2)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files_of(tmp_path, "").items():
            archive.writestr(name, content)
    text = VERSION_15.replace("is_scoring_only: true", "input_data: data/dev.zip")
    slug = send(site, {"competition.yaml": text, **FILES_15, "data/dev.zip": inner.getvalue()})
    report = site.owner().call("GET", REPORT.format(slug)).json()
    assert any(f"the hidden pool {slug}-dev with 1 dataset and 8 images" in w for w in report["taken"])
    assert "input_data" not in " ".join(report["without_equivalent"])
    with site.services.database.reading() as session:
        tested = {
            phase.name: phase.live.meta_test is not None
            for phase in session.query(Phase)
            if phase.competition.slug == slug
        }
    assert tested == {"予備戦": True, "Evaluation": False}


def test_data_are_neither_read_nor_counted() -> None:
    """metaLC has 13,195 files, all but a few of them data: it was refused."""
    data = {f"reference_data/{number}.txt": b"" for number in range(6000)}
    bundle = read_bundle(zipped({"competition.yaml": VERSION_2, **FILES_2, **data}))
    assert bundle.spec.title.startswith("Mini learning") and bundle.datasets == {}


def test_what_is_too_large_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyshot_platform.contest.bundles.foreign_data.MOST_IMAGES", 5)
    write_dataset(tmp_path / "many", classes=3)
    write_dataset(tmp_path / "few", classes=1)
    content = zipped({"competition.yaml": VERSION_2, **FILES_2, **files_of(tmp_path, "input_data/")})
    bundle = read_bundle(content, tmp_path / "out")
    assert [folder.name for folder in bundle.datasets["input_data"]] == ["few"]
    assert "many was left out: at most 40 datasets of 5 images" in "\n".join(
        map(str, bundle.without_equivalent)
    )


def test_data_within_a_zip_are_taken_out_and_what_is_no_zip_is_said(tmp_path: Path) -> None:
    """Read in the test's own process: a site reads bundles in a confined one."""
    write_dataset(tmp_path / "shapes", classes=2)
    inner = zipped(files_of(tmp_path, ""))
    data = {"data/dev.zip": inner, "data/bad.zip": b"PK no zip", "data/notes.txt": b"x"}
    bundle = zipped({"competition.yaml": VERSION_15, **FILES_15, **data})
    found = take_out(bundle, [*data, "data/nowhere"], tmp_path / "out")
    assert {path: [folder.name for folder in folders] for path, folders in found.folders.items()} == {
        "data/dev.zip": ["shapes"]
    }
    assert [path for path, _ in found.remarks] == ["data/bad.zip"]
    assert "data/bad.zip cannot be read" in found.remarks[0][1]


def test_data_that_unpack_beyond_the_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyshot_platform.contest.bundles.foreign_data.MOST_BYTES", 100)
    write_dataset(tmp_path / "shapes", classes=2)
    bundle = zipped({"competition.yaml": VERSION_2, **FILES_2, **files_of(tmp_path, "input_data/")})
    with pytest.raises(BundleUnreadable, match="unpack to over 0 GiB"):
        take_out(bundle, ["input_data"], tmp_path / "out")


def real_data() -> Path | None:
    """Ten Meta-Album datasets where this checkout has them beside it: `shared/data/meta_album_real` above it."""
    places = (above / "shared/data/meta_album_real" for above in Path(__file__).parents)
    return next((place for place in places if place.is_dir()), None)


def test_a_bundle_of_real_meta_album_data(site: Site) -> None:
    folder = real_data()
    if folder is None:
        pytest.skip("shared/data/meta_album_real is not beside this checkout: real Meta-Album data")
    data: dict[str, bytes] = {}
    for name in ("ACT_SGN", "MNF_TRS"):
        data |= files_of(folder / name, f"input_data/{name}/")
    slug = send(site, {"competition.yaml": VERSION_2, **FILES_2, **data})
    pool = site.owner().call("GET", f"/api/v1/pools/{slug}-input-data").json()
    packs = pool["versions"][0]["packs"]
    known = [("ACT_SGN", "human actions"), ("MNF_TRS", "manufacturing")]
    assert [(pack["name"], pack["domain"]) for pack in packs] == known
    assert packs[0]["classes"] == 10 and packs[0]["images"] == 400
