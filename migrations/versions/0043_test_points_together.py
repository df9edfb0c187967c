"""The points of a further evaluation are tested by one run

Revision: 0043, after 0042
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

INDEX, UNIQUE = "ix_further_tests_run_id", "uq_further_tests_run_id"


def upgrade() -> None:
    with op.batch_alter_table("further_tests") as batch:
        batch.add_column(sa.Column("place", sa.Integer(), nullable=False, server_default="0"))
        batch.drop_constraint(UNIQUE, type_="unique")
        batch.create_index(INDEX, ["run_id"])
    with op.batch_alter_table("further_tests") as batch:
        batch.alter_column("place", server_default=None)


def downgrade() -> None:
    op.execute(sa.text("DELETE FROM further_tests WHERE place > 0"))
    with op.batch_alter_table("further_tests") as batch:
        batch.drop_index(INDEX)
        batch.create_unique_constraint(UNIQUE, ["run_id"])
        batch.drop_column("place")
