"""Keep a gate's baseline in a column, and answers given with uploads in the history of the team's fact sheet

Revision: 0014, after 0013
"""

from __future__ import annotations

import secrets
import time
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
MOMENT = sa.DateTime(timezone=True)
SUBMISSIONS = sa.table(
    "submissions",
    *(sa.column(name) for name in ("id", "team_id", "user_id", "kind", "origin_id", "gate_of")),
    sa.column("fact_sheet", Json),
    sa.column("created_at", MOMENT),
)
SHEETS = sa.table(
    "fact_sheets",
    *(sa.column(name) for name in ("id", "team_id", "updated_by")),
    sa.column("answers", Json),
    sa.column("history", Json),
    sa.column("public", sa.Boolean()),
    *(sa.column(name, MOMENT) for name in ("handed_in_at", "updated_at")),
)


def upgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("gate_of", sa.String(64), nullable=True))
    with op.batch_alter_table("fact_sheets") as batch:
        batch.add_column(sa.Column("history", Json, nullable=False, server_default="[]"))
    given: dict[str, list[Any]] = {}
    for row in op.get_bind().execute(sa.select(SUBMISSIONS).order_by(SUBMISSIONS.c.created_at)):
        if row.kind == "baseline":
            _keep_gate(row)
        elif row.fact_sheet and row.origin_id is None:  # a final's answers are its origin's
            given.setdefault(row.team_id, []).append(row)
    for rows in given.values():
        _keep_answers(rows)
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("fact_sheet")


def _keep_gate(row: Any) -> None:
    slug = (row.fact_sheet or {}).get("gate_of")
    if slug:
        mine = SUBMISSIONS.c.id == row.id
        op.get_bind().execute(SUBMISSIONS.update().where(mine).values(gate_of=slug))


def _keep_answers(rows: list[Any]) -> None:
    """Every upload's answers, in order; a team without a fact sheet gets the last as a draft."""
    connection, last = op.get_bind(), rows[-1]
    history = [
        {"at": row.created_at.isoformat(), "by": row.user_id, "submission": row.id, "answers": row.fact_sheet}
        for row in rows
    ]
    mine = SHEETS.c.team_id == last.team_id
    if connection.execute(SHEETS.update().where(mine).values(history=history)).rowcount:
        return
    connection.execute(
        SHEETS.insert().values(
            id=f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}",
            team_id=last.team_id,
            updated_by=last.user_id,
            answers=last.fact_sheet,
            history=history,
            public=False,
            handed_in_at=None,
            updated_at=last.created_at,
        )
    )


def downgrade() -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("fact_sheet", Json, nullable=False, server_default="{}"))
    connection = op.get_bind()
    for row in connection.execute(sa.select(SUBMISSIONS).where(SUBMISSIONS.c.gate_of.is_not(None))).all():
        _write(row.id, {"gate_of": row.gate_of})
    for (history,) in connection.execute(sa.select(SHEETS.c.history)).all():
        for step in history:
            if step.get("submission"):
                _write(step["submission"], step["answers"])
    with op.batch_alter_table("fact_sheets") as batch:
        batch.drop_column("history")
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("gate_of")


def _write(submission_id: str, answers: dict[str, Any]) -> None:
    mine = SUBMISSIONS.c.id == submission_id
    op.get_bind().execute(SUBMISSIONS.update().where(mine).values(fact_sheet=answers))
