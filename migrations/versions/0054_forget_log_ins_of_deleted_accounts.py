"""A deleted account keeps no log-in of another site, no session, no token and no choice of messages

Revision: 0054, after 0053
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

_LEFT_BEHIND = (  # by 0.1.0
    *("oauth_identities", "recovery_codes", "one_time_tokens", "login_sessions", "api_tokens"),
    *("notification_choices", "notification_mutes"),
)


def upgrade() -> None:
    users = sa.table("users", sa.column("id"), sa.column("deleted_at"))
    deleted = sa.select(users.c.id).where(users.c.deleted_at.is_not(None))
    for name in _LEFT_BEHIND:
        rows = sa.table(name, sa.column("user_id"))
        op.execute(rows.delete().where(rows.c.user_id.in_(deleted)))


def downgrade() -> None:
    pass
