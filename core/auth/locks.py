"""Row locks on accounts, held until the end of a transaction."""

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import Role, User
from core.auth.permissions import ADMIN_ROLE


async def lock_owner(session: AsyncSession, user_id: str) -> None:
    """Serialize transactions that count against an account's limits.

    In SQLite the transaction is the only writer anyway.
    """
    await session.exec(select(User.id).where(User.id == user_id).with_for_update(key_share=True))


async def lock_admins(session: AsyncSession) -> None:
    """Serialize transactions that change what accounts may do.

    Two administrators who demote each other at once would otherwise both succeed.
    """
    admin = select(Role.id).where(Role.name == ADMIN_ROLE)
    await session.exec(admin.with_for_update(key_share=True))
