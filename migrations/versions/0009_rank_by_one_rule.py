"""Rank by one rule: `combine` goes

Revision: 0009, after 0008

Until now a phase had two settings for one decision: `combine` joined the seeded runs of a score, `ranking_rule` was
what the pages announced. Boards ranked by `combine`. A version whose two settings agree keeps its rule. One whose
settings contradict each other gets the rule by which its board was ranked, so that no board changes; the audit log of
its competition and the organizers' page of the phase say so. With a single run the two settings never differed in
effect: such a version keeps its rule.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
COUNTS = {"worst": "lowest", "mean": "mean", "median": "median"}
KNOWN = [*(f"{join}_run" for join in COUNTS), *(f"dataset_ranks_{join}" for join in COUNTS)]
WORDS = (
    "Version {number} of this phase announced the rule {announced}, by which the {said} of the seeded runs counts, "
    "but its setting `combine` was {combine}. Its boards were ranked by the {done} of the runs. They keep their order: "
    "the rule is {rule} now, and the pages say so. To rank as it was announced, draft a new version with the rule "
    "{announced}."
)
versions = sa.table(
    "phase_versions",
    sa.column("id", sa.String),
    sa.column("phase_id", sa.String),
    sa.column("number", sa.Integer),
    sa.column("test_seeds", JSON),
    sa.column("combine", sa.String),
    sa.column("ranking_rule", sa.String),
)
phases = sa.table("phases", sa.column("id", sa.String), sa.column("competition_id", sa.String))
audit = sa.table(
    "audit_entries",
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("competition_id", sa.String),
    sa.column("action", sa.String),
    sa.column("object_type", sa.String),
    sa.column("object_id", sa.String),
    sa.column("reason", sa.Text),
    sa.column("before", JSON),
    sa.column("after", JSON),
)


def upgrade() -> None:
    bind = op.get_bind()
    rows = bind.execute(
        sa.select(versions, phases.c.competition_id).join(phases, phases.c.id == versions.c.phase_id)
    ).all()
    for row in rows:
        rule = rule_that_ranked(row.combine, row.ranking_rule)
        if rule != row.ranking_rule and row.ranking_rule in KNOWN and len(row.test_seeds) > 1:
            bind.execute(sa.update(versions).where(versions.c.id == row.id).values(ranking_rule=rule))
            bind.execute(sa.insert(audit).values(**entry(row, rule)))
    with op.batch_alter_table("phase_versions", schema=None) as batch_op:
        batch_op.drop_column("combine")


def rule_that_ranked(combine: str, ranking: str) -> str:
    return f"dataset_ranks_{combine}" if ranking.startswith("dataset_ranks_") else f"{combine}_run"


def entry(row: Any, rule: str) -> dict[str, Any]:
    before = {"version": row.number, "combine": row.combine, "ranking": row.ranking_rule}
    said, done = (
        COUNTS[row.ranking_rule.removesuffix("_run").removeprefix("dataset_ranks_")],
        COUNTS[row.combine],
    )
    words = WORDS.format(
        number=row.number, announced=row.ranking_rule, said=said, combine=row.combine, done=done, rule=rule
    )
    return {
        "at": datetime.now(UTC),
        "competition_id": row.competition_id,
        "action": "phase.one_rule",
        "object_type": "phase",
        "object_id": row.phase_id,
        "reason": words,
        "before": before,
        "after": {"version": row.number, "ranking": rule},
    }


def downgrade() -> None:
    with op.batch_alter_table("phase_versions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("combine", sa.String(length=32), nullable=False, server_default="worst")
        )
    for join in COUNTS:
        joined = versions.c.ranking_rule.in_([f"{join}_run", f"dataset_ranks_{join}"])
        op.execute(sa.update(versions).where(joined).values(combine=join))
