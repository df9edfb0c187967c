"""Training ways and learning rate trade accuracy on base classes against accuracy on novel ones."""

import numpy as np

from anyshot_analysis.heads import ProtoNet
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.shift.evaluation import (
    Snapshots,
    choose_snapshots,
    generalisation,
    snapshot_agreement,
    split_sides,
)
from anyshot_analysis.shift.fixml import EpisodicSettings, embedded, train_arm
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import Estimate
from anyshot_core.report.estimates import mean as mean_of
from anyshot_scoring.summary import Group
from anyshot_studies.reproduce.material import Material

WAYS = (2, 5, 15)
RATES = (3e-4, 3e-3)
SEEDS, EPISODES, TASKS = 3, 300, 200


def make(material: Material) -> ReportPage:
    """Embeddings on 12 x 12 pixels of Set-0; tested on 5-way 3-shot tasks."""
    sides, head = split_sides(material.pixel_features(0)), ProtoNet()
    rows, choices = [], []
    for ways in WAYS:
        for rate in RATES:
            for seed in range(SEEDS):
                settings = EpisodicSettings(
                    False, "rest", (256, 64), ways, 3, 10, EPISODES, rate=rate, seed=seed
                )
                run = train_arm(sides.trained, settings)
                scores = {
                    name: [
                        float(
                            generalisation(embedded(n, side), [head], 5, 3, 5, TASKS, seed=9)[
                                head.name
                            ].mean()
                        )
                        for n in run.networks
                    ]
                    for name, side in (
                        ("base", sides.held_back),
                        ("validation", sides.validation),
                        ("novel", sides.novel),
                    )
                }
                snapshots = Snapshots(*[np.array(v) for v in (run.losses, *scores.values())])
                choices += choose_snapshots(snapshots)
                taus = snapshot_agreement(snapshots)
                rows.append(
                    (ways, rate, seed, scores["base"][-1], scores["novel"][-1], taus["BaseGen and NovelGen"])
                )
    table = {
        k: np.array([r[i] for r in rows]) for i, k in enumerate(("ways", "rate", "seed", "base", "novel"))
    }

    def mean(key: str, ways: int, rate: float) -> float:
        return float(table[key][(table["ways"] == ways) & (table["rate"] == rate)].mean())

    series = {
        f"{key}, rate {rate:g}": [Group(w, 100 * mean(key, w, rate), None, SEEDS) for w in WAYS]
        for key in ("base", "novel")
        for rate in RATES
    }
    cells = [(w, r) for w in WAYS for r in RATES]
    best = {key: max(cells, key=lambda c, key=key: mean(key, *c)) for key in ("base", "novel")}
    rules = list(dict.fromkeys(c.rule for c in choices))
    lost = {rule: float(np.mean([c.novel_lost for c in choices if c.rule == rule])) for rule in rules}
    return ReportPage(
        name="reproduce-trade-off",
        title="Training ways and learning rate between BaseGen and NovelGen",
        finding=(
            f"Best for base classes: {best['base'][0]} ways at rate {best['base'][1]:g}; best for "
            f"novel ones: {best['novel'][0]} "
            f"ways at rate {best['novel'][1]:g}. Choosing the snapshot by BaseGen loses "
            f"{points(lost['best BaseGen'])} points of "
            f"NovelGen, by ValGen {points(lost['best ValGen'])}."
        ),
        population=f"other tasks of these classes; {SEEDS} seeds: an indication only.",
        estimates=estimates_of(table),
        charts=[
            draw_curves(
                series, "Accuracy by training ways", "training ways", "Accuracy (points)", intervals=False
            )
        ],
        listings=[
            PageTable(
                "Novel lost by snapshot rule (points)",
                ("rule", "novel lost"),
                [[r, points(v)] for r, v in lost.items()],
            ),
            PageTable(
                "Runs (points)",
                ("ways", "rate", "seed", "BaseGen", "NovelGen", "tau-b of snapshots"),
                [[w, r, s, points(b), points(n), t] for w, r, s, b, n, t in rows],
            ),
        ],
        notes=[
            f"Reduced: a two-layer embedding of 12 x 12 pixels, {EPISODES} meta-batches, {SEEDS} "
            f"seeds, 6 snapshots a run."
        ],
        result={"best": best, "novel_lost": lost},
        table=table,
    )


def estimates_of(table: dict[str, np.ndarray]) -> list[Estimate]:
    """What more training ways and a higher learning rate bring on either side, paired by seed."""

    def scores(key: str, ways: int, rate: float) -> np.ndarray:
        rows = (table["ways"] == ways) & (table["rate"] == rate)
        return table[key][rows][np.argsort(table["seed"][rows])]

    over, made = "other seeds of training on this split of classes", []
    for key, words in (("base", "BaseGen"), ("novel", "NovelGen")):
        more = scores(key, WAYS[-1], RATES[0]) - scores(key, WAYS[1], RATES[0])
        higher = scores(key, WAYS[1], RATES[1]) - scores(key, WAYS[1], RATES[0])
        made += [
            mean_of(f"{words}, {WAYS[-1]} training ways minus {WAYS[1]}", more, "points", over, scale=100),
            mean_of(f"{words}, higher minus lower learning rate", higher, "points", over, scale=100),
        ]
    return made
