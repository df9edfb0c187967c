"""A box of the Docker backend: its stream, its verbs, its end."""

import os
import time

import pytest

from anyshot_core.taskserver.channel import ChannelClosed
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.docker import DockerBackend, DockerBox
from anyshot_worker.sandbox.interface import BoxSpec, SandboxError
from tests.worker.sandbox.conftest import StartBox

ECHO = "import os\nwhile d := os.read(0, 65536): os.write(1, d)"


def read(box: DockerBox, count: int, patience: float = 60) -> bytes:
    data, deadline = bytearray(), time.monotonic() + patience
    while len(data) < count and (piece := box.recv(max(0.0, deadline - time.monotonic()))):
        data += piece
    return bytes(data)


def test_stream_carries_bytes_unchanged(start_box: StartBox) -> None:
    box = start_box("import sys\nd = sys.stdin.buffer.read(3_000_000)\nsys.stdout.buffer.write(d)")
    sent = os.urandom(3_000_000)
    box.send(sent, 30)
    assert read(box, len(sent)) == sent


def test_silence_is_none_and_the_end_is_empty(start_box: StartBox) -> None:
    box = start_box("input(); print('end')")
    assert box.recv(0.2) is None
    box.send(b"\n", 5)
    assert read(box, 4) == b"end\n"
    assert box.recv(60) == b""
    assert box.recv(60) == b""


def test_who_does_not_read_runs_into_the_time_limit(start_box: StartBox) -> None:
    box = start_box("import time; time.sleep(60)")
    with pytest.raises(TimeoutError):
        for _ in range(100):
            box.send(b"x" * (1 << 20), 0.5)


def test_sending_to_a_closed_box(start_box: StartBox) -> None:
    box = start_box(ECHO)
    box.kill()
    with pytest.raises(ChannelClosed):
        box.send(b"x", 1)
    assert box.recv(1) == b""


def test_frozen_box_stands_still(start_box: StartBox) -> None:
    box = start_box("import time\nwhile True: print(time.monotonic(), flush=True); time.sleep(0.02)")
    assert read(box, 10)
    box.freeze()
    while box.recv(0.3):
        pass
    used = box.usage().cpu_seconds
    assert box.recv(0.5) is None
    assert box.usage().cpu_seconds == used
    box.thaw()
    assert box.recv(60)


def test_frozen_box_can_be_killed(start_box: StartBox) -> None:
    box = start_box("import time; time.sleep(600)")
    box.freeze()
    box.close()
    assert box.left_behind() == ()


def test_flooding_box_dies_at_once(start_box: StartBox) -> None:
    box = start_box("import os\nwhile True: os.write(1, b'x' * 65536)")
    assert box.recv(30)
    time.sleep(0.5)
    box.kill()
    box.close()
    assert box.left_behind() == ()


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("raise SystemExit(0)", 0, None),
        ("raise SystemExit(7)", 7, None),
        ("import os; os.abort()", 139 - 5, 6),
    ],
)
def test_how_it_ended(start_box: StartBox, code: str, exit_code: int, number: int | None) -> None:
    child = f"import os, sys\np = os.fork()\nif p == 0:\n    {code}\n"
    parent = "_, s = os.wait()\nc = os.waitstatus_to_exitcode(s)\nos._exit(c if c >= 0 else 128 - c)"
    box = start_box(child + parent)
    assert box.recv(30) == b""
    death = box.death()
    assert (death.exit_code, death.signal) == (exit_code, number)
    assert not death.out_of_memory
    assert not death.killed_by_us


def test_death_of_memory_is_known(start_box: StartBox) -> None:
    box = start_box("b = []\nwhile True: b.append(bytearray(b'x') * (8 << 20))")
    assert box.recv(60) == b""
    assert box.death().out_of_memory
    assert (box.usage().memory_peak_bytes or 0) > 200 << 20


def test_death_by_us_is_known(start_box: StartBox) -> None:
    # One that reads would see the end of the stream, and might end by itself before the kill.
    box = start_box("import time; time.sleep(60)")
    box.kill()
    assert box.death().killed_by_us


def test_usage_outlives_the_box(start_box: StartBox) -> None:
    box = start_box("import time\nt = time.process_time()\nwhile time.process_time() - t < 0.3: pass")
    assert box.recv(60) == b""
    box.close()
    assert 0.3 <= box.usage().cpu_seconds < 5
    assert (box.usage().memory_peak_bytes or 0) > 1 << 20


def test_words_on_standard_error_are_kept_for_operators(start_box: StartBox) -> None:
    box = start_box("import sys; sys.stderr.write('oops')")
    assert box.recv(30) == b""
    assert box.death().detail == "oops"


def test_flood_of_standard_error_ends_the_stream(start_box: StartBox) -> None:
    box = start_box("import os\nwhile True: os.write(2, b'x' * 65536)")
    assert box.recv(30) == b""
    assert len(box.death().detail) <= 64 << 10


def test_packs_and_pixels_appear_later(start_box: StartBox, tmp_path_factory: pytest.TempPathFactory) -> None:
    box = start_box(
        "input(); print(open('/in/a/0').read(), open('/in/b/pixels').read(), flush=True); input()"
    )
    pack = tmp_path_factory.mktemp("packs") / "flowers.anyshot-pack"
    pack.write_text("pack")
    pack.chmod(0o600)
    assert box.offer_packs([pack]) == "/in/a"
    assert box.pixels is not None
    box.pixels.host.write_text("pixels")
    box.send(b"\n", 5)
    assert read(box, 12) == b"pack pixels\n"


def test_missing_image_says_how_to_build_it(docker_backend: DockerBackend) -> None:
    with pytest.raises(SandboxError, match="anyshot worker image build") as caught:
        docker_backend.start(BoxSpec("no-such-image"))
    assert caught.value.verdict == Verdict.IMAGE_MISSING


def test_image_that_cannot_start_leaves_nothing(docker_backend: DockerBackend) -> None:
    spec = BoxSpec("cpu", command=("-c", "pass"), gpu_ids=("GPU-that-is-not-there",))
    with pytest.raises(SandboxError) as caught:
        docker_backend.start(spec)
    assert caught.value.verdict == Verdict.SANDBOX_START
    assert list((docker_backend.settings.state_folder / "boxes").iterdir()) == []
