"""Restricted documents

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "knowledge_base",
        sa.Column("narrowed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column(
        "document",
        sa.Column("restricted", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column("question", sa.Column("restricted_to", sa.JSON(), nullable=False, server_default="[]"))
    op.drop_index("uq_document_name", table_name="document")
    _create_names("deleted_at IS NULL AND restricted IS 0", "deleted_at IS NULL AND restricted IS false")
    op.create_index(
        "ix_document_restricted",
        "document",
        ["knowledge_base_id", "name"],
        sqlite_where=sa.text("restricted IS 1"),
        postgresql_where=sa.text("restricted IS true"),
    )


def downgrade() -> None:
    """Not while a document is restricted: everybody would read it.

    Raises:
        RuntimeError: one is.
    """
    restricted = sa.text("SELECT count(*) FROM document WHERE restricted")
    if op.get_bind().execute(restricted).scalar_one():
        raise RuntimeError("documents are restricted: open or delete them before going back")
    op.drop_index("ix_document_restricted", table_name="document")
    op.drop_index("uq_document_name", table_name="document")
    _create_names("deleted_at IS NULL", "deleted_at IS NULL")
    with op.batch_alter_table("document", schema=None) as batch_op:
        batch_op.drop_column("restricted")
    with op.batch_alter_table("knowledge_base", schema=None) as batch_op:
        batch_op.drop_column("narrowed")
    with op.batch_alter_table("question", schema=None) as batch_op:
        batch_op.drop_column("restricted_to")


def _create_names(in_sqlite: str, in_postgresql: str) -> None:
    op.create_index(
        "uq_document_name",
        "document",
        ["knowledge_base_id", "name"],
        unique=True,
        sqlite_where=sa.text(in_sqlite),
        postgresql_where=sa.text(in_postgresql),
    )
