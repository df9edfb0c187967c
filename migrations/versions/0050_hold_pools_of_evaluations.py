"""Phases hold the versions of the pools that their further evaluations name

Revision: 0050, after 0049
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "evaluation_pools",
        sa.Column("phase_id", sa.String(32), sa.ForeignKey("phases.id"), primary_key=True),
        sa.Column("pool_version_id", sa.String(32), sa.ForeignKey("pool_versions.id"), primary_key=True),
    )
    connection = op.get_bind()
    newest = sa.text(
        "SELECT v.id FROM pool_versions v JOIN pools p ON p.id = v.pool_id"
        " WHERE p.slug = :slug AND p.deleted_at IS NULL ORDER BY v.number DESC LIMIT 1"
    )
    hold = sa.text("INSERT INTO evaluation_pools (phase_id, pool_version_id) VALUES (:phase, :version)")
    phases = connection.execute(sa.text("SELECT id, evaluations FROM phases WHERE evaluations != ''"))
    for phase, evaluations in phases.all():
        for slug in set(_pools_named(evaluations)):
            version = connection.execute(newest, {"slug": slug}).scalar()
            if version is not None:
                connection.execute(hold, {"phase": phase, "version": version})


def downgrade() -> None:
    op.drop_table("evaluation_pools")


def _pools_named(evaluations: str) -> Iterator[str]:
    """The pools that lines such as `pool pool=more` or `{"name": "pool", "pool": "more"}` name."""
    for line in evaluations.splitlines():
        if line.lstrip().startswith("{"):
            settings = json.loads(line)
        else:
            settings = dict(word.partition("=")[::2] for word in line.split()[1:])
        if settings.get("pool"):
            yield settings["pool"]
