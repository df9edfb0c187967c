"""What one process owns, made once from its settings and handed to whatever needs it."""

from dataclasses import dataclass

from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.foundation.signing import Signer
from anyshot_platform.foundation.storage import Storage


@dataclass(frozen=True)
class Services:
    """Everything that lives as long as the process."""

    settings: PlatformSettings
    database: Database
    storage: Storage
    signer: Signer
