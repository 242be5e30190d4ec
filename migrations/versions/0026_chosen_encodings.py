"""The encoding that somebody chose for a text

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("document", sa.Column("chosen_encoding", sa.String(length=50), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("document") as batch:
        batch.drop_column("chosen_encoding")
