"""Where participants' code runs: one interface, three backends.

`interface` is what the worker process uses; `docker` is the backend that keeps every promise of the sandbox
page, `bubblewrap` a reduced one for machines without a daemon, `trusted` none at all, for code one wrote oneself.
"""

from anyshot_worker.sandbox.interface import (
    AttemptKey,
    Backend,
    Box,
    BoxSpec,
    BoxUsage,
    ImageInfo,
    SandboxError,
)
from anyshot_worker.sandbox.sandboxes import OpenBox, Sandboxes
from anyshot_worker.sandbox.settings import SandboxSettings

__all__ = [
    "AttemptKey",
    "Backend",
    "Box",
    "BoxSpec",
    "BoxUsage",
    "ImageInfo",
    "OpenBox",
    "SandboxError",
    "SandboxSettings",
    "Sandboxes",
]
