"""Names of a baseline's settings may be longer than 16 characters: `within-pretrained` is

Revision: 0027, after 0026
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("baselines") as batch:
        batch.alter_column(
            "settings", existing_type=sa.String(16), type_=sa.String(64), existing_nullable=False
        )


def downgrade() -> None:
    with op.batch_alter_table("baselines") as batch:
        batch.alter_column(
            "settings", existing_type=sa.String(64), type_=sa.String(16), existing_nullable=False
        )
