"""Durable runs: what a run has done, and what it waits for

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("agent_run") as batch:
        batch.add_column(sa.Column("task_id", sa.String(length=36), nullable=False, server_default=""))
        batch.add_column(sa.Column("request", sa.JSON(), nullable=False, server_default="{}"))
        batch.add_column(sa.Column("own_events", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("takeovers", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("chat_session") as batch:
        batch.add_column(sa.Column("waiting_run_id", sa.String(length=36), nullable=True))
    op.create_table(
        "run_effect",
        sa.Column("task_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["agent_run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", "position"),
    )
    op.create_table(
        "run_interrupt",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("call_id", sa.String(length=200), nullable=False),
        sa.Column("interrupt", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["agent_run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_run_interrupt_run_id"), "run_interrupt", ["run_id"])
