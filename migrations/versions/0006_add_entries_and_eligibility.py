"""Add entries with their history, leagues' questions, and the members' answers

Every row that a team has on a live board becomes its entry.

Revision: 0006, after 0005
"""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    _add_columns()
    _add_tables()
    op.drop_table("league_qualifications")  # no line of the first release ever wrote it
    _fill_entries()


def _add_columns() -> None:
    with op.batch_alter_table("phases") as batch:
        batch.add_column(sa.Column("team_chooses", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("leagues") as batch:
        batch.add_column(sa.Column("questions", Json, nullable=False, server_default="[]"))
        batch.add_column(
            sa.Column("closed_to_newcomers", sa.Boolean(), nullable=False, server_default=sa.false())
        )
        batch.add_column(sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True))
        batch.add_column(sa.Column("quota_day", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("quota_phase", sa.Integer(), nullable=True))


def _reference(table: str, column: str) -> sa.ForeignKeyConstraint:
    target = {
        "phase_id": "phases",
        "league_id": "leagues",
        "team_id": "teams",
        "submission_id": "submissions",
        "replaced_id": "submissions",
        "by_hand_id": "submissions",
        "by_hand_of": "users",
        "decided_by": "users",
        "entry_id": "entries",
        "membership_id": "memberships",
    }[column]
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=op.f(f"fk_{table}_{column}"))


def _id(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(32), nullable=nullable)


def _add_tables() -> None:
    op.create_table(
        "entries",
        *(_id(name) for name in ("id", "phase_id", "league_id", "team_id", "submission_id")),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("choice", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        _id("by_hand_id", nullable=True),
        _id("by_hand_of", nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        *(
            _reference("entries", name)
            for name in ("phase_id", "league_id", "team_id", "submission_id", "by_hand_id", "by_hand_of")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint(
            "phase_id", "league_id", "team_id", name=op.f("uq_entries_phase_id_league_id_team_id")
        ),
    )
    for name in ("league_id", "team_id", "submission_id"):
        op.create_index(op.f(f"ix_entries_{name}"), "entries", [name])
    op.create_table(
        "entry_changes",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        _id("entry_id"),
        _id("submission_id"),
        _id("replaced_id", nullable=True),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("choice", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *(_reference("entry_changes", name) for name in ("entry_id", "submission_id", "replaced_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry_changes")),
    )
    op.create_index("ix_entry_changes_entry_id_at", "entry_changes", ["entry_id", "at"])
    op.create_index(op.f("ix_entry_changes_submission_id"), "entry_changes", ["submission_id"])
    op.create_table(
        "league_answers",
        *(_id(name) for name in ("id", "league_id", "membership_id", "team_id")),
        sa.Column("answers", Json, nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        *(_reference("league_answers", name) for name in ("league_id", "membership_id", "team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_league_answers")),
        sa.UniqueConstraint(
            "league_id", "membership_id", name=op.f("uq_league_answers_league_id_membership_id")
        ),
    )
    for name in ("membership_id", "team_id"):
        op.create_index(op.f(f"ix_league_answers_{name}"), "league_answers", [name])
    op.create_table(
        "team_verdicts",
        _id("league_id"),
        _id("team_id"),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        _id("decided_by", nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        *(_reference("team_verdicts", name) for name in ("league_id", "team_id", "decided_by")),
        sa.PrimaryKeyConstraint("league_id", "team_id", name=op.f("pk_team_verdicts")),
    )
    op.create_index(op.f("ix_team_verdicts_team_id"), "team_verdicts", ["team_id"])


def _fill_entries() -> None:
    """Rows of teams on live boards become entries; teams admitted by hand keep their place without answers."""
    connection = op.get_bind()
    rows = connection.execute(
        sa.text(
            "SELECT v.phase_id, b.league_id, b.team_id, b.submission_id, p.board_shows, b.updated_at "
            "FROM board_rows b JOIN phase_versions v ON v.id = b.phase_version_id "
            "JOIN phases p ON p.id = v.phase_id "
            "WHERE v.number = p.live_version AND b.row_key = b.team_id"
        ).columns(updated_at=sa.DateTime(timezone=True))
    ).all()
    entry = sa.table(
        "entries",
        *(
            sa.column(name)
            for name in (
                "id",
                "phase_id",
                "league_id",
                "team_id",
                "submission_id",
                "state",
                "choice",
                "reason",
            )
        ),
        sa.column("updated_at", sa.DateTime(timezone=True)),
    )
    change = sa.table(
        "entry_changes",
        *(sa.column(name) for name in ("entry_id", "submission_id", "state", "choice", "reason")),
        sa.column("at", sa.DateTime(timezone=True)),
    )
    for phase, league, team, submission, shows, moment in rows:
        key = f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
        what = {"submission_id": submission, "state": "standing", "choice": shows, "reason": ""}
        connection.execute(
            entry.insert().values(
                id=key, phase_id=phase, league_id=league, team_id=team, updated_at=moment, **what
            )
        )
        connection.execute(change.insert().values(entry_id=key, at=moment, **what))
    connection.execute(
        sa.text(
            "INSERT INTO team_verdicts (league_id, team_id, status, reason) "
            "SELECT DISTINCT e.league_id, s.team_id, 'admitted', '' FROM league_entries e "
            "JOIN submissions s ON s.id = e.submission_id JOIN leagues l ON l.id = e.league_id "
            "WHERE l.every_member_qualifies AND e.status = 'admitted'"
        )
    )


def downgrade() -> None:
    for table in ("team_verdicts", "league_answers", "entry_changes", "entries"):
        op.drop_table(table)
    op.create_table(
        "league_qualifications",
        *(_id(name) for name in ("id", "league_id", "membership_id")),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *(_reference("league_qualifications", name) for name in ("league_id", "membership_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_league_qualifications")),
        sa.UniqueConstraint(
            "league_id", "membership_id", name=op.f("uq_league_qualifications_league_id_membership_id")
        ),
    )
    op.create_index(
        op.f("ix_league_qualifications_membership_id"), "league_qualifications", ["membership_id"]
    )
    with op.batch_alter_table("leagues") as batch:
        for name in ("quota_phase", "quota_day", "opens_at", "closed_to_newcomers", "questions"):
            batch.drop_column(name)
    with op.batch_alter_table("phases") as batch:
        batch.drop_column("team_chooses")
