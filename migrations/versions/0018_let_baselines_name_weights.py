"""Let baselines name the pretrained weights that they start from

Revision: 0018, after 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("baselines") as batch:
        batch.add_column(sa.Column("weights", sa.String(128), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("baselines") as batch:
        batch.drop_column("weights")
