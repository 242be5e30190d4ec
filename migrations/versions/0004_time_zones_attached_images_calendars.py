"""Time zones, attached images, calendars

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "calendar_feed",
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_table(
        "attachment",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=True),
        sa.Column("storage_key", sa.String(length=100), nullable=False),
        sa.Column("mime_type", sa.String(length=50), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["owner_id"],
            ["user.id"],
        ),
        sa.ForeignKeyConstraint(["session_id"], ["chat_session.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("storage_key"),
    )
    with op.batch_alter_table("attachment", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_attachment_created_at"), ["created_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_attachment_deleted_at"), ["deleted_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_attachment_owner_id"), ["owner_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_attachment_session_id"), ["session_id"], unique=False)

    op.create_table(
        "calendar_call",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("call_key", sa.String(length=64), nullable=False),
        sa.Column("event_id", sa.String(length=36), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["agent_run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "call_key"),
    )
    op.create_table(
        "calendar_event",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("all_day", sa.Boolean(), nullable=False),
        sa.Column("location", sa.String(length=500), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("source_run_id", sa.String(length=36), nullable=True),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"],
            ["user.id"],
        ),
        sa.ForeignKeyConstraint(["source_run_id"], ["agent_run.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("calendar_event", schema=None) as batch_op:
        batch_op.create_index("ix_calendar_event_owner_ends", ["owner_id", "ends_at"], unique=False)
        batch_op.create_index("ix_calendar_event_owner_starts", ["owner_id", "starts_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_calendar_event_source_run_id"), ["source_run_id"], unique=False)

    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.add_column(sa.Column("time_zone", sa.String(length=64), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.drop_column("time_zone")

    with op.batch_alter_table("calendar_event", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_calendar_event_source_run_id"))
        batch_op.drop_index("ix_calendar_event_owner_starts")
        batch_op.drop_index("ix_calendar_event_owner_ends")

    op.drop_table("calendar_event")
    op.drop_table("calendar_call")
    with op.batch_alter_table("attachment", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_attachment_session_id"))
        batch_op.drop_index(batch_op.f("ix_attachment_owner_id"))
        batch_op.drop_index(batch_op.f("ix_attachment_deleted_at"))
        batch_op.drop_index(batch_op.f("ix_attachment_created_at"))

    op.drop_table("attachment")
    op.drop_table("calendar_feed")
