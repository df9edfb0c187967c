"""Announcements are edited

Revision: 0047, after 0046
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("announcements", sa.Column("edited_at", Moment(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("announcements") as batch:
        batch.drop_column("edited_at")
