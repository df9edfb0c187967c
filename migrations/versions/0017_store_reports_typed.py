"""Store what reports are asked and answer in their own columns

Revision: 0017, after 0016

The answer of a report moves from its run to the report. The parameters of a report name their analysis. Parameters
that this release does not compute with are kept as those of an earlier release.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
NEEDED = {
    "flips": {"replicates", "seed", "rule", "names", "feedback"},
    "difficulty": {"names", "baselines"},
    "plan": {"lead", "flip"},
    "diversity": {"tasks", "floor_tasks", "seed", "protocol"},
    "audit": {"tasks", "protocol"},
    "shift": {"tasks", "ways", "shots", "seed"},
}
reports = sa.table(
    "reports",
    sa.column("id", sa.String),
    sa.column("run_id", sa.String),
    sa.column("analysis", sa.String),
    sa.column("parameters", JSON),
    sa.column("answer", JSON),
)
runs = sa.table(
    "runs", sa.column("id", sa.String), sa.column("kind", sa.String), sa.column("parameters", JSON)
)


def upgrade() -> None:
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.add_column(sa.Column("answer", JSON, nullable=False, server_default="{}"))
    bind = op.get_bind()
    found = sa.select(reports, runs.c.parameters.label("of_run")).join(runs, runs.c.id == reports.c.run_id)
    for row in bind.execute(found).all():
        values = {
            "parameters": parameters_of(row.analysis, row.parameters),
            "answer": row.of_run.get("result") or {},
        }
        bind.execute(sa.update(reports).where(reports.c.id == row.id).values(**values))
    bind.execute(sa.update(runs).where(runs.c.kind == "analyse").values(parameters={}))


def parameters_of(analysis: str, stored: dict[str, Any]) -> dict[str, Any]:
    if set(stored) >= NEEDED.get(analysis, {"unknown"}):
        return stored | {"analysis": analysis}
    return {"analysis": "earlier", "name": analysis, "values": stored}


def downgrade() -> None:
    bind = op.get_bind()
    for row in bind.execute(sa.select(reports)).all():
        earlier = row.parameters.get("analysis") == "earlier"
        asked = row.parameters["values"] if earlier else dict(row.parameters)
        of_run = asked | {"analysis": row.analysis} | ({"result": row.answer} if row.answer else {})
        asked.pop("analysis", None)
        bind.execute(sa.update(reports).where(reports.c.id == row.id).values(parameters=asked))
        bind.execute(sa.update(runs).where(runs.c.id == row.run_id).values(parameters=of_run))
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.drop_column("answer")
