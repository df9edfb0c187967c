"""The zip that the upload form hands in: one submitted before, one uploaded before, or one in the form itself."""

from sqlalchemy.orm import Session
from starlette.datastructures import FormData, UploadFile

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.actions.handing_in import ZipSource
from anyshot_platform.judging.submissions.arrivals import Arrival, take_place
from anyshot_platform.judging.submissions.models import Upload
from anyshot_platform.judging.submissions.states import UploadPurpose
from anyshot_platform.judging.submissions.uploads import begin_upload, find_upload, forget_upload, upload_path
from anyshot_platform.people.rate_limits.service import spend


def read_source(services: Services, user_id: str, sent: FormData, arrival: Arrival) -> ZipSource:
    """What a form hands in; a file that was chosen takes the place of the upload that the form named.

    Raises `Invalid` where there is no zip, `TooMany`, and what `begin_upload` raises.
    """
    if digest := str(sent.get("again", ""))[:64]:
        return ZipSource(digest=digest)
    earlier, file = str(sent.get("upload_id", ""))[:32], sent.get("file")
    if isinstance(file, UploadFile) and file.filename:
        _forget_own(services, user_id, earlier)
        return ZipSource(upload_id=_keep_file(services, user_id, file, file.filename, arrival))
    if not earlier:
        raise Invalid("Please choose a zip.", field="file")
    return ZipSource(upload_id=earlier)


def _forget_own(services: Services, user_id: str, upload_id: str) -> None:
    """Make room before the new file comes, unless the upload is used or somebody else's."""
    try:
        with services.database.reading() as session:
            upload = find_upload(session, user_id, upload_id)
    except NotFound:
        return
    if upload.purpose == UploadPurpose.SUBMISSION:
        forget_upload(services, upload.id)


def _keep_file(services: Services, user_id: str, file: UploadFile, filename: str, arrival: Arrival) -> str:
    """The file of a plain form, which came in one piece, as a complete upload."""
    spend(services, "uploads", user_id)
    with services.database.writing() as session:
        begun_at, size = take_place(session, arrival), file.size or 0
        upload = begin_upload(services, session, user_id, filename=filename, size=size, begun_at=begun_at)
        upload.completed_at = now()
    with upload_path(services, upload).open("wb") as target:
        while part := file.file.read(1 << 20):
            target.write(part)
    return upload.id


def find_waiting(services: Services, session: Session, user_id: str, upload_id: str) -> Upload | None:
    """The user's upload, if all its bytes are here and it was used for nothing: it can be sent once more."""
    upload = _find_own(session, user_id, upload_id)
    if upload is None or upload.used_at is not None:
        return None
    path = upload_path(services, upload)
    return upload if path.exists() and path.stat().st_size == upload.size else None


def is_submitted(session: Session, user_id: str, upload_id: str) -> bool:
    """Whether the user's upload became a submission: another request with it was quicker."""
    upload = _find_own(session, user_id, upload_id)
    return upload is not None and upload.used_at is not None


def _find_own(session: Session, user_id: str, upload_id: str) -> Upload | None:
    upload = session.get(Upload, upload_id) if upload_id else None
    own = upload is not None and upload.user_id == user_id and upload.purpose == UploadPurpose.SUBMISSION
    return upload if own else None
