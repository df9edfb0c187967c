"""Add second factors and the moment of the last proof

Revision: 0020, after 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recovery_codes_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
        sa.UniqueConstraint("digest", name=op.f("uq_recovery_codes_digest")),
    )
    with op.batch_alter_table("recovery_codes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_recovery_codes_user_id"), ["user_id"], unique=False)
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(sa.Column("totp_sealed", sa.String(length=400), nullable=True))
        batch_op.add_column(sa.Column("totp_step", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("second_factor_since", sa.DateTime(timezone=True), nullable=True))
    for table in ("login_sessions", "api_tokens"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.add_column(sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for table in ("login_sessions", "api_tokens"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column("proved_at")
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.drop_column("second_factor_since")
        batch_op.drop_column("totp_step")
        batch_op.drop_column("totp_sealed")
    op.drop_table("recovery_codes")
