"""Of a run that was tried again, the files of its last attempt count

Revision: 0053, after 0052
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    artifacts = sa.table(
        "artifacts", sa.column("run_id"), sa.column("epoch"), sa.column("final", sa.Boolean())
    )
    later = artifacts.alias("later")
    superseded = sa.exists().where(
        later.c.run_id == artifacts.c.run_id, later.c.epoch > artifacts.c.epoch, later.c.final
    )
    op.execute(artifacts.update().where(artifacts.c.final, superseded).values(final=False))


def downgrade() -> None:
    pass
