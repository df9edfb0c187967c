"""Which settings of the papers' numbers a study has, from the constants that it computes with and what it found.

It stands beside the studies, none of which imports it: words on a stored result make no figure older than its code.
`python -m anyshot_studies.reproduce.conditions FOLDER` writes them into the results stored below a folder.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from anyshot_analysis.diversity.hellinger import published_benchmarks
from anyshot_analysis.pages import write_json
from anyshot_core.report.published_values import CONDITIONS, EXPERIMENT, PaperConditions, as_conditions
from anyshot_core.report.storage import RESULT
from anyshot_studies.experiment.conditions import conditions_of_experiments
from anyshot_studies.reproduce import (
    base_flips,
    control,
    fixml,
    flips,
    in_distribution,
    initialization,
    selection,
    svcca,
    task2vec,
    task_level,
    trade_off,
)
from anyshot_studies.reproduce.material import TRAINING

CONV = f"a Conv-4 of width {TRAINING.width} at {TRAINING.pixels} pixels"
FROZEN = f"heads on frozen features of {CONV}"
RAW = "embeddings of 12 x 12 pixels"
DATA = "Meta-Album's sets at hand"


def _hellinger(_: Mapping[str, Any]) -> PaperConditions:
    known = all((b.mu_m, b.mu_s, b.sigma_s) == (0, 1, 0.01) for b in published_benchmarks())
    return {"the paper's Gaussian benchmarks": (known, "the same" if known else "others")}


def _svcca(_: Mapping[str, Any]) -> PaperConditions:
    return {"two random matrices": (True, f"Gaussian, {svcca.WIDTH} neurons")}


def _initialization(_: Mapping[str, Any]) -> PaperConditions:
    own = initialization
    return {
        "5-way tasks of miniImageNet": (
            False,
            f"5-way tasks of Gaussian points, sigma_m {own.BENCHMARK.sigma_m:g}",
        ),
        "a five-layer CNN": (False, f"a perceptron of width {own.WIDTHS[-1]}"),
        "all models trained to convergence": (False, f"at most {own.ITERATIONS} meta-batches, not looked at"),
    }


def _task2vec(_: Mapping[str, Any]) -> PaperConditions:
    shots = task2vec.PROTOCOL.shots.high + task2vec.PROTOCOL.query
    return {
        "miniImageNet": (False, DATA),
        "a ResNet-18 probe": (False, CONV),
        "5-way tasks of 20 images a class": (shots == 20, f"{shots} images a class"),
        "500 tasks": (task2vec.TASKS >= 500, task2vec.TASKS),
    }


def _task_level(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "all three splits of Meta-Album Mini": (False, DATA),
        "methods trained end to end": (False, FROZEN),
        "MAML's own network": (
            False,
            f"a small network on frozen features, {task_level.MAML_ITERATIONS} meta-batches",
        ),
    }


def _flips(result: Mapping[str, Any]) -> PaperConditions:
    lead = 100 * result["lead"]
    return {
        "methods trained end to end on a ResNet-12": (False, f"class means on {CONV} and on pixels"),
        "classes of one data set": (False, "tasks that mix Set-1 and Set-2"),
        "a true lead of 0.5 points": (abs(lead - 0.5) < 0.25, f"{lead:.1f}"),
        "20,000 tasks a draw": (flips.TASKS_A_DRAW >= 20_000, flips.TASKS_A_DRAW),
        "6 novel classes": (min(flips.SIZES) == 6, min(flips.SIZES)),  # pyright: ignore[reportUnnecessaryComparison]
    }


def _base_flips(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "whole networks trained on each draw of classes": (
            False,
            f"closed forms on frozen features of {CONV}",
        ),
        "20,000 tasks a draw": (base_flips.TASKS >= 20_000, base_flips.TASKS),
    }


def _selection(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "snapshots of an SVM trained on CIFAR-FS": (
            False,
            f"{len(selection.SHRINKAGES)} shrinkages of a whitening",
        ),
        "base and novel classes of one data set": (False, "Set-0 against Set-1 and Set-2"),
        "a ResNet-12": (False, CONV),
    }


def _control(_: Mapping[str, Any]) -> PaperConditions:
    epochs = control.RUNS[0].epochs
    return {
        "a ResNet-12": (False, f"a Conv-4 of width {control.RUNS[0].width}"),
        "snapshots of 60 epochs": (epochs >= 60, f"{len(control.RUNS)} runs of {epochs}"),
        "miniImageNet": (False, DATA),
    }


def _shift(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "methods trained end to end on a ResNet-12": (False, FROZEN),
        "base and novel classes of miniImageNet": (False, "Set-0 against Set-1 and Set-2"),
    }


def _fixml(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "a ResNet-12": (False, RAW),
        "miniImageNet": (False, "Set-0, 148 classes split 50/25/25"),
        "5-way 5-shot training of 60 epochs": (False, f"5-way 3-shot, {fixml.EPISODES} meta-batches"),
    }


def _trade_off(_: Mapping[str, Any]) -> PaperConditions:
    return {
        "a ResNet-12": (False, RAW),
        "miniImageNet or FC-100": (False, "Set-0, 148 classes split 50/25/25"),
        "FOMAML for the learning rate": (False, "prototypical networks"),
        "60 epochs": (False, f"{trade_off.EPISODES} meta-batches"),
    }


def _in_distribution(result: Mapping[str, Any]) -> PaperConditions:
    full, real = result["full"], result["real"]
    data = {
        in_distribution.WORDS[name]: (own, "the real files" if own else "generated images")
        for name, own in real.items()
    }
    network = f"a Conv-4 of width {in_distribution.QUICK['width']} at 32 pixels"
    steps = f"{in_distribution.QUICK['iterations']} training tasks, whatever the number of distinct ones"
    return data | {
        "the paper's network": (full, "the same" if full else network),
        "the paper's epochs": (full, "the same" if full else steps),
    }


STUDIES: Mapping[str, Callable[[Mapping[str, Any]], PaperConditions]] = {
    "hellinger": _hellinger,
    "svcca": _svcca,
    "initialization": _initialization,
    "task2vec": _task2vec,
    "task-level": _task_level,
    "flips": _flips,
    "base-flips": _base_flips,
    "selection": _selection,
    "control": _control,
    "shift": _shift,
    "fixml": _fixml,
    "trade-off": _trade_off,
    "in-distribution": _in_distribution,
}


def conditions_of(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """As plain data for `result.json`; `gaussians` has its own, of how its learners converged."""
    return as_conditions(STUDIES[name](result)) if name in STUDIES else dict(result.get(CONDITIONS, {}))


def stored_conditions(name: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What a stored result has to say, from itself and from the code."""
    if name != EXPERIMENT:
        return conditions_of(name, summary["result"])
    runs = [one for one in summary["manifest"]["parameters"].values() if isinstance(one, Mapping)]
    return conditions_of_experiments(runs)


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
def main(folder: Path) -> None:
    """Write the conditions of all stored results anew; nothing is computed."""
    for path in sorted(folder.glob(f"*/{RESULT}")):
        summary = json.loads(path.read_text(encoding="utf-8"))
        summary["result"][CONDITIONS] = stored_conditions(path.parent.name, summary)
        write_json(path, summary)


if __name__ == "__main__":
    main()
