"""The control: where training and test data are i.i.d., snapshots of one classifier keep their order."""

import copy
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from anyshot_analysis.features import Features, FrozenBackbone, extract_pool
from anyshot_analysis.heads import ProtoNet
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.shift.evaluation import generalisation
from anyshot_analysis.supervised import SupervisedSettings, fit, load_images
from anyshot_analysis.undefined import require
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import exact
from anyshot_scoring.reliability import tau_b
from anyshot_scoring.summary import Group
from anyshot_starting_kit.networks.conv4 import Conv4
from anyshot_studies.reproduce.material import Material

RUNS = (SupervisedSettings(width=32, epochs=6, rate=1e-3), SupervisedSettings(width=32, epochs=6, rate=6e-3))
TASKS = 400
SAME = "these snapshots of two training runs"
NEIGHBOURS = "neighbouring snapshots depend on each other, and two runs have no spread"
SIDES = ("i.i.d. half 1", "i.i.d. half 2", "BaseGen", "NovelGen")
PAIRS = {"supervised, i.i.d. halves": SIDES[:2], "few-shot, base and novel classes": SIDES[2:]}


@dataclass(frozen=True)
class Parts:
    """Rows of the images of each class: to train on, and two halves of the rest."""

    trained: NDArray[np.int64]
    halves: tuple[NDArray[np.int64], NDArray[np.int64]]


def split_images(labels: NDArray[np.int64], share: float = 0.6, seed: int = 0) -> Parts:
    """An i.i.d. split class by class."""
    rng = np.random.default_rng(seed)
    cut = [
        np.split(rows, [round(share * len(rows)), round((1 + share) / 2 * len(rows))])
        for rows in (rng.permutation(np.flatnonzero(labels == c)) for c in range(int(labels.max()) + 1))
    ]
    trained, first, second = (np.concatenate(part) for part in zip(*cut, strict=True))
    return Parts(trained, (first, second))


@torch.no_grad()
def embed(network: nn.Module, images: Tensor) -> Tensor:
    """Features in eval mode, whatever the mode was."""
    was = network.training
    found = torch.cat([network.eval()(part) for part in images.split(200)])
    network.train(was)
    return found


def train(images: Tensor, labels: Tensor, settings: SupervisedSettings) -> list[tuple[nn.Module, nn.Module]]:
    """Network and head after each epoch."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network, head = Conv4(settings.width), nn.Linear(settings.width, int(labels.max()) + 1)
        found: list[tuple[nn.Module, nn.Module]] = []
        fit(
            network,
            head,
            images,
            labels,
            settings,
            lambda _: None,
            lambda: found.append(copy.deepcopy((network, head))),
        )
    return found


def judge(
    snapshot: tuple[nn.Module, nn.Module], images: Tensor, base: Features, parts: Parts, material: Material
) -> list[float]:
    """The four accuracies of `SIDES`."""
    network, head = snapshot
    labels, found = torch.from_numpy(base.labels), []
    for rows in parts.halves:
        hits = head(embed(network, images[rows])).argmax(dim=1) == labels[rows]
        found.append(float(hits.float().mean()))
    rest = np.concatenate(parts.halves)
    known = Features(embed(network, images[rest]).numpy(), base.labels[rest], base.datasets)
    backbone = FrozenBackbone(network.eval(), RUNS[0].pixels)
    novel = extract_pool(material.pool(1), backbone, material.cache / "control")
    for side in (known, novel):
        found.append(float(generalisation(side, [ProtoNet()], 5, 3, 5, TASKS, seed=3)["protonet"].mean()))
    return found


def turned_pairs(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Share of pairs of snapshots, untied on both sides, that change their order between them."""
    signs = [
        np.sign(first[a] - first[b]) * np.sign(second[a] - second[b])
        for a, b in combinations(range(len(first)), 2)
    ]
    settled = [s for s in signs if s != 0]
    return float(np.mean([s < 0 for s in settled])) if settled else 0.0


def make(material: Material) -> ReportPage:
    """Two learning rates, six snapshots each."""
    pool = material.pool(0)
    images, labels = load_images(pool, FrozenBackbone(nn.Identity(), RUNS[0].pixels))
    names = tuple(pack.name for pack in pool for _ in pack.classes)
    base = Features(labels[:, None].astype(np.float32), labels, names)  # carries labels and names only
    parts = split_images(labels)
    scores = []
    for settings in RUNS:
        snapshots = train(images[parts.trained], torch.from_numpy(labels[parts.trained]), settings)
        scores += [judge(own, images, base, parts, material) for own in snapshots]
    table = np.array(scores)
    columns = {name: table[:, i] for i, name in enumerate(SIDES)}
    taus = {
        name: require(tau_b(columns[a], columns[b]), f"the order, {name}") for name, (a, b) in PAIRS.items()
    }
    turned = {name: turned_pairs(columns[a], columns[b]) for name, (a, b) in PAIRS.items()}
    epochs = np.concatenate([np.arange(1, r.epochs + 1) for r in RUNS])
    curves = {
        f"{name}, rate {run.rate:g}": [
            Group(e + 1, float(100 * columns[name][i * run.epochs + e]), None, TASKS)
            for e in range(run.epochs)
        ]
        for i, run in enumerate(RUNS)
        for name in SIDES[1:]
    }
    one, two = PAIRS
    return ReportPage(
        name="reproduce-control",
        title="Order of snapshots: supervised control and few-shot",
        finding=(
            f"Of pairs of snapshots, {turned[one]:.0%} change their order between two i.i.d. halves of the test images "
            f"(tau-b {taus[one]:.2f}), {turned[two]:.0%} between base and novel classes (tau-b {taus[two]:.2f})."
        ),
        population="the same snapshots on other images (halves), or on other classes (base and novel); no p-value: "
        "neighbouring snapshots depend on each other.",
        estimates=[
            *[exact(f"tau-b, {n}", taus[n], "correlation", SAME, NEIGHBOURS) for n in PAIRS],
            *[
                exact(f"pairs that change order, {n}", turned[n], "probability", SAME, NEIGHBOURS)
                for n in PAIRS
            ],
        ],
        charts=[draw_curves(curves, "Accuracy by epoch", "epoch", "Accuracy (points)", intervals=False)],
        listings=[
            PageTable(
                "Agreement",
                ("pair", "tau-b", "pairs that change order"),
                [[n, taus[n], f"{turned[n]:.1%}"] for n in PAIRS],
            ),
            PageTable(
                "Snapshots (points)",
                ("epoch", *SIDES),
                [[int(e), *map(points, row)] for e, row in zip(epochs, scores, strict=True)],
            ),
        ],
        notes=[
            f"Reduced: a Conv-4 of width 32 at 32 pixels on the 148 classes of Set-0, two learning rates of 6 epochs; "
            f"novel classes are those of Set-1; {TASKS} tasks of 5 ways and 3 shots by nearest mean.",
            "Published: i.i.d. evaluations of supervised classifiers agree; few-shot ones, base against novel, do not.",
        ],
        result={"tau": taus, "turned": turned, "accuracy": columns},
        table={
            "rate": np.repeat([r.rate for r in RUNS], [r.epochs for r in RUNS]),
            "epoch": epochs,
            **columns,
        },
    )
