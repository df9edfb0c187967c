"""Competitions have images and files for their pages

Revision: 0032, after 0031
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "competition_files",
        sa.Column("competition_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"],
            ["competitions.id"],
            name=op.f("fk_competition_files_competition_id_competitions"),
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_competition_files_digest_blobs")),
        sa.PrimaryKeyConstraint("competition_id", "name", name=op.f("pk_competition_files")),
    )
    op.create_index(op.f("ix_competition_files_digest"), "competition_files", ["digest"])


def downgrade() -> None:
    op.drop_index(op.f("ix_competition_files_digest"), "competition_files")
    op.drop_table("competition_files")
