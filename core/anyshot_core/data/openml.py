"""The public Meta-Album datasets on OpenML.

OpenML keeps a dataset of images as the objects of a bucket; the bucket's address is in the dataset's description, the
objects' sizes and MD5 digests are in its listing.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from anyshot_core.data.download import DownloadError, RemoteFile, fetch, get_text
from anyshot_core.names import OutsideFolder, path_below

API = "https://www.openml.org/api/v1/json"
VERSIONS = ("Micro", "Mini", "Extended")
_THREADS = 8
_MOST_UNPACKED = 64 << 30
Progress = Callable[[int, int], None]  # bytes there, bytes in all


class Description(BaseModel):
    """What is needed of OpenML's description of a dataset."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: int
    name: str
    licence: str = ""
    minio_url: str = ""
    parquet_url: str = ""


@dataclass(frozen=True)
class Listing:
    """The files of a dataset."""

    description: Description
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)


def download_dataset(
    dataset: str,
    folder: Path,
    *,
    version: str = "Mini",
    api: str = API,
    on_progress: Progress = lambda done, total: None,
) -> Path:
    """Download a dataset and return its folder, which has `labels.csv`, `info.json` and `images/`.

    Args:
        dataset: Meta-Album's identifier (`BRD`), or a number of OpenML.
        folder: where the dataset's folder is created.
        version: Micro (20 classes of 40 images), Mini (all classes, 40 images) or Extended.

    Raises:
        DownloadError: no network, no such dataset, or damaged files. Calling again continues.
    """
    with httpx.Client(timeout=30.0, follow_redirects=True) as client:
        listing = list_files(client, describe(client, dataset, version, api))
        target = folder / _safe_name(listing.description.name)
        _fetch_all(client, listing, target, on_progress)
    for archive in sorted(target.rglob("*.zip")):
        _unpack(archive)
    return _dataset_folder(target)


def describe(client: httpx.Client, dataset: str, version: str, api: str = API) -> Description:
    """OpenML's description of a dataset, looked up by number or by Meta-Album's identifier."""
    number = int(dataset) if dataset.isdecimal() else _find(client, f"Meta_Album_{dataset}_{version}", api)
    url = f"{api}/data/{number}"
    data = _json(get_text(client, url), url)
    try:
        return Description.model_validate(data["data_set_description"])
    except (KeyError, ValidationError) as error:
        raise DownloadError(f"{url}: the description is not as OpenML writes it ({error}).") from error


def list_files(client: httpx.Client, description: Description) -> Listing:
    """All objects of a dataset's bucket, page by page."""
    address = description.minio_url or description.parquet_url
    if not address:
        raise DownloadError(f"{description.name}: OpenML names no address of its files.")
    parts = urlsplit(address)
    bucket, *prefix = [part for part in parts.path.split("/") if part]
    prefix = prefix[:-1] if prefix and prefix[-1].endswith(".pq") else prefix
    root = f"{parts.scheme}://{parts.netloc}/{bucket}"
    before = "/".join(prefix) + "/" if prefix else ""
    files = tuple(_objects(client, root, before))
    if not files:
        raise DownloadError(f"{description.name}: the bucket at {address} is empty.")
    return Listing(description, files)


def _find(client: httpx.Client, name: str, api: str) -> int:
    url = f"{api}/data/list/data_name/{quote(name)}"
    try:
        found = _json(get_text(client, url), url)["data"]["dataset"]
    except DownloadError as error:
        if " 412 " in str(error):  # OpenML's answer to a search without results
            raise DownloadError(
                f"OpenML has no dataset {name}. Identifiers are BRD, PLK, FLW, ... in capitals."
            ) from error
        raise
    active = [entry for entry in found if entry.get("status", "active") == "active"] or found
    return int(max(active, key=lambda entry: int(entry.get("version", 1)))["did"])


def _objects(client: httpx.Client, root: str, prefix: str) -> Iterator[RemoteFile]:
    token = ""
    while True:
        params = {"list-type": "2", "prefix": prefix} | ({"continuation-token": token} if token else {})
        page = _xml(get_text(client, root, params), root)
        for item in page.iterfind("Contents"):
            key = item.findtext("Key", "")
            digest = item.findtext("ETag", "").strip('"')
            path = key.removeprefix(prefix)
            md5 = digest if re.fullmatch(r"[0-9a-f]{32}", digest) else None
            if not key.endswith("/"):
                yield RemoteFile(f"{root}/{quote(key)}", path, int(item.findtext("Size", "0")), md5)
        token = page.findtext("NextContinuationToken", "")
        if not token:
            return


def _fetch_all(client: httpx.Client, listing: Listing, target: Path, on_progress: Progress) -> None:
    done = 0

    def count(came: int) -> None:
        nonlocal done
        done += came
        on_progress(done, listing.size)

    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(fetch, client, file, target, count) for file in listing.files]
        try:
            for future in futures:
                future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _unpack(archive: Path) -> None:
    """Unpack an archive beside itself; sizes and paths are checked first, and it is done once."""
    mark = archive.with_name(f".{archive.name}.unpacked")
    if mark.exists():
        return
    try:
        with zipfile.ZipFile(archive) as content:
            if sum(item.file_size for item in content.infolist()) > _MOST_UNPACKED:
                raise DownloadError(
                    f"{archive}: unpacked, the archive would be larger than {_MOST_UNPACKED} bytes."
                )
            for item in content.infolist():
                path_below(archive.parent, item.filename)
            content.extractall(archive.parent)
    except OutsideFolder as error:
        raise DownloadError(f"{archive}: refuses the file name {error}.") from error
    except zipfile.BadZipFile as error:
        raise DownloadError(
            f"{archive}: not a zip archive ({error}). Remove it and download again."
        ) from error
    mark.touch()


def _dataset_folder(target: Path) -> Path:
    found = sorted(path.parent for path in target.rglob("labels.csv") if (path.parent / "images").is_dir())
    if not found:
        raise DownloadError(f"{target}: what was downloaded holds no folder with labels.csv and images/.")
    return found[0]


def _json(text: str, url: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DownloadError(
            f"{url}: the answer is not JSON. Is there a proxy or a log-in page in between?"
        ) from error


def _xml(text: str, url: str) -> ElementTree.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DownloadError(f"{url}: the listing is not as a bucket gives it. Is there a proxy in between?")
    try:
        return ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", text, count=1))
    except ElementTree.ParseError as error:
        raise DownloadError(
            f"{url}: the listing is not XML. Is there a proxy or a log-in page in between?"
        ) from error


def _safe_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "dataset"
