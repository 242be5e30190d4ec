"""Roles: named sets of permissions, four of them built in."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import Role, User
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import RoleNotFound
from core.errors.conflicts import RoleBuiltIn, RoleInUse, RoleNameTaken
from core.errors.requests import InvalidRequest

_NAME = re.compile(r"[a-z][a-z0-9_-]{1,49}")
_KNOWN = {permission.value: permission for permission in Permission}


@dataclass(frozen=True)
class RoleDraft:
    """Fields of a role; None leaves a field unchanged.

    Args:
        name: its key: 2 to 50 small letters, digits, ``_`` or ``-``.
        permissions: names such as ``kb:write``.
    """

    name: str | None = None
    display_name: str | None = None
    permissions: Sequence[str] | None = None


def effective_permissions(user: User, role: Role) -> frozenset[Permission]:
    """The role's permissions plus the account's grants minus its revokes."""
    return combined_permissions(tuple(role.permissions), tuple(user.granted), tuple(user.revoked))


@lru_cache(maxsize=256)
def combined_permissions(
    names: tuple[str, ...], granted: tuple[str, ...], revoked: tuple[str, ...]
) -> frozenset[Permission]:
    """A role's permissions plus grants minus revokes.

    One shared set for all requests and open streams with the same arguments.
    """
    # A later version may have stored permissions unknown to this one.
    return frozenset(_KNOWN[name] for name in {*names, *granted} - {*revoked} if name in _KNOWN)


def known_permissions(field: str, names: Iterable[str]) -> list[Permission]:
    """Permissions by their names, without duplicates, in order of declaration.

    ``field`` is the request field that a refusal names.
    """
    requested = set(names)
    if unknown := sorted(requested - _KNOWN.keys()):
        raise InvalidRequest(field, f"No such permission: {unknown[0]}")
    return [permission for permission in Permission if permission in requested]


async def list_roles(session: AsyncSession) -> Sequence[Role]:
    """All roles, the built-in ones first."""
    query = select(Role).order_by(col(Role.built_in).desc(), col(Role.name))
    return (await session.exec(query)).all()


async def find_role(session: AsyncSession, role_id: str, *, lock: bool = False) -> Role:
    """Load a role by its id, locked until the transaction ends if ``lock`` is set."""
    role = await session.get(Role, role_id, with_for_update=True if lock else None)
    if role is None:
        raise RoleNotFound
    return role


async def create_role(session: AsyncSession, principal: Principal, draft: RoleDraft) -> Role:
    """Add a role, with at most the caller's permissions."""
    role = await _write(session, principal, Role(name="", display_name="", permissions=[]), draft)
    _note(session, AuditAction.ROLE_CREATED, role)
    return role


async def change_role(session: AsyncSession, principal: Principal, role_id: str, draft: RoleDraft) -> Role:
    """Change a role, which takes effect at its users' next requests.

    Built-in roles, and those that allow more than the caller has, are refused.
    """
    role = await _own_role(session, principal, role_id)
    await _write(session, principal, role, draft)
    _note(session, AuditAction.ROLE_CHANGED, role)
    return role


async def delete_role(session: AsyncSession, principal: Principal, role_id: str) -> None:
    """Delete a role that no account has."""
    role = await _own_role(session, principal, role_id)
    bearer = select(User.id).where(User.role_id == role.id).limit(1)
    if (await session.exec(bearer)).first() is not None:
        raise RoleInUse
    await session.delete(role)
    _note(session, AuditAction.ROLE_DELETED, role)


async def _own_role(session: AsyncSession, principal: Principal, role_id: str) -> Role:
    """A role that is not built in and allows nothing that the caller may not do."""
    role = await find_role(session, role_id, lock=True)
    if role.built_in:
        raise RoleBuiltIn
    principal.require_all(combined_permissions(tuple(role.permissions), (), ()))
    return role


async def _write(session: AsyncSession, principal: Principal, role: Role, draft: RoleDraft) -> Role:
    if draft.permissions is not None:
        permissions = known_permissions("permissions", draft.permissions)
        principal.require_all(permissions)
        role.permissions = [permission.value for permission in permissions]
    if draft.name is not None and not _NAME.fullmatch(draft.name):
        raise InvalidRequest("name", "Use 2 to 50 small letters, digits, _ or -")
    if draft.name is not None and draft.name != role.name:
        same_name = select(Role.id).where(Role.name == draft.name)
        if (await session.exec(same_name)).first() is not None:
            raise RoleNameTaken(field="name")
        role.name = draft.name
    role.display_name = draft.display_name or role.display_name or role.name
    session.add(role)
    await session.flush()
    return role


def _note(session: AsyncSession, action: AuditAction, role: Role) -> None:
    audit(session, action, AuditTarget("role", role.id, role.name), details={"permissions": [*role.permissions]})
