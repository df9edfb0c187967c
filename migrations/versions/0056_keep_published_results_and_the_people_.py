"""Keep published results and the people of submissions

Revision: 0056, after 0055
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "published_results",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("leagues", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("written_by", sa.String(length=32), nullable=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_published_results_phase_id")),
        sa.ForeignKeyConstraint(["written_by"], ["users.id"], name=op.f("fk_published_results_written_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published_results")),
        sa.UniqueConstraint("phase_id", "number", name=op.f("uq_published_results_phase_id_number")),
    )
    with op.batch_alter_table("league_answers", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_league_answers_league_id_membership_id"), type_="unique")
        batch_op.create_unique_constraint(
            batch_op.f("uq_league_answers_league_id_membership_id_team_id"),
            ["league_id", "membership_id", "team_id"],
        )

    with op.batch_alter_table("phases", schema=None) as batch_op:
        batch_op.add_column(sa.Column("launched_at", sa.DateTime(timezone=True), nullable=True))

    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "people",
                sa.JSON().with_variant(postgresql.JSONB(), "postgresql"),
                nullable=False,
                server_default="[]",
            )
        )
        batch_op.alter_column("people", server_default=None)

    with op.batch_alter_table("team_verdicts", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "people",
                sa.JSON().with_variant(postgresql.JSONB(), "postgresql"),
                nullable=False,
                server_default="[]",
            )
        )
        batch_op.alter_column("people", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("team_verdicts", schema=None) as batch_op:
        batch_op.drop_column("people")

    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_column("people")

    with op.batch_alter_table("phases", schema=None) as batch_op:
        batch_op.drop_column("launched_at")

    with op.batch_alter_table("league_answers", schema=None) as batch_op:
        batch_op.drop_constraint(
            batch_op.f("uq_league_answers_league_id_membership_id_team_id"), type_="unique"
        )
        batch_op.create_unique_constraint(
            batch_op.f("uq_league_answers_league_id_membership_id"), ["league_id", "membership_id"]
        )

    op.drop_table("published_results")
