"""The ready-made competitions follow their papers: baselines in both initializations, gates, leagues, prizes."""

import io
import json
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from anyshot_core.baselines import merged_config
from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.contest.bundles.schema import BaselineSpec
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.standings.baselines.actions.service import fetch_zip
from anyshot_platform.standings.baselines.models import Baseline
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.entries.playing import open_it
from tests.platform.site import Person, Site

BASELINES = Path(__file__).resolve().parents[3] / "baselines"
PUBLISHED = Path(__file__).resolve().parents[2] / "baselines" / "published.toml"
SIX = [
    "train-from-scratch",
    "fine-tuning",
    "matching-networks",
    "prototypical-networks",
    "fo-maml-2022",
    "metadelta",
]
PAPERS = ["cross-domain-metadl-2022", "within-domain-metadl-2021"]


@pytest.mark.parametrize("name", PAPERS)
def test_each_of_the_six_is_there_from_random_and_from_pretrained_weights(name: str) -> None:
    rows = read_ready_made(name).spec.baselines
    assert [row.builtin for row in rows if not row.weights] == SIX
    assert [row.builtin for row in rows if row.weights] == SIX
    assert all("pretrained" in row.title for row in rows if row.weights)
    for row in rows:
        config = merged_config(BASELINES / str(row.builtin).replace("-", "_"), row.settings)
        method = config["method"]
        networks = method.get("backbones", [method.get("backbone")])
        own = row.builtin == "metadelta"  # the paper exempts it from the ResNet-18 of the others
        assert networks == (["timm:resnet50.fb_swsl_ig1b_ft_in1k"] if own else ["resnet18"])
        assert method.get("image_size", 0) == (224 if own else 0)
        assert row.weights in ("", "swsl_resnet50.pt" if own else "resnet18.pt")
        assert bool(method.get("weights")) <= bool(row.weights)
        assert ("layer4" in method.get("trained_layers", [])) is (own and bool(row.weights))


def test_gates_leagues_and_prizes_of_2022() -> None:
    spec = read_ready_made(PAPERS[0]).spec
    final = next(phase for phase in spec.phases if phase.key == "final")
    assert final.entries is not None
    gates = {gate.league: gate.score for gate in final.entries.gates}
    assert gates == tomllib.loads(PUBLISHED.read_text())["gates"][PAPERS[0]]["final"]
    assert [gate.league for gate in final.entries.gates if "pretrained" in gate.note] == ["free-style"]
    assert {league.key: league.awards.amounts if league.awards else None for league in spec.leagues} == {
        league.key: [400, 250, 150] for league in spec.leagues
    }
    asked = [league for league in spec.leagues if league.every_member]
    assert [league.key for league in asked] == ["new-in-ml", "women", "rarely-represented-country"]
    assert all(league.questions and league.description for league in asked)
    scratch = {league.key for league in spec.leagues if league.admission == "from_scratch"}
    assert not [row.key for row in spec.baselines if row.weights and scratch & set(row.leagues)]


@pytest.fixture
def olga(site: Site) -> Person:
    """The owner of the competition of 2022, imported by the page."""
    olga = site.owner()
    assert post(olga, "/organize/import", ready=PAPERS[0]).status_code == 303
    return olga


MANAGE = "/competitions/cross-domain-metadl-2022/manage/baselines"
API = "/api/v1/competitions/cross-domain-metadl-2022/manage/baselines"
WORDS = "“MetaDelta++, pretrained” is not run: it starts from the pretrained weights swsl_resnet50.pt"


def test_without_the_weights_the_row_says_so_and_nothing_runs(site: Site, olga: Person) -> None:
    shown = page(olga, MANAGE).text
    assert WORDS in shown and shown.count("is not run") == 6
    for act_name in ("run", "measure"):
        assert WORDS in flash(post(olga, f"{MANAGE}/metadelta-pretrained/{act_name}", phase="feedback"))
    refused = olga.call("POST", f"{API}/metadelta-pretrained/acts/run", json={"phase": "feedback"})
    assert (refused.status_code, WORDS in refused.json()["message"]) == (409, True)
    rows = {row["key"]: row["not_run"] for row in olga.call("GET", API).json()}
    assert (WORDS in rows["metadelta-pretrained"], rows["metadelta"]) == (True, "")
    with site.services.database.reading() as session:
        assert session.query(Submission).count() == 0


@pytest.mark.parametrize(("league", "number"), [("free-style", 6), ("meta-learning", 0)])
def test_the_public_board_names_the_baselines_that_are_not_run(
    site: Site, olga: Person, league: str, number: int
) -> None:
    open_it(site, PAPERS[0])
    visitor, where = site.person("vera"), "/competitions/cross-domain-metadl-2022"
    shown = page(visitor, f"{where}/leaderboard?phase=feedback&league={league}").text
    board = f"/api/v1{where}/phases/feedback/leaderboard?league={league}"
    words = visitor.call("GET", board).json()["baselines_not_run"]
    assert words.count("pretrained”") == number and (words in shown) and ("Not run:" in shown) == bool(number)
    assert (
        "This site does not offer the pretrained weights that they start from (resnet18.pt, swsl_resnet50.pt)."
        in shown
    ) == bool(number)


