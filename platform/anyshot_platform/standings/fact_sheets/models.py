"""The table of teams' answers on their method."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class FactSheet(Base):
    """What a team says of its method: a draft until it is handed in, which may be done again."""

    __tablename__ = "fact_sheets"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), unique=True)
    answers: Mapped[dict[str, Any]] = mapped_column(default=dict)
    history: Mapped[list[Any]] = mapped_column(
        default=list
    )  # each time it was handed in: at, by, submission, answers
    handed_in_at: Mapped[datetime | None]
    public: Mapped[bool] = mapped_column(default=False)  # the team agrees to show it beside the results
    updated_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    updated_at: Mapped[datetime] = mapped_column(default=now)
