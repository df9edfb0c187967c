"""Let competitions be unlisted or private, and open at a moment

Revision: 0025, after 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("competitions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("visibility", sa.String(length=32), nullable=False, server_default="public")
        )
        batch_op.add_column(sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("competitions", schema=None) as batch_op:
        batch_op.drop_column("opens_at")
        batch_op.drop_column("visibility")
