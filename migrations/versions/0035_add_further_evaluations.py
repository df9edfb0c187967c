"""Phases have further evaluations, whose tests of kept learners rank nothing

Revision: 0035, after 0034
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None
OF = {
    "submission_id": "submissions",
    "phase_version_id": "phase_versions",
    "run_id": "runs",
    "pool_version_id": "pool_versions",
}


def upgrade() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.add_column(sa.Column("evaluations", sa.Text(), nullable=False, server_default=""))
        batch.add_column(
            sa.Column("evaluations_visible", sa.Boolean(), nullable=False, server_default=sa.true())
        )
    with op.batch_alter_table("phases") as batch:
        batch.alter_column("evaluations", server_default=None)
        batch.alter_column("evaluations_visible", server_default=None)
    op.create_table(
        "further_tests",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(name, sa.String(32), nullable=False) for name in OF),
        sa.Column("evaluation", sa.String(40), nullable=False),
        sa.Column("seed_index", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("protocol", sa.JSON(), nullable=False),
        sa.Column("domain", sa.String(), nullable=True),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("scored_at", Moment(), nullable=True),
        *(
            sa.ForeignKeyConstraint([name], [f"{table}.id"], name=op.f(f"fk_further_tests_{name}_{table}"))
            for name, table in OF.items()
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_further_tests")),
        sa.UniqueConstraint("run_id", name=op.f("uq_further_tests_run_id")),
    )
    op.create_index(op.f("ix_further_tests_submission_id"), "further_tests", ["submission_id"])
    place = ["phase_version_id", "submission_id", "digest", "seed_index"]
    op.create_index("ix_further_tests_place", "further_tests", place)


def downgrade() -> None:
    op.drop_index("ix_further_tests_place", "further_tests")
    op.drop_index(op.f("ix_further_tests_submission_id"), "further_tests")
    op.drop_table("further_tests")
    with op.batch_alter_table("phases") as batch:
        batch.drop_column("evaluations_visible")
        batch.drop_column("evaluations")
