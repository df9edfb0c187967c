"""Add baselines, columns of boards and combined pools

Revision: 0002, after: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

JSON_LIST = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "baselines",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("builtin", sa.String(length=64), nullable=True),
        sa.Column("leagues", JSON_LIST, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_baselines_competition_id_competitions")
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_baselines_digest_blobs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baselines")),
        sa.UniqueConstraint("competition_id", "slug", name=op.f("uq_baselines_competition_id_slug")),
    )
    with op.batch_alter_table("baselines", schema=None) as batch_op:
        batch_op.create_index(op.f("ix_baselines_digest"), ["digest"], unique=False)
    with op.batch_alter_table("leagues", schema=None) as batch_op:
        batch_op.add_column(sa.Column("columns", JSON_LIST, nullable=False, server_default="[]"))
    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.add_column(sa.Column("combines", JSON_LIST, nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.drop_column("combines")
    with op.batch_alter_table("leagues", schema=None) as batch_op:
        batch_op.drop_column("columns")
    op.drop_table("baselines")
