"""Layers and snapshots come from a runner that may say anything: what is odd is refused before it is believed."""

import json

import numpy as np
import pytest

from anyshot_core.wire.frames import TURN, FrameError
from anyshot_core.wire.messages import LENGTH, pack_layers, pack_trained, read_layers, read_trained

LAYERS = {"one": np.arange(6.0).reshape(2, 3), "maps.2": np.ones((2, 1, 4, 4))}


def test_layers_come_as_they_were_sent() -> None:
    found = read_layers(pack_layers(LAYERS), 2)
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in LAYERS.items()
    }
    assert read_layers(pack_layers({}), 2) == {}


def content(rows: object, body: bytes = bytes(24)) -> bytes:
    head = json.dumps(rows).encode()
    return LENGTH.pack(len(head)) + head + body


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        LENGTH.pack(1 << 31),
        content({"one": [2, 3]}),
        content([["one", [2, 3]]], bytes(23)),
        content([["one", [2, 3]]], bytes(28)),
        content([["one", [2, 3]], ["one", [2, 3]]], bytes(48)),
        content([["one", [3, 2]]]),
        content([["one", [2, -3]]]),
        content([["one", [2, 3.0]]]),
        content([["one", [2, 1 << 62]]]),
        content([["one", [2]]], bytes(8)),
        content([["../one", [2, 3]]]),
        content([["image_class", [2, 3]]]),
        content([[7, [2, 3]]]),
        content([["one"]]),
        content([["one", [2, 3]]], np.full(6, np.nan, "<f4").tobytes()),
        LENGTH.pack(4) + b"\xff\xff\xff\xff",
        content([]) + b"more",
    ],
)
def test_odd_layers_are_refused(sent: bytes) -> None:
    with pytest.raises(FrameError):
        read_layers(sent, 2)


def test_odd_snapshots_are_refused() -> None:
    turn = TURN.pack(7)
    assert read_trained(turn + pack_trained([0.5, 0.25]), 2) == (0.5, 0.25) and read_trained(turn, 2) == ()
    for losses, most in (([0.5, 0.25], 1), ([float("nan")], 1), ([float("inf")], 1)):
        with pytest.raises(FrameError):
            read_trained(turn + pack_trained(losses), most)
    with pytest.raises(FrameError):
        read_trained(turn + b"123", 2)
