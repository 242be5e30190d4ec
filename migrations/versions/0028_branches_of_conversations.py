"""Branches of conversations, which hold copies of runs

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chat_session", sa.Column("conversation_id", sa.String(36), nullable=True))
    op.create_index("ix_chat_session_conversation_id", "chat_session", ["conversation_id"])
    op.add_column("agent_run", sa.Column("copy_of", sa.String(36), nullable=True))
    op.create_index("ix_agent_run_copy_of", "agent_run", ["copy_of"])


def downgrade() -> None:
    op.drop_index("ix_agent_run_copy_of", "agent_run")
    with op.batch_alter_table("agent_run") as batch:
        batch.drop_column("copy_of")
    op.drop_index("ix_chat_session_conversation_id", "chat_session")
    with op.batch_alter_table("chat_session") as batch:
        batch.drop_column("conversation_id")
