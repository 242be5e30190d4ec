"""Lists of readers that wait until searches see the text that they belong to

Revision ID: 0039
Revises: 0037
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("knowledge_source_item", sa.Column("next_readers", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Documents keep the lists that they have; the next sync opens those whose text is there."""
    op.drop_column("knowledge_source_item", "next_readers")
