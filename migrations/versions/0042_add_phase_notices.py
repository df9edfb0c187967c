"""Members are told of the dates of phases

Revision: 0042, after 0041
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "phase_notices",
        sa.Column("phase_id", sa.String(32), nullable=False),
        sa.Column("date", sa.String(32), nullable=False),
        sa.Column("moment", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_phase_notices_phase_id_phases")),
        sa.PrimaryKeyConstraint("phase_id", "date", name=op.f("pk_phase_notices")),
    )


def downgrade() -> None:
    op.drop_table("phase_notices")
