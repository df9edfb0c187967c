"""Which storage the settings ask for."""

from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.foundation.storage import FolderStorage, Storage


def make_storage(settings: PlatformSettings) -> Storage:
    """The storage; connects to nothing yet."""
    if settings.storage == "folder":
        return FolderStorage(settings.blob_folder)
    assert (
        settings.s3_access_key is not None and settings.s3_secret_key is not None
    )  # the settings checked it
    from anyshot_platform.foundation.artifacts.s3 import (
        S3Storage,  # only here: boto3 takes more than half a second
    )

    return S3Storage(
        bucket=settings.s3_bucket,
        endpoint=settings.s3_endpoint,
        public_endpoint=settings.s3_public_endpoint,
        region=settings.s3_region,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
    )
