"""The parser of a knowledge base and of a document

Revision ID: 0036
Revises: 0035
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

_OF_DOCUMENT = ("parser", "chosen_parser", "chosen_strategy")
_OF_KNOWLEDGE_BASE = (("parser", "built_in"), ("strategy", "auto"))


def upgrade() -> None:
    for name, value in _OF_KNOWLEDGE_BASE:
        column = sa.Column(name, sa.String(length=50), nullable=False, server_default=value)
        op.add_column("knowledge_base", column)
    for name in _OF_DOCUMENT:
        op.add_column("document", sa.Column(name, sa.String(length=50), nullable=True))


def downgrade() -> None:
    for name in _OF_DOCUMENT:
        op.drop_column("document", name)
    for name, _ in _OF_KNOWLEDGE_BASE:
        op.drop_column("knowledge_base", name)
