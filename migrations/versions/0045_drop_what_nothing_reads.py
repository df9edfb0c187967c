"""Columns that were written and never read

Revision: 0045, after 0044
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_LONG_AGO = sa.text("'1970-01-01 00:00:00+00:00'")
_GONE = (
    ("runs", lambda: sa.Column("heartbeat_at", Moment(), nullable=True)),
    ("teams", lambda: sa.Column("solo", sa.Boolean(), nullable=False, server_default=sa.true())),
    ("workers", lambda: sa.Column("first_seen_at", Moment(), nullable=False, server_default=_LONG_AGO)),
    ("troubles", lambda: sa.Column("first_at", Moment(), nullable=False, server_default=_LONG_AGO)),
    ("announcements", lambda: sa.Column("emailed", sa.Boolean(), nullable=False, server_default=sa.true())),
    (
        "team_invitations",
        lambda: sa.Column("by_captain", sa.Boolean(), nullable=False, server_default=sa.true()),
    ),
)


def upgrade() -> None:
    with op.batch_alter_table("gates") as batch:
        batch.drop_constraint(batch.f("fk_gates_set_by"), type_="foreignkey")
        batch.drop_column("set_by")
    for table, column in _GONE:
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column().name)


def downgrade() -> None:
    for table, column in _GONE:
        with op.batch_alter_table(table) as batch:
            batch.add_column(column())
    with op.batch_alter_table("gates") as batch:
        batch.add_column(sa.Column("set_by", sa.String(32), nullable=True))
        batch.create_foreign_key(batch.f("fk_gates_set_by"), "users", ["set_by"], ["id"])
