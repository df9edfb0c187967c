"""Images and workers of different releases understand each other."""

from __future__ import annotations

import json

from anyshot_core.wire.messages import JobHeader

HEADER = JobHeader(
    version=1,
    train=True,
    train_seed=3,
    packs_folder="/in/a",
    packs=2,
    pixels="/in/b/due",
    hide_dataset_names=True,
    cpus=1,
    device="cpu",
    unpacked_bytes=10,
    learner_bytes=20,
)


def test_a_runner_passes_over_what_a_later_task_server_says() -> None:
    later = json.dumps({**json.loads(HEADER.to_bytes()), "of_a_later_release": True}).encode()
    assert JobHeader.from_bytes(later) == HEADER


def test_a_runner_does_without_what_an_earlier_task_server_did_not_say() -> None:
    said = json.loads(HEADER.to_bytes())
    del said["pixels_mapped"], said["max_items"]
    assert JobHeader.from_bytes(json.dumps(said).encode()) == HEADER
