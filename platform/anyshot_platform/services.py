"""What one process owns, made once from its settings and handed to whatever needs it."""

from __future__ import annotations

from dataclasses import dataclass

from anyshot_platform.database import Database
from anyshot_platform.kernel.signing import Signer
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.settings import PlatformSettings


@dataclass(frozen=True)
class Services:
    """Everything that lives as long as the process."""

    settings: PlatformSettings
    database: Database
    storage: Storage
    signer: Signer
