"""Give phases keys

Revision: 0010, after 0009

Every version gets a root of 256 bits. Where a phase has submissions, its small seeds go on deciding tasks, query order
and class split: its scores can be made again. Where it has none, keys take their place, and the audit log keeps what
the seeds were; the tasks of 2022 keep their seeds, which the organizers may have chosen.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_VERSIONS = sa.table(
    "phase_versions",
    sa.column("id", sa.String),
    sa.column("phase_id", sa.String),
    sa.column("number", sa.Integer),
    sa.column("protocol", _JSON),
    sa.column("train_seeds", _JSON),
    sa.column("test_seeds", _JSON),
    sa.column("root", sa.String),
    sa.column("same_test_tasks", sa.Boolean),
    sa.column("query_order", sa.String),
)
_PHASES = sa.table("phases", sa.column("id", sa.String), sa.column("competition_id", sa.String))
_SUBMISSIONS = sa.table("submissions", sa.column("phase_id", sa.String), sa.column("kind", sa.String))
_AUDIT = sa.table(
    "audit_entries",
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("competition_id", sa.String),
    sa.column("action", sa.String),
    sa.column("object_type", sa.String),
    sa.column("object_id", sa.String),
    sa.column("reason", sa.Text),
    sa.column("before", _JSON),
    sa.column("after", _JSON),
)


def upgrade() -> None:
    with op.batch_alter_table("phases") as batch_op:
        batch_op.add_column(sa.Column("key_published_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("phase_versions") as batch_op:
        batch_op.add_column(sa.Column("root", sa.String(length=64), nullable=True))
        batch_op.add_column(
            sa.Column("same_test_tasks", sa.Boolean(), nullable=False, server_default=sa.false())
        )
        batch_op.add_column(
            sa.Column("query_order", sa.String(length=32), nullable=False, server_default="key")
        )
    connection = op.get_bind()
    used = set(connection.scalars(sa.select(_SUBMISSIONS.c.phase_id).where(_SUBMISSIONS.c.kind != "smoke")))
    phases = connection.execute(sa.select(_PHASES.c.id, _PHASES.c.competition_id)).all()
    competitions: dict[str, str] = {row.id: row.competition_id for row in phases}
    for row in connection.execute(sa.select(_VERSIONS)).mappings().all():
        _give_key(connection, dict(row), row["phase_id"] in used, competitions.get(row["phase_id"]))
    with op.batch_alter_table("phase_versions") as batch_op:
        batch_op.alter_column("root", existing_type=sa.String(length=64), nullable=False)


def _give_key(connection: sa.Connection, row: dict[str, Any], used: bool, competition: str | None) -> None:
    seeds, protocol = row["test_seeds"] or [], row["protocol"] or {}
    values: dict[str, Any] = {
        "root": secrets.token_hex(32),
        "same_test_tasks": len(seeds) > 1 and len(set(seeds)) == 1,
    }
    if used:
        values["query_order"] = "test_seeds" if seeds else "key"
    elif protocol.get("name") != "legacy":
        values["test_seeds"] = []
        values["protocol"] = {key: value for key, value in protocol.items() if key != "split_seed"}
        _note(connection, row, competition)
    connection.execute(sa.update(_VERSIONS).where(_VERSIONS.c.id == row["id"]).values(**values))


def _note(connection: sa.Connection, row: dict[str, Any], competition: str | None) -> None:
    """Nothing is lost: what the seeds were that a key takes the place of."""
    before = {"version": row["number"], "test_seeds": row["test_seeds"], "protocol": row["protocol"]}
    connection.execute(
        sa.insert(_AUDIT).values(
            at=datetime.now(UTC),
            competition_id=competition,
            action="phase.give_key",
            object_type="phase",
            object_id=row["phase_id"],
            reason="A key of 256 bits takes the place of seeds that can be found by trying.",
            before=before,
            after={},
        )
    )


def downgrade() -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(_VERSIONS)).mappings().all():
        seeds = row["test_seeds"] or [secrets.randbelow(2**31) for _ in row["train_seeds"] or []]
        protocol = row["protocol"] or {}
        if protocol.get("name") in ("within_domain", "class_side", "base_novel", "fixed_supports", "writers"):
            protocol = {"split_seed": secrets.randbelow(2**31), **protocol}
        connection.execute(
            sa.update(_VERSIONS)
            .where(_VERSIONS.c.id == row["id"])
            .values(test_seeds=seeds, protocol=protocol)
        )
    with op.batch_alter_table("phase_versions") as batch_op:
        for name in ("query_order", "same_test_tasks", "root"):
            batch_op.drop_column(name)
    with op.batch_alter_table("phases") as batch_op:
        batch_op.drop_column("key_published_at")
