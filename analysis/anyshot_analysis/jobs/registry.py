"""The analyses, and the one function that runs any of them."""

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, silent
from anyshot_analysis.jobs.options import settings_of
from anyshot_analysis.pages import TABLE, Manifest, ReportPage, write_report
from anyshot_core.data.pack import SUFFIX, Pack
from anyshot_core.report.storage import FIGURES, RESULT
from anyshot_core.wire.reports import ANALYSIS_VERSION, REPORTS, Subject

# What numbers come from, in a report's manifest: another version may give others.
PACKAGES = (
    "anyshot-analysis",
    "anyshot-scoring",
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "timm",
    "pyarrow",
)


class ReportAudience(StrEnum):
    """Who may read a report: an organizer's report tells of hidden datasets and classes."""

    ORGANIZER = "organizer"
    PARTICIPANT = "participant"


@dataclass(frozen=True)
class Analysis:
    """An analysis: where its function `make` and its `Parameters` are, for whom, and what it is about."""

    module: str
    audience: ReportAudience
    about: str

    def load(self) -> tuple[Any, Any]:
        """`Parameters` class and `make(inputs, parameters, progress) -> Report`; imports torch where it needs it."""
        module = importlib.import_module(f"anyshot_analysis.{self.module}")
        return module.Parameters, module.make


def described(name: str, module: str) -> Analysis:
    """The analysis of a report that organizers ask for; one on submissions tells their participants' own."""
    report = REPORTS[name]
    own = report.subject == Subject.SUBMISSIONS
    return Analysis(module, ReportAudience.PARTICIPANT if own else ReportAudience.ORGANIZER, report.question)


JOBS: dict[str, Analysis] = {
    "diversity": described("diversity", "diversity.pool_report"),
    "audit": described("audit", "shift.audit_report"),
    "plan": described("plan", "flips.planning_report"),
    "flips": described("flips", "flips.ranking_report"),
    "difficulty": described("difficulty", "flips.difficulty_report"),
    "shift": Analysis(
        "shift.heads_report", ReportAudience.ORGANIZER, "In- and out-of-distribution accuracy of heads."
    ),
    "fixml": Analysis(
        "shift.fixml_report", ReportAudience.ORGANIZER, "Training with one fixed support a class, or without."
    ),
    "representations": described("representations", "representations.report"),
    "task-trust": Analysis(
        "trust.task_trust_report",
        ReportAudience.PARTICIPANT,
        "What support sets tell about a predictor's accuracy.",
    ),
    "compare": Analysis(
        "comparison.report", ReportAudience.PARTICIPANT, "Two runs: different, equivalent or undecided."
    ),
    "snapshots": described("snapshots", "shift.snapshots_report"),
    "submission-shift": described("submission-shift", "shift.submissions_report"),
    "predictor-trust": described("predictor-trust", "trust.predictor_report"),
    "calibration": described("calibration", "calibration.report"),
    "feature-diversity": described("feature-diversity", "diversity.features_report"),
    "n-way-flips": described("n-way-flips", "flips.n_way_report"),
    "class-flips": Analysis(
        "flips.class_flips_report",
        ReportAudience.PARTICIPANT,
        "Flips of two methods over novel or base classes.",
    ),
    "baseline-cv": Analysis(
        "trust.baseline_cv_report",
        ReportAudience.PARTICIPANT,
        "A penalty that each support set chooses, or a fixed one.",
    ),
    "selection": Analysis(
        "selection.report",
        ReportAudience.PARTICIPANT,
        "What rules of choosing lose, and what oracle calls would cost.",
    ),
    "mixtures": Analysis(
        "shift.mixtures_report", ReportAudience.ORGANIZER, "How many novel classes are in tasks of a mixture."
    ),
    "gaussian": Analysis(
        "gaussian.report", ReportAudience.PARTICIPANT, "MAML against USL on a benchmark of known diversity."
    ),
}


