"""Shares

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("role_id", sa.String(length=36), nullable=True),
        sa.Column("access", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(user_id IS NULL) <> (role_id IS NULL)", name="one_subject"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("uq_share_user", "share", ["kind", "resource_id", "user_id"], unique=True)
    op.create_index("uq_share_role", "share", ["kind", "resource_id", "role_id"], unique=True)
    op.create_index(op.f("ix_share_user_id"), "share", ["user_id"])
    op.create_index(op.f("ix_share_role_id"), "share", ["role_id"])


def downgrade() -> None:
    op.drop_table("share")
