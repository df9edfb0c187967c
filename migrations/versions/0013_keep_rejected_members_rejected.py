"""Tell members whom the organizers rejected from members who left

Revision: 0013, after 0012
"""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rejected: whose withdrawal was written by the organizers' act."""
    op.execute(
        "UPDATE memberships SET status = 'rejected' WHERE status = 'withdrawn' AND id IN "
        "(SELECT object_id FROM audit_entries WHERE action = 'member.reject' AND object_type = 'member')"
    )


def downgrade() -> None:
    op.execute("UPDATE memberships SET status = 'withdrawn' WHERE status = 'rejected'")
