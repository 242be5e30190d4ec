"""Generations, names, questions, transfers

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


_document = sa.table(
    "document",
    sa.column("id"),
    sa.column("knowledge_base_id"),
    sa.column("name"),
    sa.column("created_at"),
    sa.column("deleted_at"),
)


def _rename_doubles(connection: sa.Connection) -> None:
    """The newest document of a name keeps it; older ones become ``name (2).md`` and so on."""
    present = _document.c.deleted_at.is_(None)
    query = sa.select(_document.c.id, _document.c.knowledge_base_id, _document.c.name)
    newest_first = query.where(present).order_by(_document.c.created_at.desc(), _document.c.id)
    rows = connection.execute(newest_first).all()
    taken = {(row.knowledge_base_id, row.name) for row in rows}
    kept: set[tuple[str, str]] = set()
    for row in rows:
        key = (row.knowledge_base_id, row.name)
        if key not in kept:
            kept.add(key)
            continue
        stem, dot, suffix = row.name.rpartition(".")
        if not stem:
            stem, dot, suffix = row.name, "", ""
        number = 2
        while True:
            ending = f" ({number}){dot}{suffix}"
            name = (stem.encode()[: 255 - len(ending.encode())].decode(errors="ignore")) + ending
            if (row.knowledge_base_id, name) not in taken:
                break
            number += 1
        taken.add((row.knowledge_base_id, name))
        change = sa.update(_document).where(_document.c.id == row.id).values(name=name)
        connection.execute(change)


def upgrade() -> None:
    op.create_table(
        "retrieval_record",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=True),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("retrieval_record", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_retrieval_record_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_retrieval_record_user_id"), ["user_id"], unique=False)

    op.create_table(
        "evaluation",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("knowledge_base_id", sa.String(length=36), nullable=False),
        sa.Column("created_by", sa.String(length=36), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"],
            ["user.id"],
        ),
        sa.ForeignKeyConstraint(["knowledge_base_id"], ["knowledge_base.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_evaluation_knowledge_base_id"), ["knowledge_base_id"], unique=False)

    op.create_table(
        "question",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("knowledge_base_id", sa.String(length=36), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("expected", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["knowledge_base_id"], ["knowledge_base.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("question", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_question_knowledge_base_id"), ["knowledge_base_id"], unique=False)

    op.create_table(
        "transfer",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("knowledge_base_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("original_bytes", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("transfer", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_transfer_knowledge_base_id"), ["knowledge_base_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_transfer_owner_id"), ["owner_id"], unique=False)

    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.add_column(sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.true()))
        batch_op.add_column(sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("terms", sa.LargeBinary(), nullable=True))

    _rename_doubles(op.get_bind())
    with op.batch_alter_table("document", schema=None) as batch_op:
        batch_op.add_column(sa.Column("shadow_revision", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("generation", sa.Integer(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("superseded_keys", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.add_column(sa.Column("superseded_bytes", sa.BigInteger(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("attributes", sa.JSON(), nullable=False, server_default="{}"))
        batch_op.add_column(sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("stage_since", sa.DateTime(timezone=True), nullable=True))
        batch_op.create_index(
            "ix_document_waiting",
            ["status", "knowledge_base_id", "created_at", "id"],
            unique=False,
        )
        batch_op.create_index(
            "uq_document_name",
            ["knowledge_base_id", "name"],
            unique=True,
            sqlite_where=sa.text("deleted_at IS NULL"),
            postgresql_where=sa.text("deleted_at IS NULL"),
        )

    with op.batch_alter_table("knowledge_base", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("splitter", sa.String(length=50), nullable=False, server_default="heading_recursive")
        )
        batch_op.add_column(sa.Column("generation", sa.Integer(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("last_generation", sa.Integer(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("target", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("previous", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("retired", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.add_column(sa.Column("retrieval", sa.JSON(), nullable=False, server_default="{}"))
        batch_op.add_column(sa.Column("paused", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("knowledge_base", schema=None) as batch_op:
        batch_op.drop_column("paused")
        batch_op.drop_column("retrieval")
        batch_op.drop_column("retired")
        batch_op.drop_column("previous")
        batch_op.drop_column("target")
        batch_op.drop_column("last_generation")
        batch_op.drop_column("generation")
        batch_op.drop_column("splitter")

    with op.batch_alter_table("document", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_document_name",
            sqlite_where=sa.text("deleted_at IS NULL"),
            postgresql_where=sa.text("deleted_at IS NULL"),
        )
        batch_op.drop_index("ix_document_waiting")
        batch_op.drop_column("stage_since")
        batch_op.drop_column("started_at")
        batch_op.drop_column("attributes")
        batch_op.drop_column("superseded_bytes")
        batch_op.drop_column("superseded_keys")
        batch_op.drop_column("generation")
        batch_op.drop_column("shadow_revision")

    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.drop_column("terms")
        batch_op.drop_column("version")
        batch_op.drop_column("enabled")

    with op.batch_alter_table("transfer", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_transfer_owner_id"))
        batch_op.drop_index(batch_op.f("ix_transfer_knowledge_base_id"))

    op.drop_table("transfer")
    with op.batch_alter_table("question", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_question_knowledge_base_id"))

    op.drop_table("question")
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_evaluation_knowledge_base_id"))

    op.drop_table("evaluation")
    with op.batch_alter_table("retrieval_record", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_retrieval_record_user_id"))
        batch_op.drop_index(batch_op.f("ix_retrieval_record_run_id"))

    op.drop_table("retrieval_record")
