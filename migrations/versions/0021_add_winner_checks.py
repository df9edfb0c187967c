"""Add the identity checks of winners

Revision: 0021, after 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "winner_checks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_winner_checks_phase_id_phases")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_winner_checks_user_id_users")),
        sa.ForeignKeyConstraint(["decided_by"], ["users.id"], name=op.f("fk_winner_checks_decided_by_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_winner_checks")),
        sa.UniqueConstraint("phase_id", "user_id", name=op.f("uq_winner_checks_phase_id_user_id")),
    )
    with op.batch_alter_table("winner_checks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_winner_checks_user_id"), ["user_id"], unique=False)


def downgrade() -> None:
    op.drop_table("winner_checks")
