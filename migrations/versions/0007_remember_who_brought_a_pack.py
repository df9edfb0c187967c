"""Remember who brought a pack

Revision: 0007, after 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Packs of pools need no row: who may read a pool may use its packs.
    op.create_table(
        "pack_keepers",
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pack_id"], ["packs.id"], name=op.f("fk_pack_keepers_pack_id_packs")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_pack_keepers_user_id_users")),
        sa.PrimaryKeyConstraint("pack_id", "user_id", name=op.f("pk_pack_keepers")),
    )


def downgrade() -> None:
    op.drop_table("pack_keepers")
