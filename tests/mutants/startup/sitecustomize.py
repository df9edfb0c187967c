"""Python runs this at its start wherever this folder is on PYTHONPATH: it changes one module's source at its import.

`ANYSHOT_MUTANT` holds the mutant as JSON: `module`, `find`, `replace`. Child processes inherit both variables.
"""

import json
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader


class MutantLoader(SourceFileLoader):
    """Compiles the changed source; the bytecode cache is neither read nor written."""

    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        if source.count(MUTANT["find"]) != 1:
            raise ImportError(f"the mutant's text does not occur exactly once in {self.path}")
        return self.source_to_code(source.replace(MUTANT["find"], MUTANT["replace"]).encode(), self.path)


class MutantFinder:
    """Finds the one module that the mutant changes."""

    @staticmethod
    def find_spec(name, path=None, target=None) -> ModuleSpec | None:
        if name != MUTANT["module"]:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            raise ImportError(f"the mutant's module {name} cannot be found")
        spec.loader = MutantLoader(name, spec.origin)
        return spec


MUTANT = json.loads(os.environ.get("ANYSHOT_MUTANT", "{}"))
if MUTANT:
    sys.meta_path.insert(0, MutantFinder)  # type: ignore[arg-type]