def test_the_phases_of_2021() -> None:
    """Sections 2.1 and 4.2 of the paper of 2022: 5-way 5-shot, 70/15/15 of the classes, five datasets and five others,
    by ranks; and what `validate_every` of the settings needs, validation tasks.
    """
    spec = read_ready_made(PAPERS[1]).spec
    feedback, final = (next(one for one in spec.phases if one.key == key) for key in ("feedback", "final"))
    assert feedback.tasks is not None and final.tasks is not None
    protocol = {"name": "within_domain", "split": "70/15/15", "ways": 5, "shots": 5, "query": 20}
    for phase, pool, runs in ((feedback, "metadl-2021-feedback", 1), (final, "metadl-2021-final", 3)):
        tasks = phase.tasks
        assert tasks is not None and protocol.items() <= tasks.protocol.items()
        assert tasks.validation_protocol.items() >= {**protocol, "part": "meta_valid"}.items()
        assert (tasks.meta_train, tasks.meta_test, tasks.each_dataset) == (pool, pool, True)
        assert phase.scoring is not None
        assert (phase.scoring.runs, phase.scoring.ranking) == (runs, "dataset_ranks_worst")
    assert final.tasks.same_test_tasks  # the three runs differ in training only
    assert final.entries is not None and (final.entries.phase, final.entries.gates) == ("feedback", [])
    assert {"Matching Networks", "MetaDelta++", "MetaDelta++, pretrained"} <= {
        row.title for row in spec.baselines
    }


def test_with_the_weights_they_go_into_the_zip(site: Site, olga: Person, tmp_path: Path) -> None:
    for name in ("resnet18.pt", "swsl_resnet50.pt", "ours.pt"):
        (tmp_path / name).write_bytes(b"weights")
    services = site.services
    settings = services.settings.model_copy(update={"weights_folder": tmp_path})
    services = replace(services, settings=settings)
    site.app.state.services = services
    assert "is not run" not in page(olga, MANAGE).text
    with services.database.writing() as session:
        row = session.query(Baseline).filter_by(slug="metadelta-pretrained").one()
        archive = fetch_zip(session, services, row)
        row.weights, row.digest = "ours.pt", None
        other = fetch_zip(session, services, row)
    with (
        services.storage.open(archive.digest) as stream,
        zipfile.ZipFile(io.BytesIO(stream.read())) as zipped,
    ):
        config = json.loads(zipped.read("config.json"))
        assert zipped.read("swsl_resnet50.pt") == b"weights"
    assert config["method"]["weights"] == "swsl_resnet50.pt"
    with services.storage.open(other.digest) as stream, zipfile.ZipFile(io.BytesIO(stream.read())) as zipped:
        named = json.loads(zipped.read("config.json"))["method"]["weights"]
        assert (named, zipped.read(named)) == ("ours.pt", b"weights")
    assert config["method"]["trained_layers"] == ["layer3", "layer4"]


def test_a_baseline_cannot_promise_weights_that_it_does_not_name() -> None:
    with pytest.raises(ValidationError, match="name the weights that the settings `pretrained` start from"):
        BaselineSpec(key="a", title="A", builtin="metadelta", settings="pretrained")
    with pytest.raises(ValidationError, match="put the file into the zip"):
        BaselineSpec(key="a", title="A", file="a.zip", weights="resnet18.pt")
    with pytest.raises(ValidationError, match="pattern"):
        BaselineSpec(key="a", title="A", builtin="metadelta", weights="../secret.pt")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two-sides", ""),
        ("of-nobody", "prototypical-networks has no settings “of-nobody” here. There are: "),
    ],
)
def test_a_baseline_runs_with_any_settings_that_it_has_and_says_which_it_lacks(
    site: Site, olga: Person, name: str, words: str
) -> None:
    spec = BaselineSpec(key="a", title="A", builtin="prototypical-networks", settings=name)
    with site.services.database.writing() as session:
        row = session.query(Baseline).filter_by(slug="prototypical-networks").one()
        row.settings, row.digest = spec.settings, None
    told = next(row for row in olga.call("GET", API).json() if row["key"] == "prototypical-networks")[
        "not_run"
    ]
    assert (words in told) if words else told == ""
    assert words in page(olga, MANAGE).text
    started = olga.call("POST", f"{API}/prototypical-networks/acts/run", json={"phase": "feedback"})
    assert (
        (started.status_code == 409 and words in started.json()["message"]) if words else started.is_success
    )
