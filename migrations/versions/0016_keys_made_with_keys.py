"""API keys: which key each was made with

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("api_key") as batch:
        batch.add_column(sa.Column("made_with", sa.String(length=36), nullable=True))
        batch.create_index("ix_api_key_made_with", ["made_with"])


def downgrade() -> None:
    with op.batch_alter_table("api_key") as batch:
        batch.drop_index("ix_api_key_made_with")
        batch.drop_column("made_with")
