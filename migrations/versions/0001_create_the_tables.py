"""Create the tables

Revision: 0001, after nothing
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def keep_audit_log_append_only() -> None:
    """The log may grow and nothing else, whoever asks the database."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_entries_no_{verb.lower()} BEFORE {verb} ON audit_entries "
                "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("posted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.create_index("ix_alerts_kind_subject_until", ["kind", "subject", "until"], unique=False)

    op.create_table(
        "blobs",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_blobs")),
    )
    with op.batch_alter_table("blobs", schema=None) as batch_op:
        batch_op.create_index("ix_blobs_created_at", ["created_at"], unique=False)

    op.create_table(
        "images",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_images")),
        sa.UniqueConstraint("name", name=op.f("uq_images_name")),
    )
    op.create_table(
        "loops",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("process", sa.String(length=64), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", "process", name=op.f("pk_loops")),
    )
    op.create_table(
        "rate_hits",
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("window_start", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", "window_start", name=op.f("pk_rate_hits")),
    )
    with op.batch_alter_table("rate_hits", schema=None) as batch_op:
        batch_op.create_index("ix_rate_hits_window_start", ["window_start"], unique=False)

    op.create_table(
        "sweeps",
        sa.Column("duty", sa.String(length=32), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("duty", name=op.f("pk_sweeps")),
    )
    op.create_table(
        "troubles",
        sa.Column("duty", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("duty", "subject", name=op.f("pk_troubles")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("username", sa.String(length=64), nullable=False),
        sa.Column("username_key", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=True),
        sa.Column("email_key", sa.String(length=320), nullable=True),
        sa.Column("email_verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("totp_sealed", sa.String(length=400), nullable=True),
        sa.Column("totp_step", sa.Integer(), nullable=True),
        sa.Column("second_factor_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("display_name", sa.String(length=200), nullable=False),
        sa.Column("affiliation", sa.String(length=200), nullable=False),
        sa.Column("country", sa.String(length=200), nullable=False),
        sa.Column("homepage", sa.String(length=200), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("profile_public", sa.Boolean(), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("mail_rhythm", sa.String(length=32), nullable=False),
        sa.Column("is_site_admin", sa.Boolean(), nullable=False),
        sa.Column("may_organize", sa.Boolean(), nullable=False),
        sa.Column("blocked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email_key", name=op.f("uq_users_email_key")),
        sa.UniqueConstraint("username_key", name=op.f("uq_users_username_key")),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_tokens_digest")),
    )
    with op.batch_alter_table("api_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "competitions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("visibility", sa.String(length=32), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("logo_digest", sa.String(length=64), nullable=True),
        sa.Column("logo_media_type", sa.String(length=64), nullable=False),
        sa.Column("contact_email", sa.String(length=320), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("terms_version", sa.Integer(), nullable=False),
        sa.Column("registration", sa.String(length=32), nullable=False),
        sa.Column("email_domains", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("team_size", sa.Integer(), nullable=False),
        sa.Column("discussion_open", sa.Boolean(), nullable=False),
        sa.Column("fact_sheet", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("fact_sheet_from", sa.String(length=32), nullable=False),
        sa.Column("fact_sheet_by", sa.DateTime(timezone=True), nullable=True),
        sa.Column("prizes", sa.Text(), nullable=False),
        sa.Column("retention", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("code_published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_competitions_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competitions")),
        sa.UniqueConstraint("slug", name=op.f("uq_competitions_slug")),
    )
    op.create_table(
        "emails",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("to", sa.String(length=320), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("said_late", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("digest_of", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["digest_of"], ["users.id"], name=op.f("fk_emails_digest_of")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_emails")),
    )
    with op.batch_alter_table("emails", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_emails_digest_of"), ["digest_of"], unique=False)
        batch_op.create_index("ix_emails_due", ["ended_at", "next_at"], unique=False)

    op.create_table(
        "login_sessions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_agent", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_login_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_login_sessions_digest")),
    )
    with op.batch_alter_table("login_sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_sessions_user_id"), ["user_id"], unique=False)

    op.create_table(
        "notification_choices",
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("page", sa.Boolean(), nullable=False),
        sa.Column("email", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notification_choices_user_id")),
        sa.PrimaryKeyConstraint("user_id", "kind", name=op.f("pk_notification_choices")),
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("url", sa.String(length=500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notifications_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.create_index("ix_notifications_user_id_created_at", ["user_id", "created_at"], unique=False)

    op.create_table(
        "oauth_identities",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oauth_identities_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oauth_identities")),
        sa.UniqueConstraint("provider", "subject", name=op.f("uq_oauth_identities_provider_subject")),
    )
    with op.batch_alter_table("oauth_identities", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_oauth_identities_user_id"), ["user_id"], unique=False)

    op.create_table(
        "one_time_tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("purpose", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=320), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_one_time_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_one_time_tokens_digest")),
    )
    with op.batch_alter_table("one_time_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_one_time_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "packs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("domain", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("images", sa.Integer(), nullable=False),
        sa.Column("classes", sa.Integer(), nullable=False),
        sa.Column("fingerprints", sa.String(length=64), nullable=True),
        sa.Column("details", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_packs_digest")),
        sa.ForeignKeyConstraint(["fingerprints"], ["blobs.digest"], name=op.f("fk_packs_fingerprints")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_packs")),
        sa.UniqueConstraint("digest", name=op.f("uq_packs_digest")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recovery_codes_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
        sa.UniqueConstraint("digest", name=op.f("uq_recovery_codes_digest")),
    )
    with op.batch_alter_table("recovery_codes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_recovery_codes_user_id"), ["user_id"], unique=False)

    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("filename", sa.String(length=200), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("purpose", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("passed_as", sa.String(length=64), nullable=True),
        sa.Column("checks", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_uploads_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    with op.batch_alter_table("uploads", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_uploads_user_id"), ["user_id"], unique=False)

    op.create_table(
        "used_tickets",
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("mark", name=op.f("pk_used_tickets")),
    )

    op.create_table(
        "announcements",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_announcements_competition_id")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_announcements_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcements")),
    )
    with op.batch_alter_table("announcements", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_announcements_competition_id"), ["competition_id"], unique=False)

    op.create_table(
        "audit_entries",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.String(length=32), nullable=True),
        sa.Column("competition_id", sa.String(length=32), nullable=True),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("object_type", sa.String(length=32), nullable=False),
        sa.Column("object_id", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("after", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["actor_id"], ["users.id"], name=op.f("fk_audit_entries_actor_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_audit_entries_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    with op.batch_alter_table("audit_entries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_entries_actor_id"), ["actor_id"], unique=False)
        batch_op.create_index("ix_audit_entries_competition_id_at", ["competition_id", "at"], unique=False)
        batch_op.create_index(
            "ix_audit_entries_object_type_object_id", ["object_type", "object_id"], unique=False
        )

    op.create_table(
        "baselines",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("builtin", sa.String(length=64), nullable=True),
        sa.Column("settings", sa.String(length=64), nullable=False),
        sa.Column("weights", sa.String(length=128), nullable=False),
        sa.Column("leagues", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_baselines_competition_id")
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_baselines_digest")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baselines")),
        sa.UniqueConstraint("competition_id", "slug", name=op.f("uq_baselines_competition_id_slug")),
    )
    with op.batch_alter_table("baselines", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_baselines_digest"), ["digest"], unique=False)

    op.create_table(
        "competition_files",
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_competition_files_competition_id")
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_competition_files_digest")),
        sa.PrimaryKeyConstraint("competition_id", "name", name=op.f("pk_competition_files")),
    )
    with op.batch_alter_table("competition_files", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_competition_files_digest"), ["digest"], unique=False)

    op.create_table(
        "competition_pages",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_competition_pages_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competition_pages")),
        sa.UniqueConstraint("competition_id", "slug", name=op.f("uq_competition_pages_competition_id_slug")),
    )
    op.create_table(
        "leagues",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("prizes", sa.Text(), nullable=False),
        sa.Column("awards", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("award_split", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("admission", sa.String(length=32), nullable=False),
        sa.Column("every_member_qualifies", sa.Boolean(), nullable=False),
        sa.Column("questions", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("closed_to_newcomers", sa.Boolean(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quota_day", sa.Integer(), nullable=True),
        sa.Column("quota_phase", sa.Integer(), nullable=True),
        sa.Column("columns", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_leagues_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leagues")),
        sa.UniqueConstraint("competition_id", "slug", name=op.f("uq_leagues_competition_id_slug")),
    )
    op.create_table(
        "notification_mutes",
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_notification_mutes_competition_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notification_mutes_user_id")),
        sa.PrimaryKeyConstraint("user_id", "competition_id", name=op.f("pk_notification_mutes")),
    )
    op.create_table(
        "pack_keepers",
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pack_id"], ["packs.id"], name=op.f("fk_pack_keepers_pack_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_pack_keepers_user_id")),
        sa.PrimaryKeyConstraint("pack_id", "user_id", name=op.f("pk_pack_keepers")),
    )
    op.create_table(
        "pools",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=True),
        sa.Column("combines", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("publish_when_over", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_pools_competition_id")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_pools_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
        sa.UniqueConstraint("slug", name=op.f("uq_pools_slug")),
    )
    with op.batch_alter_table("pools", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pools_competition_id"), ["competition_id"], unique=False)

    op.create_table(
        "rehearsals",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("copy_id", sa.String(length=32), nullable=False),
        sa.Column("actor_id", sa.String(length=32), nullable=False),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("teams", sa.Integer(), nullable=False),
        sa.Column("story", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["actor_id"], ["users.id"], name=op.f("fk_rehearsals_actor_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_rehearsals_competition_id")
        ),
        sa.ForeignKeyConstraint(["copy_id"], ["competitions.id"], name=op.f("fk_rehearsals_copy_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rehearsals")),
    )
    with op.batch_alter_table("rehearsals", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rehearsals_competition_id"), ["competition_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_rehearsals_copy_id"), ["copy_id"], unique=False)

    op.create_table(
        "teams",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.String(length=64), nullable=False),
        sa.Column("captain_id", sa.String(length=32), nullable=True),
        sa.Column("out_of_ranking", sa.Boolean(), nullable=False),
        sa.Column("extra_quota_day", sa.Integer(), nullable=False),
        sa.Column("extra_quota_phase", sa.Integer(), nullable=False),
        sa.Column("code_hidden_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["captain_id"], ["users.id"], name=op.f("fk_teams_captain_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_teams_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("competition_id", "name_key", name=op.f("uq_teams_competition_id_name_key")),
    )
    op.create_table(
        "threads",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("author_id", sa.String(length=32), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_post_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["author_id"], ["users.id"], name=op.f("fk_threads_author_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_threads_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_threads")),
    )
    with op.batch_alter_table("threads", schema=None) as batch_op:
        batch_op.create_index(
            "ix_threads_competition_id_last_post_at", ["competition_id", "last_post_at"], unique=False
        )

    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=True),
        sa.Column("url", sa.String(length=2000), nullable=False),
        sa.Column("events", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("secret_version", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_webhooks_competition_id")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_webhooks_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    with op.batch_alter_table("webhooks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_webhooks_competition_id"), ["competition_id"], unique=False)

    op.create_table(
        "worker_tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("hardware_class", sa.String(length=64), nullable=True),
        sa.Column("competition_id", sa.String(length=32), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_worker_tokens_competition_id")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_worker_tokens_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_worker_tokens_digest")),
    )
    op.create_table(
        "fact_sheets",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("answers", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("history", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("handed_in_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("updated_by", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_fact_sheets_team_id")),
        sa.ForeignKeyConstraint(["updated_by"], ["users.id"], name=op.f("fk_fact_sheets_updated_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact_sheets")),
        sa.UniqueConstraint("team_id", name=op.f("uq_fact_sheets_team_id")),
    )
    op.create_table(
        "memberships",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=True),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("terms_version", sa.Integer(), nullable=True),
        sa.Column("terms_accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_memberships_competition_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memberships_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memberships")),
        sa.UniqueConstraint("competition_id", "user_id", name=op.f("uq_memberships_competition_id_user_id")),
    )
    with op.batch_alter_table("memberships", schema=None) as batch_op:
        batch_op.create_index(
            "ix_memberships_competition_id_role_status", ["competition_id", "role", "status"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_memberships_team_id"), ["team_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_memberships_user_id"), ["user_id"], unique=False)

    op.create_table(
        "pool_versions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("pool_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_pool_versions_created_by")),
        sa.ForeignKeyConstraint(["pool_id"], ["pools.id"], name=op.f("fk_pool_versions_pool_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool_versions")),
        sa.UniqueConstraint("pool_id", "number", name=op.f("uq_pool_versions_pool_id_number")),
    )
    op.create_table(
        "posts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("thread_id", sa.String(length=32), nullable=False),
        sa.Column("author_id", sa.String(length=32), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["author_id"], ["users.id"], name=op.f("fk_posts_author_id")),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name=op.f("fk_posts_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_posts")),
    )
    with op.batch_alter_table("posts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_posts_thread_id"), ["thread_id"], unique=False)

    op.create_table(
        "team_invitations",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_invitations_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_team_invitations_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_invitations")),
        sa.UniqueConstraint("team_id", "user_id", name=op.f("uq_team_invitations_team_id_user_id")),
    )
    with op.batch_alter_table("team_invitations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_team_invitations_user_id"), ["user_id"], unique=False)

    op.create_table(
        "team_verdicts",
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("people", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["decided_by"], ["users.id"], name=op.f("fk_team_verdicts_decided_by")),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_team_verdicts_league_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_verdicts_team_id")),
        sa.PrimaryKeyConstraint("league_id", "team_id", name=op.f("pk_team_verdicts")),
    )
    with op.batch_alter_table("team_verdicts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_team_verdicts_team_id"), ["team_id"], unique=False)

    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("webhook_id", sa.String(length=32), nullable=False),
        sa.Column("event", sa.String(length=64), nullable=False),
        sa.Column("payload", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("delivered", sa.Boolean(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_webhook_deliveries_webhook_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    with op.batch_alter_table("webhook_deliveries", schema=None) as batch_op:
        batch_op.create_index("ix_webhook_deliveries_due", ["ended_at", "next_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_webhook_deliveries_webhook_id"), ["webhook_id"], unique=False)

    op.create_table(
        "worker_requests",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("device_digest", sa.String(length=64), nullable=False),
        sa.Column("user_code", sa.String(length=8), nullable=False),
        sa.Column("info", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("token_id", sa.String(length=32), nullable=True),
        sa.Column("collected_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["token_id"], ["worker_tokens.id"], name=op.f("fk_worker_requests_token_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_requests")),
        sa.UniqueConstraint("device_digest", name=op.f("uq_worker_requests_device_digest")),
        sa.UniqueConstraint("user_code", name=op.f("uq_worker_requests_user_code")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("token_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("hardware_class", sa.String(length=32), nullable=False),
        sa.Column("info", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("draining", sa.Boolean(), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["token_id"], ["worker_tokens.id"], name=op.f("fk_workers_token_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
        sa.UniqueConstraint("token_id", "name", name=op.f("uq_workers_token_id_name")),
    )
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_workers_last_seen_at"), ["last_seen_at"], unique=False)

    op.create_table(
        "league_answers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("membership_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("answers", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_league_answers_league_id")),
        sa.ForeignKeyConstraint(
            ["membership_id"], ["memberships.id"], name=op.f("fk_league_answers_membership_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_league_answers_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_league_answers")),
        sa.UniqueConstraint(
            "league_id",
            "membership_id",
            "team_id",
            name=op.f("uq_league_answers_league_id_membership_id_team_id"),
        ),
    )
    with op.batch_alter_table("league_answers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_league_answers_membership_id"), ["membership_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_league_answers_team_id"), ["team_id"], unique=False)

    op.create_table(
        "phases",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("grace_seconds", sa.Float(), nullable=False),
        sa.Column("late_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("show_late", sa.Boolean(), nullable=False),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepts_uploads", sa.Boolean(), nullable=False),
        sa.Column("live_version", sa.Integer(), nullable=False),
        sa.Column("quota_day", sa.Integer(), nullable=True),
        sa.Column("quota_phase", sa.Integer(), nullable=True),
        sa.Column("quota_concurrent", sa.Integer(), nullable=True),
        sa.Column("cancelled_counts", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("board_shows", sa.String(length=32), nullable=False),
        sa.Column("ladder_step", sa.Double(), nullable=False),
        sa.Column("team_chooses", sa.Boolean(), nullable=False),
        sa.Column("board_audience", sa.String(length=32), nullable=False),
        sa.Column("scores_visible", sa.Boolean(), nullable=False),
        sa.Column("tasks_visible", sa.Boolean(), nullable=False),
        sa.Column("log_policy", sa.String(length=32), nullable=False),
        sa.Column("hide_dataset_names", sa.Boolean(), nullable=False),
        sa.Column("show_confusion", sa.Boolean(), nullable=False),
        sa.Column("evaluations", sa.Text(), nullable=False),
        sa.Column("evaluations_visible", sa.Boolean(), nullable=False),
        sa.Column("frozen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exports_visible", sa.Boolean(), nullable=False),
        sa.Column("needs_publishing", sa.Boolean(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("key_published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("smoke_pool_version_id", sa.String(length=32), nullable=True),
        sa.Column("smoke_tasks", sa.Integer(), nullable=False),
        sa.Column("smoke_seconds", sa.Double(), nullable=False),
        sa.Column("smoke_quota_day", sa.Integer(), nullable=True),
        sa.Column("gate_phase_id", sa.String(length=32), nullable=True),
        sa.Column("launched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_phases_competition_id")
        ),
        sa.ForeignKeyConstraint(["gate_phase_id"], ["phases.id"], name=op.f("fk_phases_gate_phase_id")),
        sa.ForeignKeyConstraint(
            ["smoke_pool_version_id"], ["pool_versions.id"], name=op.f("fk_phases_smoke_pool_version_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phases")),
        sa.UniqueConstraint("competition_id", "slug", name=op.f("uq_phases_competition_id_slug")),
    )
    op.create_table(
        "pool_packs",
        sa.Column("pool_version_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pack_id"], ["packs.id"], name=op.f("fk_pool_packs_pack_id")),
        sa.ForeignKeyConstraint(
            ["pool_version_id"], ["pool_versions.id"], name=op.f("fk_pool_packs_pool_version_id")
        ),
        sa.PrimaryKeyConstraint("pool_version_id", "position", name=op.f("pk_pool_packs")),
    )
    with op.batch_alter_table("pool_packs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pool_packs_pack_id"), ["pack_id"], unique=False)

    op.create_table(
        "post_edits",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("post_id", sa.String(length=32), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["post_id"], ["posts.id"], name=op.f("fk_post_edits_post_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_post_edits")),
    )
    with op.batch_alter_table("post_edits", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_post_edits_post_id"), ["post_id"], unique=False)

    op.create_table(
        "evaluation_pools",
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("pool_version_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_evaluation_pools_phase_id")),
        sa.ForeignKeyConstraint(
            ["pool_version_id"], ["pool_versions.id"], name=op.f("fk_evaluation_pools_pool_version_id")
        ),
        sa.PrimaryKeyConstraint("phase_id", "pool_version_id", name=op.f("pk_evaluation_pools")),
    )
    op.create_table(
        "phase_extensions",
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_phase_extensions_phase_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_phase_extensions_team_id")),
        sa.PrimaryKeyConstraint("phase_id", "team_id", name=op.f("pk_phase_extensions")),
    )
    op.create_table(
        "gates",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_gates_league_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_gates_phase_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gates")),
        sa.UniqueConstraint("phase_id", "league_id", name=op.f("uq_gates_phase_id_league_id")),
    )
    op.create_table(
        "phase_notices",
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("date", sa.String(length=32), nullable=False),
        sa.Column("moment", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_phase_notices_phase_id")),
        sa.PrimaryKeyConstraint("phase_id", "date", name=op.f("pk_phase_notices")),
    )
    op.create_table(
        "phase_versions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("rescore_mode", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("meta_train_pool_version_id", sa.String(length=32), nullable=True),
        sa.Column("meta_test_pool_version_id", sa.String(length=32), nullable=True),
        sa.Column("protocol", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("train_protocol", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column(
            "validation_protocol", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False
        ),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("train_seeds", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("root", sa.String(length=64), nullable=False),
        sa.Column("test_seeds", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("same_test_tasks", sa.Boolean(), nullable=False),
        sa.Column("ranking_rule", sa.String(length=64), nullable=False),
        sa.Column("run_seconds", sa.Double(), nullable=False),
        sa.Column("meta_train_seconds", sa.Double(), nullable=True),
        sa.Column("task_seconds", sa.Double(), nullable=True),
        sa.Column("hardware_class", sa.String(length=32), nullable=False),
        sa.Column("packages", sa.Text(), nullable=False),
        sa.Column("image", sa.String(length=64), nullable=True),
        sa.Column("image_digest", sa.String(length=71), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("cpus", sa.Double(), nullable=False),
        sa.Column("processes", sa.Integer(), nullable=False),
        sa.Column("scratch_bytes", sa.BigInteger(), nullable=False),
        sa.Column("output_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("isolated_tasks", sa.Boolean(), nullable=False),
        sa.Column("keep_learner", sa.Boolean(), nullable=False),
        sa.Column("snapshots", sa.Integer(), nullable=False),
        sa.Column("features", sa.Boolean(), nullable=False),
        sa.Column("estimates", sa.Boolean(), nullable=False),
        sa.Column("probabilities", sa.Boolean(), nullable=False),
        sa.Column("shards", sa.Integer(), nullable=False),
        sa.Column("each_dataset", sa.Boolean(), nullable=False),
        sa.Column("budget_each_dataset", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("live_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_phase_versions_created_by")),
        sa.ForeignKeyConstraint(
            ["meta_test_pool_version_id"],
            ["pool_versions.id"],
            name=op.f("fk_phase_versions_meta_test_pool_version_id"),
        ),
        sa.ForeignKeyConstraint(
            ["meta_train_pool_version_id"],
            ["pool_versions.id"],
            name=op.f("fk_phase_versions_meta_train_pool_version_id"),
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_phase_versions_phase_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phase_versions")),
        sa.UniqueConstraint("phase_id", "number", name=op.f("uq_phase_versions_phase_id_number")),
    )
    op.create_table(
        "published_results",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("leagues", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_published_results_phase_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published_results")),
        sa.UniqueConstraint("phase_id", "number", name=op.f("uq_published_results_phase_id_number")),
    )
    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("filename", sa.String(length=200), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("noted_by", sa.String(length=32), nullable=True),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("checks", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("people", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("gate_of", sa.String(length=64), nullable=True),
        sa.Column("origin_id", sa.String(length=32), nullable=True),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("verdict", sa.String(length=32), nullable=True),
        sa.Column("cause", sa.String(length=32), nullable=True),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("half_width", sa.Double(), nullable=True),
        sa.Column("quarantined", sa.Boolean(), nullable=False),
        sa.Column("quota_day", sa.Date(), nullable=False),
        sa.Column("counts_quota", sa.Boolean(), nullable=False),
        sa.Column("quota_reason", sa.String(length=200), nullable=False),
        sa.Column("quota_decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disqualified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disqualified_reason", sa.Text(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("code_published_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_submissions_competition_id")
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_submissions_digest")),
        sa.ForeignKeyConstraint(["noted_by"], ["users.id"], name=op.f("fk_submissions_noted_by")),
        sa.ForeignKeyConstraint(["origin_id"], ["submissions.id"], name=op.f("fk_submissions_origin_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_submissions_phase_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_submissions_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_submissions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
    )
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_submissions_competition_id_created_at", ["competition_id", "created_at"], unique=False
        )
        batch_op.create_index(
            "ix_submissions_competition_id_finished_at", ["competition_id", "finished_at", "id"], unique=False
        )
        batch_op.create_index(
            "ix_submissions_competition_id_score", ["competition_id", "score", "id"], unique=False
        )
        batch_op.create_index(
            "ix_submissions_competition_id_size", ["competition_id", "size", "id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_submissions_digest"), ["digest"], unique=False)
        batch_op.create_index(batch_op.f("ix_submissions_origin_id"), ["origin_id"], unique=False)
        batch_op.create_index("ix_submissions_phase_id_created_at", ["phase_id", "created_at"], unique=False)
        batch_op.create_index("ix_submissions_phase_id_status", ["phase_id", "status"], unique=False)
        batch_op.create_index(
            "ix_submissions_team_id_phase_id_created_at", ["team_id", "phase_id", "created_at"], unique=False
        )
        batch_op.create_index("ix_submissions_user_id_created_at", ["user_id", "created_at"], unique=False)

    op.create_table(
        "winner_checks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["decided_by"], ["users.id"], name=op.f("fk_winner_checks_decided_by")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_winner_checks_phase_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_winner_checks_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_winner_checks")),
        sa.UniqueConstraint("phase_id", "user_id", name=op.f("uq_winner_checks_phase_id_user_id")),
    )
    with op.batch_alter_table("winner_checks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_winner_checks_user_id"), ["user_id"], unique=False)

    op.create_table(
        "board_changes",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_board_changes_league_id")),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_board_changes_phase_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_board_changes_submission_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_board_changes_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_board_changes")),
    )
    with op.batch_alter_table("board_changes", schema=None) as batch_op:
        batch_op.create_index("ix_board_changes_at", ["phase_version_id", "league_id", "at"], unique=False)

    op.create_table(
        "entries",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("choice", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by_hand_id", sa.String(length=32), nullable=True),
        sa.Column("by_hand_of", sa.String(length=32), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by_hand_id"], ["submissions.id"], name=op.f("fk_entries_by_hand_id")),
        sa.ForeignKeyConstraint(["by_hand_of"], ["users.id"], name=op.f("fk_entries_by_hand_of")),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_entries_league_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_entries_phase_id")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_entries_submission_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_entries_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint(
            "phase_id", "league_id", "team_id", name=op.f("uq_entries_phase_id_league_id_team_id")
        ),
    )
    with op.batch_alter_table("entries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_entries_league_id"), ["league_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_entries_submission_id"), ["submission_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_entries_team_id"), ["team_id"], unique=False)

    op.create_table(
        "league_entries",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("evidence", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["decided_by"], ["users.id"], name=op.f("fk_league_entries_decided_by")),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_league_entries_league_id")),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_league_entries_submission_id")
        ),
        sa.PrimaryKeyConstraint("submission_id", "league_id", name=op.f("pk_league_entries")),
    )
    with op.batch_alter_table("league_entries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_league_entries_league_id"), ["league_id"], unique=False)

    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=True),
        sa.Column("team_id", sa.String(length=32), nullable=True),
        sa.Column("requested_by", sa.String(length=32), nullable=True),
        sa.Column("parameters", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("seed_index", sa.Integer(), nullable=False),
        sa.Column("shard_index", sa.Integer(), nullable=True),
        sa.Column("shard_count", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("source_run_id", sa.String(length=32), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("bulk", sa.Boolean(), nullable=False),
        sa.Column("hardware_class", sa.String(length=32), nullable=False),
        sa.Column("image", sa.String(length=64), nullable=True),
        sa.Column("image_digest", sa.String(length=71), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expected_start", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("rung_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker_id", sa.String(length=32), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancelled_by", sa.String(length=32), nullable=True),
        sa.Column("infrastructure_failures", sa.Integer(), nullable=False),
        sa.Column("unclear_failures", sa.Integer(), nullable=False),
        sa.Column("workers_lost", sa.Integer(), nullable=False),
        sa.Column("quarantined", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stage_times", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tasks_done", sa.Integer(), nullable=False),
        sa.Column("tasks_total", sa.Integer(), nullable=False),
        sa.Column("seconds_used", sa.Double(), nullable=False),
        sa.Column("progress_message", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=32), nullable=True),
        sa.Column("cause", sa.String(length=32), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("private", sa.Text(), nullable=False),
        sa.Column("before_training", sa.Boolean(), nullable=False),
        sa.Column("task_index", sa.Integer(), nullable=True),
        sa.Column("task_ways", sa.Integer(), nullable=True),
        sa.Column("task_shots", sa.Integer(), nullable=True),
        sa.Column("usage", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("provenance", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("evidence", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["cancelled_by"], ["users.id"], name=op.f("fk_runs_cancelled_by")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_runs_competition_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_runs_phase_id")),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_runs_phase_version_id")
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["users.id"], name=op.f("fk_runs_requested_by")),
        sa.ForeignKeyConstraint(["source_run_id"], ["runs.id"], name=op.f("fk_runs_source_run_id")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_runs_submission_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_runs_team_id")),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name=op.f("fk_runs_worker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_runs_claim", ["hardware_class", "state", "priority", "queued_at"], unique=False
        )
        batch_op.create_index(
            "ix_runs_competition_id_claimed_at", ["competition_id", "claimed_at"], unique=False
        )
        batch_op.create_index("ix_runs_finished_at", ["finished_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_runs_phase_version_id"), ["phase_version_id"], unique=False)
        batch_op.create_index("ix_runs_state_lease", ["state", "lease_expires_at"], unique=False)
        batch_op.create_index(
            "ix_runs_submission_id_phase_version_id", ["submission_id", "phase_version_id"], unique=False
        )
        batch_op.create_index("ix_runs_team_id_state", ["team_id", "state"], unique=False)
        batch_op.create_index(
            "ix_runs_turn",
            ["hardware_class", "state", "competition_id", "priority", "queued_at"],
            unique=False,
        )
        batch_op.create_index("ix_runs_verdict", ["verdict"], unique=False)
        batch_op.create_index(batch_op.f("ix_runs_worker_id"), ["worker_id"], unique=False)

    op.create_table(
        "submission_scores",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("half_width", sa.Double(), nullable=True),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("by_dataset", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_submission_scores_phase_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_submission_scores_submission_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_submission_scores_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission_scores")),
    )
    with op.batch_alter_table("submission_scores", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_submission_scores_submission_id"), ["submission_id"], unique=False
        )
        batch_op.create_index(
            "ix_submission_scores_team", ["phase_version_id", "team_id", "submitted_at"], unique=False
        )
        batch_op.create_index("ix_submission_scores_value", ["phase_version_id", "value"], unique=False)

    op.create_table(
        "submission_tags",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("tag", sa.String(length=30), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_submission_tags_submission_id")
        ),
        sa.PrimaryKeyConstraint("submission_id", "tag", name=op.f("pk_submission_tags")),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("expired_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_artifacts_digest")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_artifacts_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("run_id", "epoch", "name", name=op.f("uq_artifacts_run_id_epoch_name")),
    )
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_artifacts_digest"), ["digest"], unique=False)

    op.create_table(
        "checkpoints",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("stop", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_checkpoints_digest")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_checkpoints_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
        sa.UniqueConstraint("run_id", "epoch", "name", name=op.f("uq_checkpoints_run_id_epoch_name")),
    )
    with op.batch_alter_table("checkpoints", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_checkpoints_digest"), ["digest"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.String(length=32), nullable=False),
        sa.Column("worker_name", sa.String(length=200), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("private", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_attempts_run_id")),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name=op.f("fk_attempts_worker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("run_id", "epoch", name=op.f("uq_attempts_run_id_epoch")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index("ix_attempts_outcome", ["outcome"], unique=False)
        batch_op.create_index(batch_op.f("ix_attempts_worker_id"), ["worker_id"], unique=False)

    op.create_table(
        "board_rows",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=False),
        sa.Column("row_key", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("submission_score_id", sa.String(length=32), nullable=False),
        sa.Column("ranked", sa.Boolean(), nullable=False),
        sa.Column("sort_value", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("half_width", sa.Double(), nullable=True),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("by_dataset", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_board_rows_league_id")),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_board_rows_phase_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_board_rows_submission_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_score_id"], ["submission_scores.id"], name=op.f("fk_board_rows_submission_score_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_board_rows_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_board_rows")),
        sa.UniqueConstraint(
            "phase_version_id",
            "league_id",
            "row_key",
            name=op.f("uq_board_rows_phase_version_id_league_id_row_key"),
        ),
    )
    with op.batch_alter_table("board_rows", schema=None) as batch_op:
        batch_op.create_index(
            "ix_board_rows_order",
            ["phase_version_id", "league_id", "ranked", "sort_value", "submitted_at"],
            unique=False,
        )
        batch_op.create_index(batch_op.f("ix_board_rows_submission_id"), ["submission_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_board_rows_team_id"), ["team_id"], unique=False)

    op.create_table(
        "entry_changes",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("entry_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("replaced_id", sa.String(length=32), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("choice", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_entry_changes_entry_id")),
        sa.ForeignKeyConstraint(
            ["replaced_id"], ["submissions.id"], name=op.f("fk_entry_changes_replaced_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_entry_changes_submission_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry_changes")),
    )
    with op.batch_alter_table("entry_changes", schema=None) as batch_op:
        batch_op.create_index("ix_entry_changes_entry_id_at", ["entry_id", "at"], unique=False)
        batch_op.create_index(batch_op.f("ix_entry_changes_submission_id"), ["submission_id"], unique=False)

    op.create_table(
        "event_counts",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_event_counts_run_id")),
        sa.PrimaryKeyConstraint("run_id", "epoch", name=op.f("pk_event_counts")),
    )
    op.create_table(
        "further_tests",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("evaluation", sa.String(length=40), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("seed_index", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("protocol", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("pool_version_id", sa.String(length=32), nullable=False),
        sa.Column("domain", sa.String(length=200), nullable=True),
        sa.Column("summary", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scored_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_further_tests_phase_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["pool_version_id"], ["pool_versions.id"], name=op.f("fk_further_tests_pool_version_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_further_tests_run_id")),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_further_tests_submission_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_further_tests")),
    )
    with op.batch_alter_table("further_tests", schema=None) as batch_op:
        batch_op.create_index(
            "ix_further_tests_place",
            ["phase_version_id", "submission_id", "digest", "seed_index"],
            unique=False,
        )
        batch_op.create_index(batch_op.f("ix_further_tests_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_further_tests_submission_id"), ["submission_id"], unique=False)

    op.create_table(
        "outbox_rings",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("hardware_class", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_outbox_rings_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_rings")),
    )
    with op.batch_alter_table("outbox_rings", schema=None) as batch_op:
        batch_op.create_index("ix_outbox_rings_due", ["sent_at", "due_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_outbox_rings_run_id"), ["run_id"], unique=False)

    op.create_table(
        "reports",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("competition_id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("league_id", sa.String(length=32), nullable=True),
        sa.Column("analysis", sa.String(length=32), nullable=False),
        sa.Column("parameters", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("results", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("answer", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("requested_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_reports_competition_id")
        ),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name=op.f("fk_reports_league_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_reports_phase_id")),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_reports_phase_version_id")
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["users.id"], name=op.f("fk_reports_requested_by")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_reports_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
        sa.UniqueConstraint("run_id", name=op.f("uq_reports_run_id")),
    )
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.create_index(
            "ix_reports_competition_id_created_at", ["competition_id", "created_at"], unique=False
        )
        batch_op.create_index("ix_reports_digest", ["digest"], unique=False)

    op.create_table(
        "run_events",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stream", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_events_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_events")),
        sa.UniqueConstraint("run_id", "epoch", "seq", name=op.f("uq_run_events_run_id_epoch_seq")),
    )
    with op.batch_alter_table("run_events", schema=None) as batch_op:
        batch_op.create_index("ix_run_events_run_id_id", ["run_id", "id"], unique=False)

    op.create_table(
        "run_measures",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("series", sa.String(length=32), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("width", sa.Double(), nullable=False),
        sa.Column("cpu_cores", sa.Double(), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("gpu_share", sa.Double(), nullable=True),
        sa.Column("gpu_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("loss", sa.Double(), nullable=True),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("normalized_accuracy", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_measures_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_measures")),
        sa.UniqueConstraint("run_id", "epoch", "seq", name=op.f("uq_run_measures_run_id_epoch_seq")),
    )
    with op.batch_alter_table("run_measures", schema=None) as batch_op:
        batch_op.create_index("ix_run_measures_run_id_id", ["run_id", "id"], unique=False)

    op.create_table(
        "run_scores",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=True),
        sa.Column("phase_version_id", sa.String(length=32), nullable=False),
        sa.Column("seed_index", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("half_width", sa.Double(), nullable=True),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("summary", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_version_id"], ["phase_versions.id"], name=op.f("fk_run_scores_phase_version_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_scores_run_id")),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_run_scores_submission_id")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_scores")),
    )
    with op.batch_alter_table("run_scores", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_run_scores_phase_version_id"), ["phase_version_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_run_scores_submission_id"), ["submission_id"], unique=False)

    op.create_table(
        "run_receipts",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("signed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_receipts_run_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_receipts")),
    )
    op.create_table(
        "site_keys",
        sa.Column("purpose", sa.String(length=32), nullable=False),
        sa.Column("private_key", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("purpose", name=op.f("pk_site_keys")),
    )

    keep_audit_log_append_only()
