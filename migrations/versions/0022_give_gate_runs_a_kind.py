"""Give runs that measure a gate a kind of their own, and number their seeds from 0

Revision: 0022, after 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

BEYOND = 1000  # where their seeds were numbered from, so that no score for a board came of them
RUNS = sa.table("runs", *(sa.column(name) for name in ("id", "kind", "submission_id", "seed_index")))
SCORES = sa.table("run_scores", *(sa.column(name) for name in ("run_id", "seed_index")))
SUBMISSIONS = sa.table("submissions", *(sa.column(name) for name in ("id", "gate_of")))


def upgrade() -> None:
    gates = sa.select(SUBMISSIONS.c.id).where(SUBMISSIONS.c.gate_of.is_not(None))
    mine = RUNS.c.submission_id.in_(gates) & (RUNS.c.kind == "evaluate") & (RUNS.c.seed_index >= BEYOND)
    _number(-BEYOND, sa.select(RUNS.c.id).where(mine))
    op.execute(RUNS.update().where(mine).values(kind="gate", seed_index=RUNS.c.seed_index - BEYOND))


def downgrade() -> None:
    mine = RUNS.c.kind == "gate"
    _number(BEYOND, sa.select(RUNS.c.id).where(mine))
    op.execute(RUNS.update().where(mine).values(kind="evaluate", seed_index=RUNS.c.seed_index + BEYOND))


def _number(by: int, runs: sa.Select[tuple[str]]) -> None:
    """Move the places of the seeds of these runs, in their scores."""
    op.execute(SCORES.update().where(SCORES.c.run_id.in_(runs)).values(seed_index=SCORES.c.seed_index + by))
