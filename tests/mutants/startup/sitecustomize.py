"""Python runs this at its start wherever this folder is on PYTHONPATH: it changes one file when it is loaded.

`mutant.json` beside it holds the mutant: `file`, `find`, `replace`. Child processes inherit PYTHONPATH; those that are
started with an environment of their own, as runners are, get this folder put in front of theirs. The file is known by
its path, not by a module's name: Alembic loads migrations without importing them.
"""

import json
import os
import subprocess
import types
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from typing import Any

with open(os.path.join(os.path.dirname(__file__), "mutant.json")) as file:  # noqa: PTH118, PTH120, PTH123 - quick
    MUTANT = json.load(file)
compile_file = SourceFileLoader.get_code
start_process = subprocess.Popen.__init__


def get_code(self: SourceFileLoader, fullname: str) -> types.CodeType | None:
    """The code of a module; of the mutant's file the changed one, past the bytecode cache."""
    if os.path.realpath(self.path) != MUTANT["file"]:
        return compile_file(self, fullname)
    source = self.get_data(self.path).decode()
    if source.count(MUTANT["find"]) != 1:
        raise ImportError(f"the mutant's text does not occur exactly once in {self.path}")
    return self.source_to_code(source.replace(MUTANT["find"], MUTANT["replace"]).encode(), self.path)


SourceFileLoader.get_code = get_code


def start_with_mutant(
    self: subprocess.Popen[Any], *arguments: Any, env: Mapping[Any, Any] | None = None, **options: Any
) -> None:
    """Start a process that changes the file too."""
    if env is not None:
        paths = [os.path.dirname(__file__), *filter(None, [env.get("PYTHONPATH")])]  # noqa: PTH120 - quick
        env = {**env, "PYTHONPATH": os.pathsep.join(paths)}
    start_process(self, *arguments, env=env, **options)


subprocess.Popen.__init__ = start_with_mutant
