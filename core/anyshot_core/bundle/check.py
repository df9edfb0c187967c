"""Checks a bundle, folder or zip, without running, importing or unpacking any of it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from anyshot_core.bundle import config, source
from anyshot_core.bundle.members import read_member
from anyshot_core.bundle.pack import pack_folder
from anyshot_core.bundle.report import BundleReport, Check, CheckOutcome
from anyshot_core.bundle.zipsafety import (
    ZipLimits,
    ZipListing,
    ZipMember,
    ZipRefused,
    folder_of,
    read_listing,
)
from anyshot_core.words import count_of

OFFERED = frozenset(
    [
        "torch",
        "torchvision",
        "timm",
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "PIL",
        "tqdm",
        "ot",
        "cython",
        "Cython",
        "requests",
        "pytorch_metric_learning",
        "api",
        "anyshot_starting_kit",
        "anyshot_scoring",
        "yaml",
    ]
)


def check_bundle(
    path: Path, limits: ZipLimits | None = None, *, train_datasets: int | None = None
) -> BundleReport:
    """Check the zip or folder at `path`. Raises FileNotFoundError; everything else is in the report.

    `train_datasets` is the number of meta-training datasets of the phase, where it is known.
    """
    if path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            zipped = Path(folder) / "submission.zip"
            pack_folder(path, zipped)
            return check_bundle(zipped, limits, train_datasets=train_datasets)
    try:
        listing = read_listing(path, limits)
        return _check_members(path, listing, train_datasets)
    except ZipRefused as refusal:
        return BundleReport((_refused(refusal),))


def _check_members(path: Path, listing: ZipListing, train_datasets: int | None) -> BundleReport:
    top = folder_of(listing)
    files = {entry.path.removeprefix(top): entry for entry in listing.files if entry.path.startswith(top)}
    checks = [
        Check(
            "archive",
            "The archive is safe to unpack",
            CheckOutcome.OK,
            "1 file" if len(listing.files) == 1 else f"{len(listing.files)} files",
        ),
        *_check_model(path, files, top),
        _check_config(path, files, train_datasets),
        *_check_nested(files),
    ]
    return BundleReport(tuple(checks), len(listing.entries), listing.unpacked_bytes)


def _refused(refusal: ZipRefused) -> Check:
    return Check(
        "archive", "The archive is safe to unpack", CheckOutcome.FAILED, refusal.problem, refusal.remedy
    )


def _check_model(path: Path, files: dict[str, ZipMember], top: str) -> list[Check]:
    title = "model.py is there"
    if "model.py" not in files:
        return [Check("model", title, CheckOutcome.FAILED, _where_is_model(files, top), _MODEL_REMEDY)]
    there = Check("model", title, CheckOutcome.OK)
    content = read_member(path, files["model.py"], source.MAX_BYTES)
    if content is None:
        found = f"model.py has more than {source.MAX_BYTES >> 10} KiB and was not read"
        return [
            there,
            Check("classes", _CLASSES, CheckOutcome.WARNING, found, "Move data out of the source text."),
        ]
    return [there, *_check_source(content, files)]


_MODEL_REMEDY = "Put model.py at the root of the zip, or let one top-level folder hold everything."
_CLASSES = "model.py defines MyMetaLearner and MyLearner"


def _where_is_model(files: dict[str, ZipMember], top: str) -> str:
    others = sorted(name for name in files if name.rsplit("/", 1)[-1].lower() == "model.py")
    return f"There is no model.py, but {top + others[0]!r}." if others else "There is no model.py in the zip."


def _check_source(content: bytes, files: dict[str, ZipMember]) -> list[Check]:
    names = source.read_names(content)
    if isinstance(names, source.SourceProblem):
        where = f"model.py, line {names.line}: " if names.line else "model.py: "
        text = f" ({names.text})" if names.text else ""
        remedy = f"Correct it; `python -m py_compile model.py` shows the same (read as Python {_python()})."
        return [
            Check("syntax", "model.py compiles", CheckOutcome.FAILED, f"{where}{names.message}{text}", remedy)
        ]
    checks = [Check("syntax", "model.py compiles", CheckOutcome.OK)]
    missing = names.missing()
    if missing:
        found = f"model.py binds no {' and no '.join(missing)}."
        remedy = "Define or import the class in model.py under exactly this name."
        checks.append(Check("classes", _CLASSES, CheckOutcome.FAILED, found, remedy))
    else:
        checks.append(Check("classes", _CLASSES, CheckOutcome.OK, "by `import *`" if names.star else ""))
    return [*checks, *_check_imports(names.imports, files)]


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _check_imports(imports: frozenset[str], files: dict[str, ZipMember]) -> list[Check]:
    own = {name.split("/")[0].removesuffix(".py") for name in files} | {
        name.removesuffix(".zip") for name in files if name.endswith(".zip")
    }
    unknown = sorted(imports - own - OFFERED - sys.stdlib_module_names)
    if not unknown:
        return []
    found = (
        f"model.py imports {', '.join(unknown)}, which is neither in the zip nor known to be in the sandbox."
    )
    remedy = (
        "Put the package into the zip, or ask the organizers; nothing can be installed when the code runs."
    )
    return [Check("imports", "What model.py imports will be there", CheckOutcome.WARNING, found, remedy)]


def _check_config(path: Path, files: dict[str, ZipMember], train_datasets: int | None) -> Check:
    title = "The settings in config.json can be used"
    if "config.json" not in files:
        return Check(
            "config", title, CheckOutcome.OK, "there is none: training tasks have 5 ways and 1 to 20 shots"
        )
    content = read_member(path, files["config.json"], config.MAX_BYTES)
    if content is None:
        return Check(
            "config", title, CheckOutcome.FAILED, "config.json has more than 1 MiB.", "Move data out of it."
        )
    try:
        asked = config.read_config(content, train_datasets)
    except config.BadConfig as error:
        return Check("config", title, CheckOutcome.FAILED, str(error), "Correct it in config.json.")
    return Check("config", title, CheckOutcome.OK, _describe(asked))


def _describe(asked: config.SubmissionConfig) -> str:
    form = f"batches of {asked.batch_size}" if asked.batches else "tasks"
    own = f"; own keys: {', '.join(asked.ignored)}" if asked.ignored else ""
    return f"{form}, {count_of(asked.validation_datasets, 'validation dataset')}{own}"[:300]


def _check_nested(files: dict[str, ZipMember]) -> list[Check]:
    nested = sorted(name for name in files if "/" not in name and name.lower().endswith(".zip"))
    return [
        Check("nested", "A zip inside", CheckOutcome.OK, f"{name} will be unpacked into {name[:-4]}/")
        for name in nested
    ]
