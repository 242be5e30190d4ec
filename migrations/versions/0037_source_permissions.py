"""Permissions of knowledge sources, and addresses that somebody vouches for

Revision ID: 0037
Revises: 0036
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("user", sa.Column("email_verified", sa.Boolean(), nullable=False, server_default=sa.false()))
    # Administrators vouch for the accounts that they made; those who registered themselves typed any address.
    op.execute(
        sa.text(
            'UPDATE "user" SET email_verified = true WHERE id IN (SELECT object_id FROM audit_entry '
            "WHERE action = 'user.created' AND actor_id IS NOT NULL AND actor_id <> object_id)"
        )
    )
    op.add_column("document", sa.Column("source_levels", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("document", sa.Column("only_by_source", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("knowledge_source_item", sa.Column("readers", sa.JSON(), nullable=True))
    op.create_table(
        "source_reader",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("levels", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("value", sa.String(length=254), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_source_reader_document_id", "source_reader", ["document_id"])
    op.create_index("ix_source_reader_value", "source_reader", ["kind", "value"])


def downgrade() -> None:
    """Documents that only their source restricts stay, for the owners of their knowledge bases alone."""
    op.drop_table("source_reader")
    op.drop_column("knowledge_source_item", "readers")
    op.drop_column("document", "only_by_source")
    op.drop_column("document", "source_levels")
    op.drop_column("user", "email_verified")
