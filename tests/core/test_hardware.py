"""What a machine is called."""

import platform
from pathlib import Path

from anyshot_core.hardware import processor_name


def test_the_processor_has_its_name(tmp_path: Path) -> None:
    information = tmp_path / "cpuinfo"
    information.write_text("processor\t: 0\nmodel name\t: Fast One 3000 @ 2.5GHz\nmodel name\t: other\n")
    assert processor_name(information) == "Fast One 3000 @ 2.5GHz"


def test_without_a_name_it_is_the_kind_of_machine(tmp_path: Path) -> None:
    assert processor_name(tmp_path / "missing") == f"CPU, {platform.machine()}"
    information = tmp_path / "cpuinfo"
    information.write_text("CPU implementer : 0x41\n")
    assert platform.machine() in processor_name(information)
