"""An experiment by a real worker of a site finds what the same experiment finds at home."""

from pathlib import Path

import httpx
import numpy as np
import pytest

from anyshot_core.baselines import find_baselines
from anyshot_core.client import Client
from anyshot_core.protocols import Range
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment.arms import Arm
from anyshot_studies.experiment.carry_out import run_experiment
from anyshot_studies.experiment.plan import Experiment
from anyshot_studies.experiment.site import collect, fetch_archive, send
from tests.contract.stage import PROTOCOL, TASKS, Stage, Wire
from tests.services.material import BASELINES, TEST, TRAIN

SEED = 93


@pytest.mark.slow("a real worker's run, and the same run at home")
def test_a_site_and_an_experiment_at_home_score_alike(stage: Stage, tmp_path: Path) -> None:
    """With the same packs, tasks and seeds each task has the same score, to the last digit."""
    stage.site.set_version(test_seeds=[SEED], train_seeds=[SEED], same_test_tasks=False)
    chosen = tuple(find_baselines(("nearest_prototype",), BASELINES))
    transport: httpx.BaseTransport = Wire(stage.site.client)
    with Client("http://testserver", stage.site.owner().token, transport=transport) as client:
        assert list(send(client, "small", "feedback", chosen, (Arm(),), "")) == [("nearest_prototype", 1)]
        stage.worker().work()
        fetch_archive(client, "small", tmp_path / "archive.zip")
    (there,) = collect(tmp_path / "archive.zip").done
    data = PublicData(
        tuple(stage.packs[name] for name in TRAIN), tuple(stage.packs[name] for name in TEST), False
    )
    experiment = Experiment(
        chosen,
        data,
        tmp_path / "out",
        (SEED,),
        TASKS,
        ways=Range(*PROTOCOL["ways"]),
        shots=Range(*PROTOCOL["shots"]),
        query=PROTOCOL["query"],
    )
    (here,) = run_experiment(experiment)
    assert there.name == here.name and there.table is not None and here.table is not None, (there, here)
    assert np.array_equal(there.table.normalized_accuracy, here.table.normalized_accuracy)
    assert there.table.dataset.tolist() == here.table.dataset.tolist()
