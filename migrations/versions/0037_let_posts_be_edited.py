"""Posts are edited, with what they said before, and accepted as answers

Revision: 0037, after 0036
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("posts", sa.Column("accepted_at", Moment(), nullable=True))
    op.create_table(
        "post_edits",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("post_id", sa.String(32), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("replaced_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["post_id"], ["posts.id"], name=op.f("fk_post_edits_post_id_posts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_post_edits")),
    )
    op.create_index(op.f("ix_post_edits_post_id"), "post_edits", ["post_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_post_edits_post_id"), "post_edits")
    op.drop_table("post_edits")
    op.drop_column("posts", "accepted_at")
