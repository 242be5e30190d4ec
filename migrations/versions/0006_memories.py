"""Memories

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=20), nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("vector_model", sa.String(length=200), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("uq_memory_owner_digest", "memory", ["owner_id", "digest"], unique=True)
    op.create_index("ix_memory_owner_updated", "memory", ["owner_id", "updated_at"])
    op.create_table(
        "distillation",
        sa.Column("run_key", sa.String(length=36), nullable=False),
        sa.Column("lease_owner", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["agent_run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key"),
    )
    op.create_index("ix_distillation_lease_until", "distillation", ["lease_until"])
    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.add_column(sa.Column("use_memories", sa.Boolean(), nullable=False, server_default=sa.true()))
        batch_op.add_column(sa.Column("remember_after_runs", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.drop_column("remember_after_runs")
        batch_op.drop_column("use_memories")

    op.drop_index("ix_distillation_lease_until", table_name="distillation")
    op.drop_table("distillation")
    op.drop_index("ix_memory_owner_updated", table_name="memory")
    op.drop_index("uq_memory_owner_digest", table_name="memory")
    op.drop_table("memory")
