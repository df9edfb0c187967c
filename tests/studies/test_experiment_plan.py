"""What the runs of an experiment rest on: seeds, and what decides whether one is done before."""

import hashlib
import shutil
from pathlib import Path

import pytest

import anyshot_core
import anyshot_starting_kit
from anyshot_core.baselines import (
    find_baselines,
)
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment import fingerprints
from anyshot_studies.experiment import plan as plan_module
from anyshot_studies.experiment.fingerprints import derive_seed
from anyshot_studies.experiment.plan import Experiment
from tests.baselines.trial import FOLDER
from tests.services.material import TEST, TRAIN


def test_a_run_is_done_again_when_what_it_rests_on_changes(
    demo_packs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content of its packs, whatever their file names or place, and the kit's code."""
    pack, same = tmp_path / "a" / "D.anyshot-pack", tmp_path / "b" / "D.anyshot-pack"
    for path in (pack, same):
        path.parent.mkdir()
        shutil.copy(demo_packs[TEST[0]], path)
    (tmp_path / "c").mkdir()
    other = Path(shutil.copy(demo_packs[TEST[1]], tmp_path / "c" / "D.anyshot-pack"))

    def place(tested: Path, within: str = "") -> str:
        data = PublicData(() if within else (demo_packs[TRAIN[0]],), (tested,), generated=False)
        plan = Experiment(tuple(find_baselines(("random",), FOLDER)), data, tmp_path, (1,), 4, within=within)
        return plan.runs()[0].results("digest of the zip").name

    before = place(pack)
    assert place(same) == before and place(other) != before
    assert place(same, "halves") == place(pack, "halves") != place(other, "halves")
    monkeypatch.setattr(plan_module, "kit_digest", lambda: "another")
    assert place(pack) != before


def test_the_kit_digest_covers_what_a_run_depends_on() -> None:
    """Training, networks, the runner and the metrics, and not this experiment's own page."""
    names = set()
    for package, parts in ((anyshot_starting_kit, fingerprints._KIT), (anyshot_core, fingerprints._CORE)):
        root = Path(package.__path__[0])
        names |= {path.relative_to(root).as_posix() for path in fingerprints._modules(root, parts)}
    assert {
        "api.py",
        "training/loop.py",
        "networks/heads.py",
        "runner/session.py",
        "protocols/draws.py",
    } <= names
    assert not any(name.startswith(("cli", "charts")) for name in names)
    assert len(fingerprints.kit_digest()) == 64


def test_datasets_have_seeds_of_their_own(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """Within domains each draws other tasks, the same in every process; across domains the seed is as given."""
    data = PublicData((), tuple(demo_packs[name] for name in TEST), generated=True)
    baselines = tuple(find_baselines(("random",), FOLDER))
    runs = Experiment(baselines, data, tmp_path, (93,), 4, within="halves").runs()
    plans = [run.plan(tmp_path / "bundle.zip") for run in runs]
    assert [run.seed for run in runs] == [93, 93]
    assert len({plan.test_seed for plan in plans}) == 2 and all(int(plan.test_seed) < 2**31 for plan in plans)
    assert [plan.train_seed for plan in plans] == [plan.test_seed for plan in plans]
    assert derive_seed(93, "TXT_SQR") == int(hashlib.sha256(b"93 TXT_SQR").hexdigest()[:8], 16) >> 1
    across = Experiment(baselines, PublicData(data.test[:1], data.test[1:], True), tmp_path, (93,), 4).runs()[
        0
    ]
    assert across.plan(tmp_path / "bundle.zip").test_seed == 93
