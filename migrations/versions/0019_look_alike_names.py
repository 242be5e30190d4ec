"""User names that look alike count as one: their keys are made anew

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

from core.text.confusables import fold, name_key

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_USER = sa.table("user", sa.column("id"), sa.column("username"), sa.column("username_key"))


def upgrade() -> None:
    connection = op.get_bind()
    rows = connection.execute(sa.select(_USER.c.id, _USER.c.username_key)).all()
    taken = {row.username_key for row in rows}
    for row in rows:
        key = name_key(row.username_key)
        # Of two that look alike already, the second one logs in by its e-mail address.
        if key not in taken:
            taken.add(key)
            connection.execute(sa.update(_USER).where(_USER.c.id == row.id).values(username_key=key))


def downgrade() -> None:
    """The keys that the version before looks up; names that looked alike are apart again."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(_USER)).all():
        connection.execute(sa.update(_USER).where(_USER.c.id == row.id).values(username_key=fold(row.username)))
