"""Boxes of chunks: where on the pages their text stands

Revision ID: 0038
Revises: 0037
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunk", sa.Column("boxes", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("chunk", "boxes")
