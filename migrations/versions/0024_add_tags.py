"""Add tags to submissions

Revision: 0024, after 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "submission_tags",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("tag", sa.String(length=30), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["submissions.id"],
            name=op.f("fk_submission_tags_submission_id_submissions"),
        ),
        sa.PrimaryKeyConstraint("submission_id", "tag", name=op.f("pk_submission_tags")),
    )


def downgrade() -> None:
    op.drop_table("submission_tags")
