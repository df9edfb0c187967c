"""Files in an S3-compatible bucket."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from anyshot_platform.foundation.storage import Hashing, WrongDigest

_PREFIX = "blobs/"
_ABSENT = {"404", "NoSuchKey", "NotFound"}


_IN_MEMORY, _PIECE = 8 << 20, 1 << 20  # bytes


class S3Storage:
    """Content-addressed objects below `blobs/` of one bucket.

    `public_endpoint` is the service's address as browsers and workers see it, where that differs from ours:
    signatures cover the host, so addresses for others are signed with theirs.
    """

    def __init__(
        self,
        *,
        bucket: str,
        endpoint: str | None,
        public_endpoint: str | None,
        region: str,
        access_key: str,
        secret_key: str,
    ) -> None:
        self.bucket = bucket

        def client(address: str | None) -> Any:
            return boto3.client(
                "s3",
                endpoint_url=address,
                region_name=region,
                aws_access_key_id=access_key,
                aws_secret_access_key=secret_key,
                config=Config(
                    signature_version="s3v4",
                    s3={"addressing_style": "path"},
                    connect_timeout=5,
                    read_timeout=60,
                    retries={"max_attempts": 4, "mode": "standard"},
                ),
            )

        self._client = client(endpoint)
        self._signer = client(public_endpoint) if public_endpoint else self._client

    def prepare(self) -> None:
        """Create the bucket where it is not there."""
        try:
            self._client.head_bucket(Bucket=self.bucket)
        except ClientError as error:
            if _code(error) not in _ABSENT | {"NoSuchBucket"}:
                raise
            self._client.create_bucket(Bucket=self.bucket)

    def put(self, digest: str, source: Path) -> None:
        if self.exists(digest):
            return
        with source.open("rb") as origin:
            hashing = Hashing(origin)
            self._client.upload_fileobj(hashing, self.bucket, _PREFIX + digest)
        try:
            hashing.require(digest)
        except WrongDigest:
            self.delete(digest)
            raise

    def open(self, digest: str) -> BinaryIO:
        try:
            body = self._client.get_object(Bucket=self.bucket, Key=_PREFIX + digest)["Body"]
        except ClientError as error:
            if _code(error) in _ABSENT:
                raise FileNotFoundError(digest) from error
            raise
        # A body cannot be sought in, and tables are read from their end.
        file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the caller closes it
        with closing(body):
            shutil.copyfileobj(body, file, _PIECE)
        file.seek(0)
        return cast(BinaryIO, file)

    def exists(self, digest: str) -> bool:
        try:
            self._client.head_object(Bucket=self.bucket, Key=_PREFIX + digest)
        except ClientError as error:
            if _code(error) in _ABSENT:
                return False
            raise
        return True

    def delete(self, digest: str) -> None:
        self._client.delete_object(Bucket=self.bucket, Key=_PREFIX + digest)

    def digests(self) -> Iterator[tuple[str, int]]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=_PREFIX)
        for page in pages:
            for entry in page.get("Contents", ()):
                yield entry["Key"].removeprefix(_PREFIX), entry["Size"]

    def direct_url(
        self, digest: str, seconds: int, name: str | None = None, media_type: str = ""
    ) -> str | None:
        asked = {"Bucket": self.bucket, "Key": _PREFIX + digest}
        if name is not None:
            asked["ResponseContentDisposition"] = f"attachment; filename*=utf-8''{quote(name)}"
        if media_type:
            asked["ResponseContentType"] = media_type
        return self._signer.generate_presigned_url("get_object", Params=asked, ExpiresIn=seconds)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
