"""What `make coverage` prints beside the share that it demands."""

import subprocess
import sys
from pathlib import Path

import pytest
from coverage import Coverage

from tests.coverage_gate import ROOT, measured_files, share_of_branches, tell, write_settings

BRANCHY = "def choose(x):\n    if x:\n        return 1\n    return 2\n\n\nchoose(0)\n"
STRAIGHT = "x = 1\n"


@pytest.mark.parametrize(("text", "together", "branches"), [(BRANCHY, 100 * 5 / 7, 50), (STRAIGHT, 100, 100)])
def test_the_share_of_branches_is_that_of_branches_alone(
    text: str, together: float, branches: float, tmp_path: Path
) -> None:
    """Of five lines one is never run, of two branches one: together 5 of 7."""
    (file := tmp_path / "measured.py").write_text(text)
    data = str(tmp_path / "data")
    command = [sys.executable, "-m", "coverage", "run", "--branch", "--data-file", data, str(file)]
    subprocess.run(command, cwd=tmp_path, check=True)
    measured = Coverage(data_file=data, config_file=False)
    measured.load()
    assert measured.report(include=[str(file)]) == pytest.approx(together)
    assert share_of_branches(measured, [str(file)]) == branches


def test_a_part_fails_by_its_branches_too() -> None:
    """Lines are many and easily run: together with them too few branches went through."""
    own = {"lines and branches": 97.0, "branches alone": 90.4}
    told, low = tell({"core": own, "scoring": {"lines and branches": 98.0, "branches alone": 95.0}})
    assert told[0] == "core: 97.0 % of lines and branches, 90.4 % of branches alone"
    assert low == ["branches alone of core (90.4 %)"]


def test_what_is_of_no_part_is_not_followed(tmp_path: Path) -> None:
    """Following all of the platform took most of the hour; a file of a part is never left out."""
    settings = Coverage(config_file=str(write_settings(tmp_path / "coverage.ini")))
    omitted = settings.get_option("run:omit")
    assert isinstance(omitted, list) and settings.get_option("run:branch") is True
    decides = ("site/web/viewer.py", "contest/pools/actions/acts.py", "running/operations/worker_acts.py")
    assert {ROOT / "platform/anyshot_platform" / name for name in decides} <= measured_files()
    assert str(ROOT / "platform/anyshot_platform/cli.py") in omitted
    assert not set(omitted) & set(map(str, measured_files()))
