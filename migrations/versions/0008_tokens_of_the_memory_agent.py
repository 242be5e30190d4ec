"""Tokens of the memory agent

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_COLUMNS = ("memory_prompt_tokens", "memory_completion_tokens")


def upgrade() -> None:
    with op.batch_alter_table("agent_run") as batch:
        for name in _COLUMNS:
            batch.add_column(sa.Column(name, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("agent_run") as batch:
        for name in reversed(_COLUMNS):
            batch.drop_column(name)
