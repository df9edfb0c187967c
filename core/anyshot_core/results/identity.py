"""Whose results a file holds, and of which run: one description for everyone who writes or reads results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from anyshot_core.results.formats import BadResultsFile

_PLAIN_NAMES = re.compile(r"(results|predictions|tasks|everything)\d*$")
_RUN_FOLDER = re.compile(r"(?:run-)?(\d+)(?:-part-(\d+))?$")


class Maker(StrEnum):
    """Who carried the run out."""

    DRY_RUN = "dry run"
    EXPERIMENT = "experiment"
    SITE = "site"


class Identity(BaseModel):
    """Which run of which code on which tasks. All of it is optional; further facts are kept as they are.

    Attributes:
        who: the name to show: a folder or zip, a baseline with its arm, a team's submission on a site.
        submission: a site's id of the submission.
        run: which of its runs, where it is no matter of seeds: its place among a submission's on a site.
        part: which part of the run, where its tasks are spread over several files.
        evaluation: which further evaluation, and which point of it; empty for the run's own tasks.
        run_id, competition, phase: as the site names them.
        train_seed, test_seed: of the run; `test_seed` draws the tasks.
        same_test_tasks: whether all seeded runs of the submission have the same tasks, where it is not the seeds that
            tell: a site keeps them secret.
        tasks: how many tasks the whole run has.
        protocol: its settings, as `Protocol.to_dict` gives them; `protocol_digest` is over them and the pool.
        train_pool, test_pool: digests of the packs, in order.
        code: sha256 of the submission's zip.
        image: digest of the sandbox image, or its name.
        versions: of the kit, Python and libraries that ran.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    maker: Maker | None = None
    who: str = ""
    submission: str = ""
    run: str = ""
    part: str = ""
    evaluation: str = ""
    run_id: str = ""
    competition: str = ""
    phase: str = ""
    train_seed: int | None = None
    test_seed: int | None = None
    same_test_tasks: bool = False
    tasks: int | None = None
    protocol: dict[str, Any] = {}
    protocol_digest: str = ""
    train_pool: tuple[str, ...] = ()
    test_pool: tuple[str, ...] = ()
    code: str = ""
    image: str = ""
    versions: dict[str, str] = {}

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Self:
        """The identity that a file's description gives. Raises `BadResultsFile` for values of a wrong type."""
        try:
            return cls.model_validate(dict(description))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(step) for step in first["loc"])
            raise BadResultsFile(f"The description of the run: {place}: {first['msg']}.") from error

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data without what is not known."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def submission_key(self) -> tuple[str, str, str]:
        """Equal for the runs of one submission on the same tasks: the same name, evaluation, and code where known."""
        name = f"{self.who} ({self.evaluation})" if self.evaluation else self.who
        return name, self.submission, self.code

    @property
    def run_key(self) -> str:
        """Which run of the submission; empty where nothing tells."""
        seeds = [str(seed) for seed in (self.train_seed, self.test_seed) if seed is not None]
        return self.run or "/".join(dict.fromkeys(seeds)) or self.run_id

    def named_by(self, path: Path) -> Identity:
        """This identity, with name and run from the file's place where it has none of its own."""
        who, run, part = _place(path)
        return self.model_copy(
            update={
                "who": self.who or who,
                "run": self.run or ("" if self.run_key else run),
                "part": self.part or part,
            }
        )


def _place(path: Path) -> tuple[str, str, str]:
    """Name, run and part that a file's path tells: `mine/run-1/results.parquet` is run 1 of `mine`."""
    stem = re.sub(r"-(tasks|everything)$", "", path.stem)
    if not _PLAIN_NAMES.fullmatch(stem):
        return stem, "", ""
    folder, run, part = path.absolute().parent, "", ""
    if found := _RUN_FOLDER.fullmatch(folder.name):
        run, part, folder = found[1], found[2] or "", folder.parent
    return (folder.parent if folder.name == "runs" else folder).name or stem, run, part


Description = Identity | Mapping[str, Any]


def describe(identity: Description) -> dict[str, Any]:
    """What a file holds of an identity. A plain mapping must fit the schema. Raises `BadResultsFile`."""
    return (identity if isinstance(identity, Identity) else Identity.of(identity)).to_dict()


def digest_code(bundle: Path) -> str:
    """The sha256 of a submission's zip."""
    return hashlib.sha256(bundle.read_bytes()).hexdigest()
