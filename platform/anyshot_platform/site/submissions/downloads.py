"""Files that participants and reviewers may fetch."""

from collections.abc import Sequence
from typing import BinaryIO

from fastapi.responses import StreamingResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.artifacts.service import read_chunks
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.people.audit.reads import note_read


def find_artifact(session: Session, found: SubmissionAccess, run_id: str, name: str) -> Artifact:
    """An artifact of one of the submission's runs that the viewer may have; raises `NotFound`."""
    artifact = session.scalars(
        select(Artifact)
        .join(Run, Run.id == Artifact.run_id)
        .where(
            Run.submission_id == found.submission.id,
            Artifact.run_id == run_id,
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    ).first()
    if artifact is None or not found.sight.may_have(name):
        raise NotFound("There is no such file.")
    return artifact


def kept_files(session: Session, sight: Sight, runs: Sequence[Run]) -> dict[str, list[Artifact]]:
    """By the id of each run the files, by name, that it has kept and the viewer may have."""
    found: dict[str, list[Artifact]] = {run.id: [] for run in runs}
    kept = select(Artifact).where(Artifact.run_id.in_(found), Artifact.final, Artifact.expired_at.is_(None))
    for artifact in sorted(session.scalars(kept), key=lambda one: one.name):
        if sight.may_have(artifact.name):
            found[artifact.run_id].append(artifact)
    return found


def note_reading(services: Services, found: SubmissionAccess, name: str) -> None:
    """Keep in the log that an organizer or reviewer took a file of a team that is not theirs."""
    if not found.is_own:
        submission = found.submission
        subject = ("submission", submission.id)
        where = [submission.competition_id]
        note_read(services.database, found.viewer.user_id, "submission", subject, where, file=name)


def open_stored(services: Services, digest: str) -> BinaryIO:
    """A stored file, open; raises `NotFound` if it is no longer kept."""
    try:
        return services.storage.open(digest)
    except FileNotFoundError as error:
        raise NotFound("This file is no longer kept.") from error


def attached(found: SubmissionAccess, name: str) -> dict[str, str]:
    """Headers of a file that a browser is to keep."""
    return {"content-disposition": f'attachment; filename="submission-{found.submission.number}-{name}"'}


def send_everything(found: SubmissionAccess, file: BinaryIO, size: int) -> StreamingResponse:
    """The zip of all files of a submission."""
    headers = {**attached(found, "everything.zip"), "content-length": str(size)}
    return StreamingResponse(read_chunks(file), media_type="application/zip", headers=headers)
