"""Rights of single accounts: permissions granted and revoked, models and MCP connections

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_LISTS = ("granted", "revoked")
_LIMITS = ("model_access", "mcp_access")


def upgrade() -> None:
    with op.batch_alter_table("user") as batch:
        for name in _LISTS:
            batch.add_column(sa.Column(name, sa.JSON(), nullable=False, server_default="[]"))
        for name in _LIMITS:
            batch.add_column(sa.Column(name, sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("user") as batch:
        for name in reversed(_LISTS + _LIMITS):
            batch.drop_column(name)
