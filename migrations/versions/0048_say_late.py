"""What an e-mail says when it goes out

Revision: 0048, after 0047
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("emails", sa.Column("said_late", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    with op.batch_alter_table("emails") as batch:
        batch.drop_column("said_late")
