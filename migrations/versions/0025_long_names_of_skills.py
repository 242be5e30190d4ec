"""Names of skills in runs may have an owner's before them

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run_skill") as batch:
        batch.alter_column("slug", existing_type=sa.String(length=120), type_=sa.String(length=200))


def downgrade() -> None:
    """Names that have become too long stay as long as they are."""
