"""Add training dataset by dataset

Revision: 0005, after 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("phase_versions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("each_dataset", sa.Boolean(), nullable=False, server_default=sa.false())
        )
        batch_op.add_column(
            sa.Column("budget_each_dataset", sa.Boolean(), nullable=False, server_default=sa.false())
        )


def downgrade() -> None:
    with op.batch_alter_table("phase_versions", schema=None) as batch_op:
        batch_op.drop_column("budget_each_dataset")
        batch_op.drop_column("each_dataset")
