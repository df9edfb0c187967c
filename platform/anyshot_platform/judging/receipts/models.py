"""Tables of receipts, and of the key that signs them."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, now


class SiteKey(Base):
    """The key pair of the site; the unique purpose leaves one for receipts, whoever makes it first."""

    __tablename__ = "site_keys"

    purpose: Mapped[str] = mapped_column(String(32), primary_key=True)
    private_key: Mapped[str] = mapped_column(String(64))  # secret, 32 bytes in hex
    created_at: Mapped[datetime] = mapped_column(default=now)


class RunReceipt(Base):
    """The receipt of a run that counts; of a run in parts the first one has it, as it has the score."""

    __tablename__ = "run_receipts"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    signed: Mapped[str] = mapped_column(Text)  # a `SignedReceipt` in canonical form: a database rewrites JSON
    created_at: Mapped[datetime] = mapped_column(default=now)
