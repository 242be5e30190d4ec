"""Index for vouching

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_chunk_vouched",
        "chunk",
        ["id", "document_id", "revision", "enabled", "version", "position"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index("ix_chunk_vouched", table_name="chunk")
