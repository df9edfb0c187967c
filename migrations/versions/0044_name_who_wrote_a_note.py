"""Who wrote a submission's note and tags

Revision: 0044, after 0043
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("noted_by", sa.String(32), nullable=True))
        batch.add_column(sa.Column("noted_at", Moment(), nullable=True))
        batch.create_foreign_key(batch.f("fk_submissions_noted_by_users"), "users", ["noted_by"], ["id"])


def downgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.drop_constraint(batch.f("fk_submissions_noted_by_users"), type_="foreignkey")
        batch.drop_column("noted_at")
        batch.drop_column("noted_by")
