"""Add fact sheets, with whom they are wanted from and by when

The answers that came with a team's last upload become its fact sheet.

Revision: 0011, after 0010
"""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("competitions") as batch:
        batch.add_column(
            sa.Column("fact_sheet_from", sa.String(32), nullable=False, server_default="finalists")
        )
        batch.add_column(sa.Column("fact_sheet_by", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "fact_sheets",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("answers", Json, nullable=False),
        sa.Column("handed_in_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("updated_by", sa.String(32), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_fact_sheets_team_id")),
        sa.ForeignKeyConstraint(["updated_by"], ["users.id"], name=op.f("fk_fact_sheets_updated_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact_sheets")),
        sa.UniqueConstraint("team_id", name=op.f("uq_fact_sheets_team_id")),
    )
    _fill()


def _fill() -> None:
    submissions = sa.table(
        "submissions",
        *(sa.column(name) for name in ("team_id", "user_id", "kind")),
        sa.column("fact_sheet", Json),
        sa.column("created_at", sa.DateTime(timezone=True)),
    )
    sheets = sa.table(
        "fact_sheets",
        *(sa.column(name) for name in ("id", "team_id", "updated_by")),
        sa.column("answers", Json),
        sa.column("public", sa.Boolean()),
        *(sa.column(name, sa.DateTime(timezone=True)) for name in ("handed_in_at", "updated_at")),
    )
    connection = op.get_bind()
    asked = sa.select(submissions).where(submissions.c.kind.in_(["entry", "final"]))
    newest = {row.team_id: row for row in connection.execute(asked.order_by(submissions.c.created_at))}
    for row in newest.values():
        if row.fact_sheet:
            connection.execute(
                sheets.insert().values(
                    id=f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}",
                    team_id=row.team_id,
                    updated_by=row.user_id,
                    answers=row.fact_sheet,
                    public=False,
                    handed_in_at=row.created_at,
                    updated_at=row.created_at,
                )
            )


def downgrade() -> None:
    op.drop_table("fact_sheets")
    with op.batch_alter_table("competitions") as batch:
        batch.drop_column("fact_sheet_by")
        batch.drop_column("fact_sheet_from")
