"""Alembic's entry: runs the migrations on the connection that ``migrations.apply`` hands over.

The tables come with it where they are compared; to run the migrations, nobody loads them.
"""

from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlmodel.sql.sqltypes import AutoString

from core.db.types import UtcDateTime


def render(kind: str, item: object, autogenerate: AutogenContext) -> str | Literal[False]:
    """Write column types so that a migration keeps meaning the same when the code moves on."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, AutoString):
        return f"sa.String(length={item.impl_instance.length})"
    return False


def run() -> None:
    """Run inside one transaction per migration."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=context.config.attributes.get("tables"),
        render_as_batch=True,
        render_item=render,
        compare_type=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
