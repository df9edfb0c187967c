"""Competitions are rehearsed in a hidden copy

Revision: 0030, after 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rehearsals",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column(
            "competition_id",
            sa.String(32),
            sa.ForeignKey("competitions.id", name="fk_rehearsals_competition_id_competitions"),
            nullable=False,
        ),
        sa.Column(
            "copy_id",
            sa.String(32),
            sa.ForeignKey("competitions.id", name="fk_rehearsals_copy_id_competitions"),
            nullable=False,
        ),
        sa.Column(
            "actor_id",
            sa.String(32),
            sa.ForeignKey("users.id", name="fk_rehearsals_actor_id_users"),
            nullable=False,
        ),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("teams", sa.Integer(), nullable=False),
        sa.Column("story", sa.Text(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
    )
    op.create_index("ix_rehearsals_competition_id", "rehearsals", ["competition_id"])
    op.create_index("ix_rehearsals_copy_id", "rehearsals", ["copy_id"])


def downgrade() -> None:
    op.drop_index("ix_rehearsals_copy_id", "rehearsals")
    op.drop_index("ix_rehearsals_competition_id", "rehearsals")
    op.drop_table("rehearsals")
