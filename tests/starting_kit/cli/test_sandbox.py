"""`anyshot sandbox` says what submissions can import."""

import json

from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.wire.inventory import shipped_inventory


def test_the_packages_are_listed_as_text_and_as_json() -> None:
    shown = CliRunner().invoke(main, ["sandbox"])
    (version,) = [one.version for one in shipped_inventory().packages if one.name == "opencv-python-headless"]
    assert shown.exit_code == 0 and f"opencv-python-headless {version}  " in shown.output
    assert "import cv2\n" in shown.output
    (told,) = json.loads(CliRunner().invoke(main, ["sandbox", "--json"]).output)
    assert told["inventory"] == shipped_inventory().model_dump()
