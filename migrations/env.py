"""Alembic's entry: runs on the connection that `anyshot_platform.foundation.migration` hands over."""

from typing import Any

from alembic import context
from sqlalchemy import JSON

from anyshot_platform.foundation.database import Moment, TypedJson, Word
from anyshot_platform.server.all_models import metadata


def render_type(kind: str, item: Any, autogen_context: Any) -> str | bool:
    """Write our column types as plain SQLAlchemy ones, so that old migrations need no code of ours."""
    if kind != "type":
        return False
    if isinstance(item, Moment):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, Word):
        return "sa.String(length=32)"
    if isinstance(item, JSON | TypedJson):
        autogen_context.imports.add("from sqlalchemy.dialects import postgresql")
        return 'sa.JSON().with_variant(postgresql.JSONB(), "postgresql")'
    return False


def migrate() -> None:
    """Run the migrations on the connection given."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_item=render_type,
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


migrate()
