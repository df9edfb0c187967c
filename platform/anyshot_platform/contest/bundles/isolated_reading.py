"""Reads a bundle that somebody sent, in a confined process."""

import tempfile
from pathlib import Path

from anyshot_platform.contest.bundles.codabench_report import Notice
from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.reading import BundleInvalid, CompetitionBundle
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.bundles.yaml_lines import FileProblem
from anyshot_platform.foundation.isolated_parsing.service import run_confined

PACK_SECONDS = 50  # of CPU, for one dataset


def read_sent_bundle(content: bytes, data_folder: Path | None = None) -> CompetitionBundle:
    """As `reading.read_bundle`, for the zip of a stranger; raises `TooCostly` or `Busy` besides."""
    with tempfile.TemporaryDirectory(prefix="anyshot-bundle-") as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(content)
        answer = run_confined(
            "bundle", path=str(folder / "bundle.zip"), folder=name, data=str(data_folder or "")
        )
        if "unreadable" in answer:
            raise BundleUnreadable(answer["unreadable"])
        if "problems" in answer:
            raise BundleInvalid([FileProblem(**problem) for problem in answer["problems"]])
        files = {path: (folder / str(number)).read_bytes() for number, path in enumerate(answer["files"])}
    notices = [Notice(**notice) for notice in answer["notices"]]
    return CompetitionBundle(
        CompetitionSpec.model_validate(answer["spec"]),
        files,
        answer["format"],
        notices,
        answer["input_data"],
        {path: [Path(folder) for folder in folders] for path, folders in answer["datasets"].items()},
    )


def pack_dataset(folder: Path, target: Path) -> str:
    """Pack a stranger's Meta-Album folder into `target`; what is wrong with it, or nothing."""
    order = {"folder": str(folder), "target": str(target), "cpu_seconds": PACK_SECONDS}
    return run_confined("pack", **order)["problems"]
