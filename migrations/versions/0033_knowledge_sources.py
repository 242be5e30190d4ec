"""Knowledge sources, their items and their syncs

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_OPEN = sa.text("status IN ('pending', 'running', 'confirm')")


def upgrade() -> None:
    op.create_table(
        "knowledge_source",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("knowledge_base_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("connector", sa.String(length=50), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("sync_every_minutes", sa.Integer(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["knowledge_base_id"], ["knowledge_base.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_knowledge_source_due_at", "knowledge_source", ["due_at"])
    op.create_index("uq_knowledge_source_name", "knowledge_source", ["knowledge_base_id", "name"], unique=True)
    op.create_table(
        "knowledge_source_item",
        sa.Column("source_id", sa.String(length=36), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=200), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=True),
        sa.Column("is_owner", sa.Boolean(), nullable=False),
        sa.Column("seen_in", sa.String(length=36), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["knowledge_source.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("source_id", "key_hash"),
    )
    op.create_index("ix_knowledge_source_item_document_id", "knowledge_source_item", ["document_id"])
    op.create_index("ix_knowledge_source_item_seen", "knowledge_source_item", ["source_id", "seen_in"])
    op.create_table(
        "knowledge_source_sync",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("source_id", sa.String(length=36), nullable=False),
        sa.Column("is_preview", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.Column("is_cut", sa.Boolean(), nullable=False),
        sa.Column("deletions_allowed", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["source_id"], ["knowledge_source.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_knowledge_source_sync_source", "knowledge_source_sync", ["source_id", "created_at"])
    op.create_index(
        "uq_knowledge_source_sync_open",
        "knowledge_source_sync",
        ["source_id"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )


def downgrade() -> None:
    op.drop_table("knowledge_source_sync")
    op.drop_table("knowledge_source_item")
    op.drop_table("knowledge_source")
