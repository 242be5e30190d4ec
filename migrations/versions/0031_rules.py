"""Rules with their events and firings

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rule_lease",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("driver", sa.String(length=60), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "event_cursor",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "event_source",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("sealed_secret", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("uq_event_source_owner_name", "event_source", ["owner_id", "name"], unique=True)

    op.create_table(
        "notification",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("rule_id", sa.String(length=36), nullable=True),
        sa.Column("firing_id", sa.String(length=36), nullable=True),
        sa.Column("level", sa.String(length=20), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("text", sa.String(length=5000), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_notification_owner", "notification", ["owner_id", "created_at"], unique=False)

    op.create_table(
        "rule",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("event_type", sa.String(length=200), nullable=False),
        sa.Column("source_id", sa.String(length=36), nullable=True),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("trigger_count", sa.Integer(), nullable=False),
        sa.Column("last_triggered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rule_due_at", "rule", ["due_at"], unique=False)
    op.create_index("ix_rule_trigger", "rule", ["owner_id", "event_type"], unique=False)
    op.create_index("uq_rule_owner_name", "rule", ["owner_id", "name"], unique=True)

    op.create_table(
        "accepted_event",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("source_kind", sa.String(length=20), nullable=False),
        sa.Column("source_id", sa.String(length=36), nullable=False),
        sa.Column("event_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=200), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("chain", sa.JSON(), nullable=False),
        sa.Column("is_decided", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_accepted_event_accepted_at", "accepted_event", ["accepted_at"], unique=False)
    op.create_index("ix_accepted_event_open", "accepted_event", ["is_decided", "seq"], unique=False)
    op.create_index("uq_accepted_event_id", "accepted_event", ["owner_id", "source_id", "event_id"], unique=True)

    op.create_table(
        "seen_event_type",
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("source_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("is_declared", sa.Boolean(), nullable=False),
        sa.Column("shape", sa.JSON(), nullable=False),
        sa.Column("example", sa.JSON(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id", "source_id", "type"),
    )
    op.create_table(
        "rule_firing",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("rule_id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("rule_version", sa.Integer(), nullable=False),
        sa.Column("event_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event", sa.JSON(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("conditions_met", sa.Boolean(), nullable=False),
        sa.Column("trace", sa.JSON(), nullable=False),
        sa.Column("actions_result", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("acting", sa.Integer(), nullable=False),
        sa.Column("driver", sa.String(length=60), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("execution_time", sa.Integer(), nullable=False),
        sa.Column("executed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["rule_id"], ["rule.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rule_firing_log", "rule_firing", ["rule_id", "executed_at"], unique=False)
    op.create_index("ix_rule_firing_open", "rule_firing", ["status", "event_seq"], unique=False)
    op.create_index("uq_rule_firing_event", "rule_firing", ["rule_id", "event_seq"], unique=True)

    op.create_table(
        "rule_key",
        sa.Column("rule_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("rests_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("previous", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["rule_id"], ["rule.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("rule_id", "key"),
    )
    op.create_table(
        "rule_version",
        sa.Column("rule_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["rule_id"], ["rule.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("rule_id", "version"),
    )


def downgrade() -> None:
    op.drop_table("rule_version")
    op.drop_table("rule_key")
    op.drop_index("uq_rule_firing_event", "rule_firing")
    op.drop_index("ix_rule_firing_open", "rule_firing")
    op.drop_index("ix_rule_firing_log", "rule_firing")

    op.drop_table("rule_firing")
    op.drop_table("seen_event_type")
    op.drop_index("uq_accepted_event_id", "accepted_event")
    op.drop_index("ix_accepted_event_open", "accepted_event")
    op.drop_index("ix_accepted_event_accepted_at", "accepted_event")

    op.drop_table("accepted_event")
    op.drop_index("uq_rule_owner_name", "rule")
    op.drop_index("ix_rule_trigger", "rule")
    op.drop_index("ix_rule_due_at", "rule")

    op.drop_table("rule")
    op.drop_index("ix_notification_owner", "notification")

    op.drop_table("notification")
    op.drop_index("uq_event_source_owner_name", "event_source")

    op.drop_table("event_source")
    op.drop_table("event_cursor")
    op.drop_table("rule_lease")
