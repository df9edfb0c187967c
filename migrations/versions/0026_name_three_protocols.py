"""Let a phase name protocols for training and for validation, beside the one for the test

Revision: 0026, after 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ROLES = ("train_protocol", "validation_protocol")


def upgrade() -> None:
    with op.batch_alter_table("phase_versions") as batch:
        for name in ROLES:
            batch.add_column(sa.Column(name, Json, nullable=False, server_default="{}"))
    with op.batch_alter_table("phase_versions") as batch:
        for name in ROLES:
            batch.alter_column(name, server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("phase_versions") as batch:
        for name in ROLES:
            batch.drop_column(name)
