"""The site of the platform's own tests, for the commands that speak with one."""

from tests.platform.conftest import (  # noqa: F401 - fixtures
    database_kind,
    databases,
    kept_databases,
    kept_engines,
    migrated_postgres,
    migrated_sqlite,
    services,
    site,
)
