"""Which versions of skills nobody has read yet, and which everybody was served

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "skill_version",
        sa.Column("unread", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column("skill_version", sa.Column("public_at", sa.DateTime(timezone=True), nullable=True))
    # To whom a version was served was not written down: reviews compared with it in any case.
    op.execute("UPDATE skill_version SET public_at = published_at")
    # Of a skill that waited for its owner no version was used, but what was read once stays so.
    op.execute(
        "UPDATE skill_version SET unread = true WHERE published_at IS NULL AND skill_id IN"
        " (SELECT id FROM skill WHERE trusted = false) AND review <> 'approved'"
    )


def downgrade() -> None:
    with op.batch_alter_table("skill_version", schema=None) as batch_op:
        batch_op.drop_column("public_at")
        batch_op.drop_column("unread")
