"""Single sign-on: people whom a provider knows, and their sign-ins while they are under way

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "oidc_identity",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_oidc_identity_user_id", "oidc_identity", ["user_id"])
    op.create_index("uq_oidc_identity", "oidc_identity", ["issuer", "subject"], unique=True)
    op.create_table(
        "oidc_attempt",
        sa.Column("state_digest", sa.String(length=64), nullable=False),
        sa.Column("browser_digest", sa.String(length=64), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("verifier", sa.String(length=64), nullable=False),
        sa.Column("path", sa.String(length=500), nullable=False),
        sa.Column("port", sa.Integer(), nullable=True),
        sa.Column("challenge", sa.String(length=64), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("state_digest"),
    )
    op.create_index("ix_oidc_attempt_expires_at", "oidc_attempt", ["expires_at"])
    op.create_table(
        "oidc_ticket",
        sa.Column("code_digest", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("proof_digest", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("code_digest"),
    )
    op.create_index("ix_oidc_ticket_user_id", "oidc_ticket", ["user_id"])
    op.create_index("ix_oidc_ticket_expires_at", "oidc_ticket", ["expires_at"])


def downgrade() -> None:
    op.drop_table("oidc_ticket")
    op.drop_table("oidc_attempt")
    op.drop_table("oidc_identity")
