"""Count lines left out and failures before training

Revision: 0056, after 0055
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("event_counts") as table:
        table.add_column(sa.Column("left_out", sa.BigInteger(), nullable=False, server_default="0"))
    with op.batch_alter_table("runs") as table:
        table.add_column(
            sa.Column("before_training", sa.Boolean(), nullable=False, server_default=sa.false())
        )


def downgrade() -> None:
    with op.batch_alter_table("runs") as table:
        table.drop_column("before_training")
    with op.batch_alter_table("event_counts") as table:
        table.drop_column("left_out")
