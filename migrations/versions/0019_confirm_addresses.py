"""Confirm addresses, grant organizing, limit workers' tokens

Revision: 0019, after 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Accounts from before keep what they could do: their addresses count as confirmed, owners may organize."""
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("may_organize", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    op.execute("UPDATE users SET email_verified_at = created_at WHERE email IS NOT NULL")
    op.execute("UPDATE users SET may_organize = true WHERE id IN (SELECT created_by FROM competitions)")
    op.execute("UPDATE users SET may_organize = true WHERE id IN (SELECT owner_id FROM pools)")
    with op.batch_alter_table("worker_tokens", schema=None) as batch_op:
        batch_op.add_column(sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("hardware_class", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("competition_id", sa.String(length=32), nullable=True))
        batch_op.create_foreign_key(
            op.f("fk_worker_tokens_competition_id_competitions"), "competitions", ["competition_id"], ["id"]
        )


def downgrade() -> None:
    with op.batch_alter_table("worker_tokens", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("fk_worker_tokens_competition_id_competitions"), type_="foreignkey")
        batch_op.drop_column("competition_id")
        batch_op.drop_column("hardware_class")
        batch_op.drop_column("expires_at")
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.drop_column("may_organize")
