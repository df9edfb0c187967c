"""Messages come as digests, and competitions are muted

Revision: 0041, after 0040
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anyshot_platform.database import Moment

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("mail_rhythm", sa.String(32), nullable=False, server_default="at_once"))
    with op.batch_alter_table("emails") as batch_op:
        batch_op.add_column(sa.Column("digest_of", sa.String(32), nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_emails_digest_of_users"), "users", ["digest_of"], ["id"])
    op.create_index(op.f("ix_emails_digest_of"), "emails", ["digest_of"])
    op.create_table(
        "notification_mutes",
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("competition_id", sa.String(32), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notification_mutes_user_id_users")),
        sa.ForeignKeyConstraint(
            ["competition_id"],
            ["competitions.id"],
            name=op.f("fk_notification_mutes_competition_id_competitions"),
        ),
        sa.PrimaryKeyConstraint("user_id", "competition_id", name=op.f("pk_notification_mutes")),
    )


def downgrade() -> None:
    op.drop_table("notification_mutes")
    op.drop_index(op.f("ix_emails_digest_of"), "emails")
    with op.batch_alter_table("emails") as batch_op:
        batch_op.drop_constraint(batch_op.f("fk_emails_digest_of_users"), type_="foreignkey")
        batch_op.drop_column("digest_of")
    op.drop_column("users", "mail_rhythm")
