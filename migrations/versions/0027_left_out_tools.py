"""The tools of an MCP server that are left out, with their reasons

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("mcp_connection", sa.Column("left_out", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("mcp_connection") as batch:
        batch.drop_column("left_out")
