"""Competitions take turns at workers: indexes for it; no phase goes before its competition's finals

Revision: 0029, after 0028
"""

from __future__ import annotations

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

TURN = ["hardware_class", "state", "competition_id", "priority", "queued_at"]


def upgrade() -> None:
    op.create_index("ix_runs_turn", "runs", TURN)
    op.create_index("ix_runs_competition_id_claimed_at", "runs", ["competition_id", "claimed_at"])
    op.execute("UPDATE phases SET priority = 39 WHERE priority > 39")
    op.execute("UPDATE runs SET priority = 39 WHERE priority > 50 AND state = 'queued'")


def downgrade() -> None:
    op.drop_index("ix_runs_competition_id_claimed_at", "runs")
    op.drop_index("ix_runs_turn", "runs")
