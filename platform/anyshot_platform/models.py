"""All tables, imported once so that `metadata` is complete (migrations, tests)."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

import anyshot_platform
from anyshot_platform.database import Base

for _feature in pkgutil.iter_modules(anyshot_platform.__path__, "anyshot_platform."):
    if _feature.ispkg and find_spec(f"{_feature.name}.models") is not None:
        import_module(f"{_feature.name}.models")

metadata = Base.metadata
