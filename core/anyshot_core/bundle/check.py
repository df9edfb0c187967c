"""Checks a bundle, folder or zip, without running, importing or unpacking any of it."""

import ast
import sys
import tempfile
from pathlib import Path

from anyshot_core.bundle import config, pitfalls, source
from anyshot_core.bundle.conditions import UNKNOWN, RunConditions
from anyshot_core.bundle.members import read_member
from anyshot_core.bundle.pack import LEFT_OUT, is_left_out, pack_folder
from anyshot_core.bundle.report import BundleReport, Check, CheckOutcome
from anyshot_core.bundle.zipsafety import (
    ZipLimits,
    ZipListing,
    ZipMember,
    ZipRefused,
    folder_of,
    is_clutter,
    read_listing,
)
from anyshot_core.wire.inventory import shipped_inventory


def check_bundle(
    path: Path, limits: ZipLimits | None = None, conditions: RunConditions = UNKNOWN
) -> BundleReport:
    """Check the zip or folder at `path`. Raises FileNotFoundError; everything else is in the report."""
    if path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            zipped = Path(folder) / "submission.zip"
            pack_folder(path, zipped)
            return check_bundle(zipped, limits, conditions)
    try:
        listing = read_listing(path, limits)
        return _check_members(path, listing, conditions)
    except ZipRefused as refusal:
        return BundleReport((_refused(refusal),))


def _check_members(path: Path, listing: ZipListing, conditions: RunConditions) -> BundleReport:
    top = folder_of(listing)
    files = {entry.path.removeprefix(top): entry for entry in listing.files if entry.path.startswith(top)}
    checks = [
        Check("archive", _ARCHIVE, CheckOutcome.OK, _files_of(len(listing.files))),
        *_check_model(path, files, top, conditions),
        _check_config(path, files, conditions.train_datasets),
        *_check_code(path, files, conditions),
        *_check_nested(files),
        *_check_needless(files),
    ]
    return BundleReport(tuple(checks), len(listing.entries), listing.unpacked_bytes)


_ARCHIVE = "Safety of the archive"


