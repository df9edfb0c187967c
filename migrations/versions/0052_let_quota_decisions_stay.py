"""What organizers decided about a submission's quota stays

Revision: 0052, after 0051
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

_OF_RUNS = ("", "not your doing", "cancelled")  # reasons that a run's end wrote; all others are organizers'


def upgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("quota_decided_at", Moment(), nullable=True))
    submissions = sa.table(
        "submissions",
        *(sa.column(name) for name in ("quota_reason", "quota_decided_at", "finished_at", "created_at")),
    )
    known = sa.func.coalesce(submissions.c.finished_at, submissions.c.created_at)
    op.execute(
        submissions.update()
        .where(submissions.c.quota_reason.not_in(_OF_RUNS))
        .values(quota_decided_at=known)  # when it was decided, only the log of acts knows
    )


def downgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("quota_decided_at")
