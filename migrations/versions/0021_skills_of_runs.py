"""Skills that runs worked by

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_skill",
        sa.Column("task_id", sa.String(length=36), nullable=False),
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content_sha256", sa.String(length=64), nullable=False),
        sa.Column("slug", sa.String(length=120), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("loaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["agent_run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", "skill_id", "version"),
    )
    op.create_index("ix_run_skill_skill_id", "run_skill", ["skill_id"])


def downgrade() -> None:
    op.drop_table("run_skill")
