"""What is wrong with an experiment, or does not apply to a bundle of it: said before the first run."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyshot_core.baselines import ExperimentBundle, merged_config
from anyshot_core.bundle.config import BadConfig, read_config
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AnyWayAnyShot
from anyshot_starting_kit.dryrun.further_evaluations import check_further
from anyshot_starting_kit.dryrun.parts import training_packs
from anyshot_studies.experiment.arms import Arm, setting_names
from anyshot_studies.experiment.plan import Experiment


class BadExperiment(ValueError):
    """The experiment cannot be run as it was asked for; the message says why."""


def check(experiment: Experiment) -> tuple[str, ...]:
    """A sentence for each thing that is left out. Raises BadExperiment, BadConfig, ProtocolError."""
    _check_reach(experiment)
    for file in {file for arm in experiment.arms for file in arm.files}:
        _check_weights(file)
    notes = [*_check_overlays(experiment), *_check_changes(experiment), *_check_arms(experiment)]
    _check_settings(experiment)
    _check_held_out(experiment)
    if experiment.within:
        notes += [f"Left out: {reason}" for reason in experiment.split_datasets()[1]]
    for run in {run.dataset: run for run in experiment.runs()}.values():
        check_further(run.data, run.roles, experiment.further)
    _make_folder(experiment.output)
    return tuple(notes)


def _make_folder(folder: Path) -> None:
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadExperiment(f"{folder}: the results cannot be written there ({error.strerror}).") from error


def _check_reach(experiment: Experiment) -> None:
    """Ranges are capped by what a dataset offers; where none offers their low end, that is a mistake."""
    ways, shots, query = experiment.ways.low, experiment.shots.low, experiment.query
    if ways < 2:
        raise BadExperiment("--ways: a task has two classes or more.")
    if experiment.within:
        return  # such a dataset is left out
    pool = Pool.open(experiment.data.test, verify=False)
    if experiment.roles is not None:
        experiment.roles.test.check(pool)
        return
    AnyWayAnyShot(ways=experiment.ways, shots=experiment.shots, query=query).check(pool)
    classes, images = max(len(pack.classes) for pack in pool), max(pack.smallest_class for pack in pool)
    if ways > classes:
        raise BadExperiment(f"--ways {ways}: no test dataset has more than {classes} classes.")
    if shots > images - query:
        raise BadExperiment(
            f"--shots {shots}: no test dataset has more than {images} images in each class, of which {query} are the"
            " query."
        )


def _check_weights(file: Path) -> None:
    from anyshot_starting_kit.networks import weights

    try:
        weights.read_weights(file)
    except weights.WrongWeights as error:
        raise BadExperiment(f"--weights: {error}") from error


def _check_overlays(experiment: Experiment) -> list[str]:
    name, folders = experiment.settings, _folders(experiment)
    if not name:
        return []
    lacking = [baseline for baseline in folders if name not in baseline.overlays()]
    if len(lacking) == len(folders):
        known = sorted({overlay for baseline in folders for overlay in baseline.overlays()})
        raise BadExperiment(
            f"--settings {name}: no chosen bundle has {name}.json; there are {', '.join(known) or 'none'}."
        )
    return [f"With config.json alone, as they have no {name}.json: {_names(lacking)}."] if lacking else []


def _check_changes(experiment: Experiment) -> list[str]:
    changes = _changes(experiment)
    with_method = [
        b for b in _folders(experiment) if "method" in merged_config(b.source, experiment.settings)
    ]
    for key in changes:
        if not any(key in setting_names(baseline, experiment.settings) for baseline in with_method):
            known = sorted(
                {k for baseline in with_method for k in setting_names(baseline, experiment.settings)}
            )
            raise BadExperiment(
                f"--set {key}: no chosen bundle takes it; known are {', '.join(known) or 'none'}."
            )
    notes = []
    without = [baseline for baseline in _folders(experiment) if baseline not in with_method]
    if changes and without:
        notes.append(f"Without settings, so that --set changes nothing: {_names(without)}.")
    for key in changes:
        lacking = [b for b in with_method if key not in setting_names(b, experiment.settings)]
        notes += (
            [f"--set {key} is no setting of {_names(lacking)}, and changes nothing there."] if lacking else []
        )
    zips = [baseline for baseline in experiment.baselines if baseline.is_zip]
    if zips and (changes or experiment.settings):
        notes.append(f"Zips are run as they are, without --settings and --set: {_names(zips)}.")
    return notes


def _check_arms(experiment: Experiment) -> list[str]:
    notes = []
    for arm in experiment.arms:
        reasons = {b.name: arm.why_not(b, experiment.settings) for b in experiment.baselines}
        left_out = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
        if left_out:
            notes.append(f"Not run as {arm.label}: {', '.join(left_out)}.")
    return notes


def _check_settings(experiment: Experiment) -> None:
    for baseline in _folders(experiment):
        for arm in experiment.arms:
            if not arm.why_not(baseline, experiment.settings):
                _check_method(baseline, arm, experiment.settings)


def _check_method(baseline: ExperimentBundle, arm: Arm, settings: str) -> None:
    from anyshot_starting_kit.training.settings import BadSettings, declared_settings

    method = merged_config(baseline.source, settings, arm.changes_of(baseline, settings)).get("method")
    declared = None if method is None else declared_settings(baseline.source / "model.py")
    if declared is None:
        return
    if not isinstance(method, dict):
        raise BadExperiment(f"{baseline.name}: config.json: method is no object.")
    try:
        declared.from_dict(method)
    except BadSettings as error:
        raise BadExperiment(f"{arm.name(baseline)}: {error}") from error


def _check_held_out(experiment: Experiment) -> None:
    """Datasets that a bundle holds out for validation are fewer than those it trains on; a protocol needs none."""
    for run in {(run.name, run.dataset): run for run in experiment.runs()}.values():
        if run.baseline.is_zip or run.roles.validation is not None:
            continue
        changes = run.arm.changes_of(run.baseline, experiment.settings)
        config = merged_config(run.baseline.source, experiment.settings, changes)
        try:
            read_config(json.dumps(config).encode(), len(training_packs(run.data, run.roles)[0]))
        except BadConfig as error:
            raise BadExperiment(
                f"{run.name}: {error} Choose settings that hold out fewer, or name a --validation-protocol."
            ) from error


def _changes(experiment: Experiment) -> Mapping[str, Any]:
    return experiment.arms[0].changes.get("method", {})


def _folders(experiment: Experiment) -> list[ExperimentBundle]:
    return [baseline for baseline in experiment.baselines if not baseline.is_zip]


def _names(baselines: Sequence[ExperimentBundle]) -> str:
    return ", ".join(baseline.name for baseline in baselines)
