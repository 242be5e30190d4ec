"""Sealed credentials of knowledge sources

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("knowledge_source", sa.Column("sealed_credentials", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("knowledge_source", "sealed_credentials")