def _files_of(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _refused(refusal: ZipRefused) -> Check:
    return Check("archive", _ARCHIVE, CheckOutcome.FAILED, refusal.problem, refusal.remedy)


def _check_model(path: Path, files: dict[str, ZipMember], top: str, conditions: RunConditions) -> list[Check]:
    title = "Presence of model.py"
    if "model.py" not in files:
        return [_without_model(title, files, top)]
    there = Check("model", title, CheckOutcome.OK)
    content = read_member(path, files["model.py"], source.MAX_BYTES)
    if content is None:
        size = source.MAX_BYTES >> 10
        found = f"model.py has more than {size} KiB and was not read"
        remedy = "Move data out of the source text."
        return [there, Check("classes", _CLASSES, CheckOutcome.WARNING, found, remedy)]
    return [there, *_check_source(content, files, conditions)]


_MODEL_REMEDY = "Put model.py at the root of the zip, or let one top-level folder hold everything."
_CLASSES = "Classes MyMetaLearner and MyLearner"


def _without_model(title: str, files: dict[str, ZipMember], top: str) -> Check:
    others = [name for name in files if name.rsplit("/", 1)[-1].lower() == "model.py"]
    if not others:
        found = "There is no model.py in the zip."
        return Check("model", title, CheckOutcome.FAILED, found, _MODEL_REMEDY)
    nearest = min(others, key=lambda name: (name.count("/"), name))
    found = f"There is no model.py, but {top + nearest!r}."
    remedy = _MODEL_REMEDY if "/" in nearest else f"Rename {nearest} to model.py: capitals count."
    return Check("model", title, CheckOutcome.FAILED, found, remedy)


def _check_source(content: bytes, files: dict[str, ZipMember], conditions: RunConditions) -> list[Check]:
    names = source.read_names(content)
    if isinstance(names, source.SourceProblem):
        return [Check("syntax", _COMPILES, CheckOutcome.FAILED, _where_it_stops(names), _syntax_remedy())]
    checks = [Check("syntax", _COMPILES, CheckOutcome.OK)]
    missing = names.missing()
    if missing:
        found = f"model.py does not define {', '.join(missing)}."
        remedy = "model.py must define or import both classes, under exactly these names."
        checks.append(Check("classes", _CLASSES, CheckOutcome.FAILED, found, remedy))
    else:
        checks.append(Check("classes", _CLASSES, CheckOutcome.OK, "by `import *`" if names.star else ""))
    return [*checks, *_check_imports(names.imports, files, conditions)]


_COMPILES = "Syntax of model.py"


def _where_it_stops(problem: source.SourceProblem) -> str:
    text = problem.message + (f" ({problem.text})" if problem.text else "")
    if not problem.line:
        return f"model.py: {text}"
    return f"model.py, line {problem.line}: {text}"


def _syntax_remedy() -> str:
    return (
        "Correct it; `python -m py_compile model.py` shows the same (read as Python "
        f"{sys.version_info.major}.{sys.version_info.minor})."
    )


def _check_imports(
    imports: frozenset[str], files: dict[str, ZipMember], conditions: RunConditions
) -> list[Check]:
    own = {name.split("/")[0].removesuffix(".py") for name in files} | {
        name.removesuffix(".zip") for name in files if name.endswith(".zip")
    }
    offered = shipped_inventory().importable if conditions.importable is None else conditions.importable
    unknown = sorted(imports - own - offered - sys.stdlib_module_names)
    if not unknown:
        return []
    found = (
        f"model.py imports {', '.join(unknown)}, which is neither in the zip nor known to be in the sandbox."
    )
    remedy = _PORT_IT if _is_of_2021(unknown, files) else _BRING_IT
    if conditions.awaited:
        remedy = (
            f"The phase adds {', '.join(conditions.awaited)}, by an image that no worker has yet: what is uploaded"
            f" waits until one has, and what these packages are imported by is known then. {remedy}"
        )
    return [Check("imports", "Imports of model.py", CheckOutcome.WARNING, found, remedy)]


_BRING_IT = (
    "Put the package into the zip, or ask the organizers; nothing can be installed when the code runs. The page"
    " /sandbox of the platform lists what is there."
)
_PORT_IT = (
    "This is a submission for the kit of 2021: write it in PyTorch for the API of 2022, with `from api import"
    " MetaLearner, Learner, Predictor` and a meta_fit that takes two generators, as /docs/participants/from-2021/ of"
    " the platform shows step by step."
)


def _is_of_2021(unknown: list[str], files: dict[str, ZipMember]) -> bool:
    """Whether model.py imports that kit, or TensorFlow or gin where `.gin` files, its settings, lie beside it."""
    settings = any("/" not in name and name.endswith(".gin") for name in files)
    return "metadl" in unknown or (settings and not {"tensorflow", "gin"}.isdisjoint(unknown))


def _check_code(path: Path, files: dict[str, ZipMember], conditions: RunConditions) -> list[Check]:
    """Warnings about what fails, or finds something else, where the code runs; of the files nearest to the root."""
    asked: list[pitfalls.Place] = []
    fetched: list[pitfalls.Place] = []
    left = _MOST_CODE
    for name in sorted(
        (name for name in files if name.endswith(".py")), key=lambda one: (one.count("/"), one)
    ):
        content = read_member(path, files[name], min(left, _LARGEST_CODE))
        tree = source.parse(content) if content is not None else None
        if content is None or not isinstance(tree, ast.Module):
            continue
        left -= len(content)
        if conditions.gpus == 0:
            asked += pitfalls.gpu_calls(name, tree)
        fetched += pitfalls.downloads(name, tree, files)
    return [
        *pitfalls.check_names(files),
        *pitfalls.check_gpu_calls(asked),
        *pitfalls.check_downloads(fetched),
    ]


_LARGEST_CODE = 128 << 10  # bytes of one file
_MOST_CODE = 1 << 20


def _check_config(path: Path, files: dict[str, ZipMember], train_datasets: int | None) -> Check:
    if "config.json" not in files:
        found = "there is none, so training tasks have 5 ways and 1 to 20 shots"
        return Check("config", "Settings in config.json", CheckOutcome.OK, found)
    title = "Settings in config.json"
    content = read_member(path, files["config.json"], config.MAX_BYTES)
    if content is None:
        found = "config.json has more than 1 MiB."
        return Check("config", title, CheckOutcome.FAILED, found, "Move data out of it.")
    try:
        asked = config.read_config(content)
        _require_training_data(asked, train_datasets)
    except config.BadConfig as error:
        return Check("config", title, CheckOutcome.FAILED, str(error), "Correct it in config.json.")
    return Check("config", title, CheckOutcome.OK, _describe(asked))


def _require_training_data(asked: config.SubmissionConfig, train_datasets: int | None) -> None:
    """Raise BadConfig where no dataset is left to train on, as the runner does; None: their number is not known."""
    if train_datasets is None or asked.validation_datasets < max(train_datasets, 1):
        return
    allowed = "0 or null, because meta-training has one dataset"
    if train_datasets > 1:
        allowed = (
            f"a whole number from {0} to {train_datasets - 1}, or null, because "
            f"meta-training has {train_datasets} datasets"
        )
    raise config.BadConfig(
        f"config.json: validation_datasets is {asked.validation_datasets}; allowed is {allowed}."
    )


def _describe(asked: config.SubmissionConfig) -> str:
    form = f"batches of {asked.batch_size}" if asked.batches else "tasks"
    number, own = asked.validation_datasets, ", ".join(asked.ignored)[:200]
    if own:
        return f"training on {form}; validation datasets: {number}; keys of your own: {own}"
    return f"training on {form}; validation datasets: {number}"


def _check_nested(files: dict[str, ZipMember]) -> list[Check]:
    nested = sorted(name for name in files if "/" not in name and name.lower().endswith(".zip"))
    return [Check("nested", "A zip inside", CheckOutcome.OK, _unpacked_into(name)) for name in nested]


def _unpacked_into(name: str) -> str:
    return f"{name} will be unpacked into {name[:-4]}/"


def _check_needless(files: dict[str, ZipMember]) -> list[Check]:
    """A warning about caches, version control and the like, which `anyshot pack` leaves out."""
    sizes: dict[str, int] = {}
    for name, entry in files.items():
        if is_left_out(name) and not is_clutter(name):
            parts = name.split("/")
            first = next(place for place, part in enumerate(parts) if part in LEFT_OUT)
            folder = "/".join(parts[: first + 1])
            sizes[folder] = sizes.get(folder, 0) + entry.size
    if not sizes:
        return []
    named = ", ".join(f"{folder} ({size / 2**20:,.1f} MiB)" for folder, size in sorted(sizes.items()))
    found = f"The zip holds {named}, which no submission needs."
    remedy = "Leave this out; `anyshot pack FOLDER` does."
    return [Check("needless", "Needless files", CheckOutcome.WARNING, found, remedy)]
