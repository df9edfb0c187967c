"""Phases export snapshots of training, features and estimates from support sets

Revision: 0040, after 0039
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

COLUMNS = {
    "phases": (("exports_visible", sa.Boolean(), sa.false()),),
    "phase_versions": (
        ("snapshots", sa.Integer(), "0"),
        ("features", sa.Boolean(), sa.false()),
        ("estimates", sa.Boolean(), sa.false()),
    ),
}


def upgrade() -> None:
    for table, columns in COLUMNS.items():
        with op.batch_alter_table(table) as batch:
            for name, kind, default in columns:
                batch.add_column(sa.Column(name, kind, nullable=False, server_default=default))
        with op.batch_alter_table(table) as batch:
            for name, _, _ in columns:
                batch.alter_column(name, server_default=None)


def downgrade() -> None:
    for table, columns in COLUMNS.items():
        with op.batch_alter_table(table) as batch:
            for name, _, _ in columns:
                batch.drop_column(name)
