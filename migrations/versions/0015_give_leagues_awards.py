"""Give leagues prize money, and the rule by which a team splits it

Revision: 0015, after 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("leagues") as batch:
        batch.add_column(sa.Column("awards", Json, nullable=False, server_default="[]"))
        batch.add_column(sa.Column("currency", sa.String(8), nullable=False, server_default="EUR"))
        batch.add_column(sa.Column("award_split", sa.String(32), nullable=False, server_default="equally"))


def downgrade() -> None:
    with op.batch_alter_table("leagues") as batch:
        for name in ("award_split", "currency", "awards"):
            batch.drop_column(name)
