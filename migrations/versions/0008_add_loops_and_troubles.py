"""Add rounds of background threads and rows set aside; drop retention rules that are no numbers

Revision: 0008, after 0007
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None
_EXPIRING = ("predictions.parquet", "learner.bin", "log.txt", "logger.zip")


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "loops",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("process", sa.String(64), nullable=False),
        sa.Column("last_at", moment, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", "process", name=op.f("pk_loops")),
    )
    op.create_table(
        "troubles",
        sa.Column("duty", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("first_at", moment, nullable=False),
        sa.Column("next_at", moment, nullable=False),
        sa.Column("set_aside_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("duty", "subject", name=op.f("pk_troubles")),
    )
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("posted_at", moment, nullable=True))
    op.execute("UPDATE alerts SET posted_at = told_at")
    _clean_retention()


def _clean_retention() -> None:
    """Bundles could say anything here, and the sweeper ended at what is no number of days."""
    competitions = sa.table("competitions", sa.column("id", sa.String), sa.column("retention", sa.JSON))
    connection = op.get_bind()
    for identity, rules in connection.execute(sa.select(competitions.c.id, competitions.c.retention)).all():
        rules = json.loads(rules) if isinstance(rules, str) else rules
        kept = {name: days for name, days in (rules or {}).items() if name in _EXPIRING and _is_days(days)}
        if kept != rules:
            changed = sa.update(competitions).where(competitions.c.id == identity).values(retention=kept)
            connection.execute(changed)


def _is_days(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def downgrade() -> None:
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.drop_column("posted_at")
    op.drop_table("troubles")
    op.drop_table("loops")
