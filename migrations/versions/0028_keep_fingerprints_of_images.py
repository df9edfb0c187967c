"""The fingerprints of a pack's images lie in a file beside it

Revision: 0028, after 0027
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("packs") as batch:
        batch.add_column(sa.Column("fingerprints", sa.String(64), nullable=True))
        batch.create_foreign_key("fk_packs_fingerprints_blobs", "blobs", ["fingerprints"], ["digest"])


def downgrade() -> None:
    with op.batch_alter_table("packs") as batch:
        batch.drop_constraint("fk_packs_fingerprints_blobs", type_="foreignkey")
        batch.drop_column("fingerprints")
