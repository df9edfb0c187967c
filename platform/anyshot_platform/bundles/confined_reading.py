"""Reads a bundle that somebody sent, in a confined process."""

from __future__ import annotations

import tempfile
from pathlib import Path

from anyshot_platform.bundles.codabench_report import Notice
from anyshot_platform.bundles.files import BundleUnreadable
from anyshot_platform.bundles.marked import FileProblem
from anyshot_platform.bundles.reading import BundleInvalid, CompetitionBundle
from anyshot_platform.bundles.schema import CompetitionSpec
from anyshot_platform.confined.service import run_confined


def read_sent_bundle(content: bytes) -> CompetitionBundle:
    """As `reading.read_bundle`, for the zip of a stranger; raises `TooCostly` or `Busy` besides."""
    with tempfile.TemporaryDirectory(prefix="anyshot-bundle-") as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(content)
        answer = run_confined("bundle", path=str(folder / "bundle.zip"), folder=name)
        if "unreadable" in answer:
            raise BundleUnreadable(answer["unreadable"])
        if "problems" in answer:
            raise BundleInvalid([FileProblem(**problem) for problem in answer["problems"]])
        files = {path: (folder / str(number)).read_bytes() for number, path in enumerate(answer["files"])}
    notices = [Notice(**notice) for notice in answer["notices"]]
    return CompetitionBundle(CompetitionSpec.model_validate(answer["spec"]), files, answer["format"], notices)
