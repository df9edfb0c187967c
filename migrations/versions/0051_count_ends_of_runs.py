"""Ends of runs and of attempts are counted by indexes

Revision: 0051, after 0050
"""

from __future__ import annotations

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_runs_verdict", "runs", ["verdict"])
    op.create_index("ix_attempts_outcome", "attempts", ["outcome"])


def downgrade() -> None:
    op.drop_index("ix_attempts_outcome", "attempts")
    op.drop_index("ix_runs_verdict", "runs")
