"""The tutorial notebook of the starting kit, for a machine that has nothing of it yet: Colab, a hosted Jupyter."""

import json

from anyshot_core.installation import install_line, package_folder
from anyshot_platform.contest.kit.wheels import kit_version

NAME = "anyshot-tutorial.ipynb"


def make_tutorial(address: str) -> bytes:
    """That of `anyshot init --notebook`, with a first cell that installs the kit from the site of this address."""
    template = package_folder("anyshot_starting_kit") / "templates" / "tutorial.ipynb"
    made = json.loads(template.read_text(encoding="utf-8"))
    cells = made["cells"]
    set_up = ["# Once, on a machine without the starting kit; the torch that is there stays.\n"]
    set_up += [f"%{install_line(address, kit_version())}\n", "!anyshot init my-method"]
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cell = {"id": "set-up", **code, "source": set_up}
    made["cells"] = [cells[0], cell, *cells[1:]]
    return (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()
