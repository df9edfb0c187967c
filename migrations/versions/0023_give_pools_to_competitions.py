"""Give pools to competitions, and say what an upload is for

Revision: 0023, after 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.add_column(sa.Column("competition_id", sa.String(length=32), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_pools_competition_id_competitions"), "competitions", ["competition_id"], ["id"]
        )
        batch_op.create_index(batch_op.f("ix_pools_competition_id"), ["competition_id"], unique=False)
    with op.batch_alter_table("uploads", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("purpose", sa.String(length=32), nullable=False, server_default="submission")
        )


def downgrade() -> None:
    with op.batch_alter_table("uploads", schema=None) as batch_op:
        batch_op.drop_column("purpose")
    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_pools_competition_id"))
        batch_op.drop_constraint(batch_op.f("fk_pools_competition_id_competitions"), type_="foreignkey")
        batch_op.drop_column("competition_id")
