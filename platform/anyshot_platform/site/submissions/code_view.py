"""The code of a submission for its page: files, highlighted lines, and the difference to the zip before it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import NotFound, PlatformError
from anyshot_platform.foundation.isolated_parsing.service import run_confined
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import FolderStorage, as_file
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.standing import kept

LARGEST_COPY = 64 << 20  # bytes of a zip that is fetched from storage elsewhere to be looked into


class TooLargeToShow(PlatformError):
    """The zip lies in a storage elsewhere, and is too large to be fetched for a page."""

    status = 413
    code = "too_large_to_show"


def read_code(services: Services, submission: Submission, shown: str = "") -> dict[str, Any]:
    """Files, and the lines of one: see `confined_code.read_code`."""
    with _local(services, submission) as path:
        return run_confined("code", path=str(path), shown=shown)


def compare_code(services: Services, submission: Submission, other: Submission) -> list[dict[str, Any]]:
    """Files that differ, with their changed lines."""
    with _local(services, submission) as path, _local(services, other) as before:
        return run_confined("compare", path=str(path), other=str(before))["files"]


def changed(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files with their lines as objects: sign, number before, number now, text."""
    names = ("sign", "old", "new", "text")
    return [
        {
            **file,
            "parts": None
            if file["parts"] is None
            else [[dict(zip(names, line, strict=True)) for line in part] for part in file["parts"]],
        }
        for file in files
    ]


def zip_before(session: Session, found: SubmissionAccess) -> Submission | None:
    """The newest earlier submission of the same team that the viewer sees, with another zip, of whatever phase."""
    own = found.submission
    earlier = (Submission.created_at < own.created_at, Submission.digest != own.digest)
    return session.scalars(
        select(Submission).where(*_beside(found), *earlier).order_by(Submission.created_at.desc()).limit(1)
    ).first()


def find_other(session: Session, found: SubmissionAccess, number: int | None) -> Submission | None:
    """The team's submission of a number in this one's phase, else the one before; raises `NotFound`."""
    if number is None:
        return zip_before(session, found)
    same = (Submission.number == number, Submission.phase_id == found.submission.phase_id)
    other = session.scalars(select(Submission).where(*_beside(found), *same)).first()
    if other is None:
        raise NotFound(f"Your team has no submission {number} in this phase.")
    return other


def _beside(found: SubmissionAccess) -> tuple[ColumnElement[bool], ...]:
    return Submission.competition_id == found.submission.competition_id, found.beside(), kept()


@contextmanager
def _local(services: Services, submission: Submission) -> Iterator[Path]:
    """The zip as a file of this machine. Raises `NotFound` if it is gone, `TooLargeToShow`."""
    elsewhere = not isinstance(services.storage, FolderStorage)
    if elsewhere and submission.size > LARGEST_COPY:
        raise TooLargeToShow("This zip is too large to be shown here. Download it.")
    with ExitStack() as stack:
        try:
            path = stack.enter_context(as_file(services.storage, submission.digest))
        except FileNotFoundError as error:
            raise NotFound("This zip is no longer kept.") from error
        yield path
