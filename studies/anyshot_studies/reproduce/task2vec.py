"""Task2Vec diversity of the real sets, with two random probes; the published values need ImageNet weights."""

import numpy as np

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.diversity.coefficient import MeanWithInterval, diversity, noise_floor
from anyshot_analysis.diversity.pool import measure_pool
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import Bar, draw_bars
from anyshot_core.protocols import FixedWaysShots, Range
from anyshot_core.report.estimates import around
from anyshot_studies.reproduce.material import WORDS, Material

PROTOCOL = FixedWaysShots(ways=Range(5, 5), shots=Range(10, 10), query=10)
TASKS, FLOOR = 30, 6
OVER = "other 5-way tasks of these datasets"


def make(material: Material) -> ReportPage:
    """Two probes, three sets."""
    probes = {"random Conv-4": make_backbone("conv4-48", 32), "Conv-4 trained on Set-0": material.backbone}
    found: dict[tuple[str, str], tuple[MeanWithInterval, MeanWithInterval]] = {}
    for name, probe in probes.items():
        for i in range(3):
            measured = measure_pool(material.pool(i), PROTOCOL, probe, TASKS, FLOOR, seed=0)
            found[name, f"Set-{i}"] = diversity(measured.distances), noise_floor(measured.floor)
    rows = [[p, s, d.mean, d.half_width, f.mean] for (p, s), (d, f) in found.items()]
    bars = [
        Bar(f"{p}, {s}", d.mean, None if isinstance(d.half_width, Undefined) else d.half_width)
        for (p, s), (d, _) in found.items()
    ]
    above = all(d.mean > f.mean for d, f in found.values())
    return ReportPage(
        name="reproduce-task2vec",
        title="Task2Vec diversity of real sets",
        finding=(
            "Not reproduced: miniImageNet .117 and CIFAR-FS .100 need those datasets and ImageNet "
            "weights. On real sets here "
            f"diversity lies {'above' if above else 'not always above'} the noise floor."
        ),
        population="other 5-way tasks of these datasets; unit of resampling: the task.",
        estimates=[
            around(f"{what} of {s}, {p}", one.mean, one.half_width, "mean distance", OVER)
            for (p, s), both in found.items()
            for what, one in zip(("diversity", "floor"), both, strict=True)
        ],
        charts=[draw_bars(bars, "Diversity by probe and set", "Mean distance")],
        listings=[PageTable("Sets", ("probe", "set", "diversity", "half width", "floor"), rows)],
        notes=[
            WORDS,
            f"{TASKS} tasks a set (500 published), 20 images a class, {FLOOR} pairs for the floor.",
        ],
        result={
            f"{p}, {s}": {"diversity": d.to_dict(), "floor": f.to_dict()} for (p, s), (d, f) in found.items()
        },
        table={
            "probe": [p for p, _ in found],
            "set": [s for _, s in found],
            "diversity": np.array([d.mean for d, _ in found.values()]),
        },
    )
