"""Phases export the probabilities of answers

Revision: 0046, after 0045
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("phase_versions") as batch:
        batch.add_column(sa.Column("probabilities", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("phase_versions") as batch:
        batch.alter_column("probabilities", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("phase_versions") as batch:
        batch.drop_column("probabilities")
