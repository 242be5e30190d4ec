"""Policies that people choose for agents' tools

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "chosen_policy",
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("tool", sa.String(length=128), nullable=False),
        sa.Column("policy", sa.String(length=10), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id", "tool"),
    )


def downgrade() -> None:
    op.drop_table("chosen_policy")
