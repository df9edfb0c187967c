"""Further evaluations keep why they failed

Revision: 0049, after 0048
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("further_tests") as batch:
        batch.add_column(sa.Column("failure", Json, nullable=False, server_default="{}"))
    with op.batch_alter_table("further_tests") as batch:
        batch.alter_column("failure", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("further_tests") as batch:
        batch.drop_column("failure")
