"""The table of the baselines that a competition runs."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Baseline(Base):
    """A method of the organizers that is kept with the competition and run in any of its phases."""

    __tablename__ = "baselines"
    __table_args__ = (UniqueConstraint("competition_id", "slug"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    slug: Mapped[str] = mapped_column(String(64))
    name: Mapped[str]
    position: Mapped[int] = mapped_column(default=0)
    digest: Mapped[str | None] = mapped_column(ForeignKey("blobs.digest"), index=True)  # of its zip
    builtin: Mapped[str | None] = mapped_column(String(64))  # one that ships with Anyshot
    settings: Mapped[str] = mapped_column(
        String(64), default=""
    )  # of a built-in one: the name of its file of them
    weights: Mapped[str] = mapped_column(String(128), default="")  # file of the site that it starts from
    leagues: Mapped[list[str]] = mapped_column(default=list)  # slugs
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]
