"""People who came with a competition from another site: placeholders until they claim their place

Revision: 0034, after 0033
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "placeholders",
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("competition_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("claim_digest", sa.String(64), nullable=True),
        sa.Column("email_key", sa.String(320), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("claimed_at", Moment(), nullable=True),
        sa.Column("claimed_by", sa.String(32), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_placeholders_user_id_users")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_placeholders_competition_id_competitions")
        ),
        sa.ForeignKeyConstraint(["claimed_by"], ["users.id"], name=op.f("fk_placeholders_claimed_by_users")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_placeholders")),
    )
    op.create_index(op.f("ix_placeholders_competition_id"), "placeholders", ["competition_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_placeholders_competition_id"), "placeholders")
    op.drop_table("placeholders")
