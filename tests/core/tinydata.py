"""Datasets that are made in a blink: classes are colours, images are noise around them."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.data.digests import block_digest, block_hash, digest_of
from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.layout import PAGE, Header, PackMeta, labels_offset, read_meta
from anyshot_core.data.pack import pack_dataset


def write_dataset(folder: Path, classes: int = 5, images: int = 12, seed: int = 0) -> Path:
    """A Meta-Album folder whose classes any method can tell apart."""
    random = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    colours = random.permutation(np.linspace(20, 235, classes)).astype(int)
    with (folder / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["FILE_NAME", "CATEGORY"])
        for label, colour in enumerate(colours):
            for number in range(images):
                name = f"c{label}_{number}.png"
                pixels = np.clip(colour + random.integers(-9, 10, (128, 128, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / "images" / name, compress_level=1)
                writer.writerow([name, f"class {label}"])
    (folder / "info.json").write_text(json.dumps(info_of(folder.name, classes, images)))
    return folder


def write_pack(folder: Path, name: str, seed: int = 0, classes: int = 5, images: int = 12) -> Path:
    """The same, packed; returns the pack's file."""
    source = write_dataset(folder / "folders" / name, classes, images, seed)
    return pack_dataset(source, folder / f"{name}.anyshot-pack").path


def black_pack(target: Path, images: int) -> Path:
    """A pack of one class of black images; they take no room on the disk."""
    labels, name = bytes(8 * images), block_hash()
    digest = block_digest(name)(bytes(IMAGE_BYTES)).hex()
    meta = PackMeta(
        name="BLACK",
        classes=["black"],
        super_classes=[""],
        images=images,
        block_images=1,
        block_hash=name,
        block_digests=[digest] * images,
        labels_digest=digest_of(labels).hex(),
        source_digest="",
    )
    text = meta.model_dump_json().encode()
    header = Header(images, labels_offset(images) + len(labels), len(text), digest_of(text))
    with target.open("wb") as file:
        file.write(header.to_bytes())
        file.seek(labels_offset(images))
        file.write(labels + text)
    return target


def with_meta(pack: Path, **changes: object) -> bytes:
    """A pack with other metadata, whose digests fit."""
    content = pack.read_bytes()
    meta, header = read_meta(pack)
    text = json.dumps(meta.model_dump() | changes).encode()
    fields = replace(header, meta_length=len(text), meta_digest=digest_of(text))
    return fields.to_bytes() + content[PAGE : header.meta_offset] + text


def info_of(name: str, classes: int, images: int) -> dict[str, object]:
    return {
        "dataset_name": name,
        "dataset_description": "colours",
        "total_categories": classes,
        "total_super_categories": 0,
        "uniform_number_of_images_per_category": True,
        "minimum_images_per_category": images,
        "median_images_per_category": images,
        "maximum_images_per_category": images,
        "has_super_categories": False,
        "image_column_name": "FILE_NAME",
        "category_column_name": "CATEGORY",
    }
