"""Images and workers of different releases understand each other."""

import json

import numpy as np

from anyshot_core.wire.frames import MAXIMUM, FrameType
from anyshot_core.wire.messages import JobHeader, pack_predictions, read_predictions, read_probabilities

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


def test_probabilities_that_do_not_fit_into_a_frame_stay_away_and_the_labels_arrive() -> None:
    labels, shares = np.zeros(3, np.int64), np.full((3, 4), 0.25, np.float32)
    said = pack_predictions(7, labels, shares)
    assert (read_predictions(said, 3, 4, more=True) == labels).all()
    found = read_probabilities(said, labels, 4)
    assert found is not None and (found == shares).all()
    many = np.zeros(3_000, np.int64)
    said = pack_predictions(7, many, np.full((3_000, 700), 1 / 700, np.float32))
    assert len(said) < MAXIMUM[FrameType.PREDICTIONS]
    assert read_probabilities(said, many, 700) is None and len(read_predictions(said, 3_000, 700)) == 3_000