def read_parameters(name: str, parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """The analysis's function and its validated parameters; BadAnalysis with what is wrong."""
    if name not in JOBS:
        raise BadAnalysis(f"unknown analysis {name!r}; there are {', '.join(JOBS)}")
    kind, make = JOBS[name].load()
    unknown = sorted(set(parameters) - set(settings_of(kind)))
    if unknown:
        raise BadAnalysis(f"analysis {name} has no parameter {', '.join(unknown)}")
    try:
        return make, TypeAdapter(kind).validate_python(dict(parameters))
    except ValidationError as error:
        raise BadAnalysis(f"analysis {name}: {_wrong(error)}") from error
    except ValueError as error:
        raise BadAnalysis(f"analysis {name}: {error}") from error


def _wrong(error: ValidationError) -> str:
    """What is wrong with which parameter, in words."""
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
    return "; ".join(
        f"{place}: {words}" if place else words.removeprefix("Value error, ") for place, words in found
    )


def run(
    name: str,
    inputs: Mapping[str, Sequence[Path]],
    parameters: Mapping[str, Any],
    out_folder: Path,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Run analysis `name` and write `page.html`, `result.json` and `table.parquet` to `out_folder`.

    `inputs` are files by role (`meta_train`, `meta_test`, `results`, `arrays`, `snapshots`, `estimates`,
    `probabilities`, `evaluations`).
    Same inputs and parameters, same bytes.
    Returns what `result.json` holds. Raises BadAnalysis for what the caller can put right.
    """
    make, settings = read_parameters(name, parameters)
    report: ReportPage = make(Inputs(inputs), settings, progress)
    return write_report(report, Path(out_folder), manifest_of(inputs, settings))


def plain_settings(settings: Any) -> dict[str, Any]:
    """The settings of an analysis by name."""
    return {name: getattr(settings, name) for name in settings_of(type(settings))}


def manifest_of(inputs: Mapping[str, Sequence[Path]], settings: Any) -> Manifest:
    """Parameters, inputs by digest (weights among them), and versions of a report; no folder of this machine."""
    parameters = plain_settings(settings)
    parameters.pop("cache", None)  # decides no number
    read = {role: list(paths) for role, paths in sorted(inputs.items()) if paths}
    if parameters.get("weights"):
        read["weights"] = [Path(parameters["weights"])]
        parameters["weights"] = read["weights"][0].name
    files = {
        role: [(Path(path).name, file_digest(Path(path))) for path in paths] for role, paths in read.items()
    }
    return Manifest(
        parameters,
        files,
        {"analysis format": str(ANALYSIS_VERSION)} | {name: version(name) for name in PACKAGES},
    )


def file_digest(path: Path) -> str:
    """The content digest of a pack, which it holds; of any other file the sha256."""
    if path.suffix == SUFFIX:
        return Pack.open(path, verify=False).content_digest
    return hashlib.sha256(path.read_bytes()).hexdigest()


def again(
    report: Path,
    inputs: Mapping[str, Sequence[Path]],
    out_folder: Path,
    weights: Path | None = None,
    progress: Progress = silent,
) -> bool:
    """Make a stored report again from the same inputs; returns whether the numbers are the same, byte for byte.

    `report` is its folder or `result.json`. Compared is what `result.json` says, whatever the files are called now, and
    the figures and rows beside it. Raises `BadAnalysis` where the inputs or the versions are not the same.
    """
    stored = report / RESULT if report.is_dir() else report
    try:
        old = json.loads(stored.read_text(encoding="utf-8"))
        name, manifest = old["analysis"], old["manifest"]
        parameters = dict(manifest["parameters"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadAnalysis(f"{stored}: not a report that says how it was made ({error})") from error
    if parameters.get("weights"):
        if weights is None:
            raise BadAnalysis(
                f"the report took the weights {parameters['weights']}: give their file (--weights)"
            )
        parameters["weights"] = str(weights)
    own = manifest_of(inputs, read_parameters(name, parameters)[1]).to_dict()
    for part, words in (
        ("inputs", "the files given are not those of the report"),
        ("versions", "other versions"),
    ):
        if (old_part := _digests(manifest[part])) != (new := _digests(own[part])):
            raise BadAnalysis(f"{words}: the report has {old_part}, found {new}")
    before = _numbers(stored)  # read first: `out_folder` may be the report's own
    run(name, inputs, parameters, out_folder, progress)
    after = _numbers(Path(out_folder) / RESULT)
    return all(after[part] == before[part] for part in before)


def _numbers(result: Path) -> dict[str, bytes]:
    """What a report says, without how it was made, and what lies beside it."""
    summary = json.loads(result.read_text(encoding="utf-8"))
    del summary["manifest"]
    beside = [path for path in (result.with_name(FIGURES), result.with_name(TABLE)) if path.exists()]
    own = json.dumps(summary, sort_keys=True).encode()
    return {RESULT: own} | {path.name: path.read_bytes() for path in beside}


def _digests(part: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by their digests, whatever the files are called now; versions as they are."""
    return {
        key: [row["digest"][:12] for row in value] if isinstance(value, list) else value
        for key, value in part.items()
    }


def digest(name: str, input_digests: Mapping[str, Sequence[str]], parameters: Mapping[str, Any]) -> str:
    """Key of a report in a cache: sha256 over analysis, version, inputs by digest and all parameters."""
    _, settings = read_parameters(name, parameters)
    roles = {role: list(values) for role, values in sorted(input_digests.items())}
    key = {
        "analysis": name,
        "version": ANALYSIS_VERSION,
        "inputs": roles,
        "parameters": plain_settings(settings),
    }
    return hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
