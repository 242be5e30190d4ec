"""Audit log

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(length=50), nullable=False),
        sa.Column("actor_id", sa.String(length=36), nullable=True),
        sa.Column("actor_name", sa.String(length=200), nullable=False),
        sa.Column("object_type", sa.String(length=50), nullable=False),
        sa.Column("object_id", sa.String(length=200), nullable=False),
        sa.Column("object_name", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=100), nullable=False),
        sa.Column("request_id", sa.String(length=100), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_entry_created_at", "audit_entry", ["created_at"])
    op.create_index("ix_audit_entry_object_id", "audit_entry", ["object_id"])
    op.create_index("ix_audit_entry_actor", "audit_entry", ["actor_id", "created_at"])
    op.create_index("ix_audit_entry_action", "audit_entry", ["action", "created_at"])


def downgrade() -> None:
    op.drop_index("ix_audit_entry_action", table_name="audit_entry")
    op.drop_index("ix_audit_entry_actor", table_name="audit_entry")
    op.drop_index("ix_audit_entry_object_id", table_name="audit_entry")
    op.drop_index("ix_audit_entry_created_at", table_name="audit_entry")
    op.drop_table("audit_entry")
