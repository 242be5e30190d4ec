"""OAuth of MCP connections: clients, grants, and sign-ins while they are under way

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("mcp_connection", sa.Column("client_id", sa.String(length=2048), nullable=True))
    op.add_column("mcp_connection", sa.Column("sealed_client_secret", sa.Text(), nullable=True))
    op.add_column("mcp_connection", sa.Column("challenge", sa.Text(), nullable=True))
    op.create_table(
        "mcp_authorization",
        sa.Column("connection_id", sa.String(length=36), nullable=False),
        sa.Column("grant_id", sa.String(length=36), nullable=False),
        sa.Column("issuer", sa.String(length=2048), nullable=False),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("sealed_grant", sa.Text(), nullable=False),
        sa.Column("is_valid", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("renewer", sa.String(length=36), nullable=True),
        sa.Column("renewer_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("authorized_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["mcp_connection.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("connection_id"),
    )
    op.create_table(
        "mcp_authorization_attempt",
        sa.Column("connection_id", sa.String(length=36), nullable=False),
        sa.Column("state_digest", sa.String(length=64), nullable=False),
        sa.Column("sealed_request", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["mcp_connection.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("connection_id"),
    )
    op.create_index(
        "uq_mcp_authorization_attempt_state_digest", "mcp_authorization_attempt", ["state_digest"], unique=True
    )


def downgrade() -> None:
    op.drop_table("mcp_authorization_attempt")
    op.drop_table("mcp_authorization")
    with op.batch_alter_table("mcp_connection") as batch:
        batch.drop_column("challenge")
        batch.drop_column("sealed_client_secret")
        batch.drop_column("client_id")
