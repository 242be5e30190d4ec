"""Later pages of chunks: where the pages begin on which their text goes on

Revision ID: 0040
Revises: 0039
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunk", sa.Column("later_pages", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("chunk", "later_pages")
