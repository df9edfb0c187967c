"""Add reports and indexes of the submissions' table

Revision: 0004, after 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reports",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=True),
        sa.Column("analysis", sa.String(length=32), nullable=False),
        sa.Column("parameters", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("results", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("requested_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_reports_competition_id")
        ),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_reports_league_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_reports_phase_id")),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_reports_phase_version_id")
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["users.id"], name=op.f("fk_reports_requested_by")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_reports_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
        sa.UniqueConstraint("run_id", name=op.f("uq_reports_run_id")),
    )
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.create_index(
            "ix_reports_competition_id_created_at", ["competition_id", "created_at"], unique=False
        )
        batch_op.create_index("ix_reports_digest", ["digest"], unique=False)

    with op.batch_alter_table("baselines", schema=None) as batch_op:
        batch_op.add_column(sa.Column("settings", sa.String(length=16), nullable=False, server_default=""))

    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("publish_when_over", sa.Boolean(), nullable=False, server_default=sa.false())
        )

    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_submissions_competition_id_finished_at", ["competition_id", "finished_at", "id"], unique=False
        )
        batch_op.create_index(
            "ix_submissions_competition_id_score", ["competition_id", "score", "id"], unique=False
        )
        batch_op.create_index(
            "ix_submissions_competition_id_size", ["competition_id", "size", "id"], unique=False
        )


def downgrade() -> None:
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index("ix_submissions_competition_id_size")
        batch_op.drop_index("ix_submissions_competition_id_score")
        batch_op.drop_index("ix_submissions_competition_id_finished_at")

    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.drop_column("publish_when_over")

    with op.batch_alter_table("baselines", schema=None) as batch_op:
        batch_op.drop_column("settings")

    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.drop_index("ix_reports_digest")
        batch_op.drop_index("ix_reports_competition_id_created_at")

    op.drop_table("reports")
