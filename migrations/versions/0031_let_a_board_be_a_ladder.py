"""A board may be a Ladder: the step by which a submission must beat what stands

Revision: 0031, after 0030
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.add_column(sa.Column("ladder_step", sa.Float(), nullable=False, server_default="0.01"))
    with op.batch_alter_table("phases") as batch:
        batch.alter_column("ladder_step", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.drop_column("ladder_step")
