"""Skills: how often a row was changed, and what the row of a version takes

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("skill", sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("skill_version", sa.Column("row_bytes", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_skill_version_row_bytes", "skill_version", ["skill_id", "row_bytes"])
    op.execute("UPDATE skill_version SET row_bytes = length(CAST(parsed AS TEXT)) + length(CAST(files AS TEXT))")


def downgrade() -> None:
    op.drop_index("ix_skill_version_row_bytes", table_name="skill_version")
    op.drop_column("skill_version", "row_bytes")
    op.drop_column("skill", "revision")
