"""All tables, imported once so that `metadata` is complete (migrations, tests)."""

import pkgutil
from importlib import import_module

import anyshot_platform
from anyshot_platform.foundation.database import Base

for _module in pkgutil.walk_packages(anyshot_platform.__path__, "anyshot_platform."):
    if _module.name.endswith(".models"):
        import_module(_module.name)

metadata = Base.metadata
