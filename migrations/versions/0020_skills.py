"""Skills

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_TABLES = ("skill", "skill_blob", "skill_tag", "skill_term", "skill_usage", "skill_version")


def upgrade() -> None:
    op.create_table(
        "skill",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("name_key", sa.String(length=600), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("category", sa.String(length=100), nullable=False),
        sa.Column("category_key", sa.String(length=300), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("own_fields", sa.JSON(), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("served_version", sa.Integer(), nullable=True),
        sa.Column("loads", sa.Boolean(), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("trusted", sa.Boolean(), nullable=False),
        sa.Column("forked_from", sa.String(length=36), nullable=True),
        sa.Column("forked_version", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_skill_category_key"), "skill", ["category_key"])
    op.create_index(op.f("ix_skill_is_public"), "skill", ["is_public"])
    op.create_index("ix_skill_owner_updated", "skill", ["owner_id", "updated_at"])
    op.create_index("uq_skill_owner_slug", "skill", ["owner_id", "slug"], unique=True)
    op.create_table(
        "skill_blob",
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["skill_id"], ["skill.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("skill_id", "sha256"),
    )
    op.create_table(
        "skill_tag",
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("tag_key", sa.String(length=300), nullable=False),
        sa.ForeignKeyConstraint(["skill_id"], ["skill.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("skill_id", "tag_key"),
    )
    op.create_index("ix_skill_tag_key", "skill_tag", ["tag_key", "skill_id"])
    op.create_table(
        "skill_term",
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("term", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["skill_id"], ["skill.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("skill_id", "term"),
    )
    op.create_index("ix_skill_term_term", "skill_term", ["term", "skill_id"])
    op.create_table(
        "skill_usage",
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("offered", sa.Integer(), nullable=False),
        sa.Column("loaded", sa.Integer(), nullable=False),
        sa.Column("completed", sa.Integer(), nullable=False),
        sa.Column("denied", sa.Integer(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["skill_id"], ["skill.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("skill_id", "version"),
    )
    op.create_table(
        "skill_version",
        sa.Column("skill_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content_sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("category", sa.String(length=100), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("triggers", sa.JSON(), nullable=False),
        sa.Column("not_for", sa.JSON(), nullable=False),
        sa.Column("tools", sa.JSON(), nullable=True),
        sa.Column("parsed", sa.JSON(), nullable=False),
        sa.Column("findings", sa.JSON(), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.Column("publishable", sa.Boolean(), nullable=False),
        sa.Column("portable", sa.Boolean(), nullable=False),
        sa.Column("parser_version", sa.String(length=20), nullable=False),
        sa.Column("change_note", sa.Text(), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("restored_from", sa.Integer(), nullable=True),
        sa.Column("review", sa.String(length=20), nullable=False),
        sa.Column("review_note", sa.Text(), nullable=False),
        sa.Column("reviewed_by", sa.String(length=36), nullable=True),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["user.id"], ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["reviewed_by"], ["user.id"], ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["skill_id"], ["skill.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("skill_id", "version"),
    )
    for column in ("author_id", "review", "reviewed_by"):
        op.create_index(op.f(f"ix_skill_version_{column}"), "skill_version", [column])


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)
