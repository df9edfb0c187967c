"""Attempts have measures: what they use and what their loggers say, over time

Revision: 0036, after 0035
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_measures",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("series", sa.String(32), nullable=False),
        sa.Column("stage", sa.String(32), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("width", sa.Double(), nullable=False),
        sa.Column("cpu_cores", sa.Double(), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("gpu_share", sa.Double(), nullable=True),
        sa.Column("gpu_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("loss", sa.Double(), nullable=True),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("normalized_accuracy", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_measures_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_measures")),
        sa.UniqueConstraint("run_id", "epoch", "seq", name=op.f("uq_run_measures_run_id_epoch_seq")),
    )
    op.create_index("ix_run_measures_run_id_id", "run_measures", ["run_id", "id"])


def downgrade() -> None:
    op.drop_index("ix_run_measures_run_id_id", "run_measures")
    op.drop_table("run_measures")
