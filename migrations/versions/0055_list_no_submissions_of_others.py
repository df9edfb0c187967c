"""`shown.others` goes: no page ever listed others' submissions

Revision: 0055, after 0054
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.drop_column("submissions_visible")


def downgrade() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.add_column(
            sa.Column("submissions_visible", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("phases") as batch:
        batch.alter_column("submissions_visible", server_default=None)
