"""Administration of other people's accounts (docs/reference/agentex-api.md, section 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from sqlalchemy import delete, func, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.api_keys import delete_api_key_tree, get_api_key_for_update
from core.auth.authentication import ACTIVE, change_password, end_logins
from core.auth.locks import lock_admins
from core.auth.models import ApiKey, OidcIdentity, OidcTicket, Role, Share, TokenFamily, User, UserStatus
from core.auth.permissions import ADMIN_ROLE, DEFAULT_ROLE, Permission
from core.auth.principal import Principal
from core.auth.roles import effective_permissions, find_role, known_permissions
from core.auth.users import UserDraft, create_user, get_role, get_role_by_name
from core.db.pagination import PageRequest, paginate
from core.errors.auth import AccountDisabled, RoleNotFound, UserNotFound
from core.errors.conflicts import LastAdministrator
from core.errors.requests import InvalidRequest
from core.errors.server import UnusableSetting
from core.logging import get_logger
from core.text.confusables import fold, name_key

log = get_logger(__name__)

SORT_FIELDS = ("created_at", "username", "email", "last_login_at")


@dataclass(frozen=True)
class UserFilter:
    """Conditions on listed accounts; None does not filter.

    Args:
        search: part of the user name or the e-mail address, in any case.
        status: ``active`` or ``disabled``.
    """

    search: str | None = None
    role_id: str | None = None
    status: UserStatus | None = None


@dataclass(frozen=True)
class UserListing:
    """One page of accounts with their roles, and the total count."""

    items: Sequence[tuple[User, Role]]
    total: int


@dataclass(frozen=True)
class AccessLimit:
    """The only ids that an account may use; None lifts the limit."""

    ids: Sequence[str] | None


@dataclass(frozen=True)
class UserChange:
    """Changes of an account; None leaves a field unchanged."""

    role_id: str | None = None
    status: UserStatus | None = None
    grants: Sequence[str] | None = None
    revokes: Sequence[str] | None = None
    model_access: AccessLimit | None = None
    mcp_access: AccessLimit | None = None
    email_verified: bool | None = None


async def list_users(session: AsyncSession, user_filter: UserFilter, page: PageRequest) -> UserListing:
    """One page of the accounts."""
    conditions = [col(User.status) != UserStatus.DELETED.value]
    if user_filter.search:
        part = user_filter.search.strip()
        conditions.append(
            or_(
                col(User.username_key).contains(name_key(part), autoescape=True),
                col(User.email_key).contains(fold(part), autoescape=True),
            )
        )
    if user_filter.role_id is not None:
        conditions.append(col(User.role_id) == user_filter.role_id)
    if user_filter.status is not None:
        conditions.append(col(User.status) == user_filter.status.value)
    query = paginate(
        select(User).where(*conditions),
        page,
        columns={
            "created_at": col(User.created_at),
            "username": col(User.username_key),
            "email": col(User.email_key),
            "last_login_at": col(User.last_login_at),
        },
        tie=col(User.id),
    )
    rows = (await session.exec(query)).all()
    total = (await session.exec(select(func.count()).select_from(User).where(*conditions))).one()
    roles = await _roles(session)
    return UserListing([(row, roles[row.role_id]) for row in rows], total)


async def _roles(session: AsyncSession) -> Mapping[str, Role]:
    return {role.id: role for role in (await session.exec(select(Role))).all()}


async def find_account(session: AsyncSession, user_id: str) -> tuple[User, Role]:
    """An account and its role; deleted accounts are not found."""
    user = await session.get(User, user_id)
    if user is None or user.status == UserStatus.DELETED:
        raise UserNotFound
    return user, await get_role(session, user.role_id)


async def add_user(
    session: AsyncSession, principal: Principal, draft: UserDraft, *, role_id: str | None
) -> tuple[User, Role]:
    """Create an account; without ``role_id`` it gets the default role of registrations."""
    new_role_id = role_id or (await get_role_by_name(session, DEFAULT_ROLE)).id
    role = await _assignable(session, new_role_id)
    user = await create_user(session, draft, role=role.name, email_verified=True)
    principal.require_all(effective_permissions(user, role))
    audit(session, AuditAction.USER_CREATED, user_target(user), details={"role": role.name})
    return user, role


async def change_user(
    session: AsyncSession, principal: Principal, user_id: str, change: UserChange
) -> tuple[User, Role]:
    """Change an account, which takes effect at its next request.

    A disabled account loses its logins, and its keys are refused; running runs and streams end within seconds.
    """
    user, role = await get_account_for_update(session, principal, user_id)
    was_administrator, before = _administers(user, role), _rights(user, role)
    role = await _apply(session, user, role, change)
    principal.require_all(effective_permissions(user, role))
    if was_administrator and not _administers(user, role):
        await _require_administrator_besides(session, user)
    if user.status == UserStatus.DISABLED:
        await end_logins(session, user.id)
    session.add(user)
    after = _rights(user, role)
    changed: dict[str, JsonValue] = {
        name: {"before": before[name], "after": after[name]} for name in before if before[name] != after[name]
    }
    if changed:
        audit(session, AuditAction.USER_CHANGED, user_target(user), details=changed)
    return user, role


async def _apply(session: AsyncSession, user: User, role: Role, change: UserChange) -> Role:
    """Change the row and return its new role."""
    if change.role_id is not None:
        role = await _assignable(session, change.role_id)
        user.role_id = role.id
    if change.grants is not None:
        field = "custom_permissions.grants"
        user.granted = [item.value for item in known_permissions(field, change.grants)]
    if change.revokes is not None:
        field = "custom_permissions.revokes"
        user.revoked = [item.value for item in known_permissions(field, change.revokes)]
    if change.model_access is not None:
        user.model_access = _listed(change.model_access)
    if change.mcp_access is not None:
        user.mcp_access = _listed(change.mcp_access)
    if change.status is not None:
        user.status = change.status.value
    if change.email_verified is not None:
        user.email_verified = change.email_verified
    return role


def _rights(user: User, role: Role) -> dict[str, JsonValue]:
    return {
        "role": role.name,
        "status": user.status,
        "grants": [*user.granted],
        "revokes": [*user.revoked],
        "model_access": None if user.model_access is None else [*user.model_access],
        "mcp_access": None if user.mcp_access is None else [*user.mcp_access],
        "email_verified": user.email_verified,
    }


def user_target(user: User) -> AuditTarget:
    """The account as an audit target."""
    return AuditTarget("user", user.id, user.username)


async def reset_password(
    session: AsyncSession, principal: Principal, user_id: str, *, password_hash: str, revoke_api_keys: bool
) -> None:
    """Store the hash of a checked password and end all logins; ``revoke_api_keys`` ends the API keys too."""
    user, _ = await get_account_for_update(session, principal, user_id)
    await change_password(session, user, password_hash=password_hash, keep_family_id=None)
    if revoke_api_keys:
        await session.exec(delete(ApiKey).where(col(ApiKey.user_id) == user.id))
    details: dict[str, JsonValue] = {"reset": True, "keys_revoked": revoke_api_keys}
    audit(session, AuditAction.PASSWORD_CHANGED, user_target(user), details=details)


async def adopt_role(session: AsyncSession, user: User, name: str) -> None:
    """Give an account the role that its identity provider's groups stand for.

    The last administrator stays one: a change at the provider must not remove all administrators.
    """
    role = (await session.exec(select(Role).where(Role.name == name))).first()
    if role is None:
        raise UnusableSetting(setting="AGENTEX_OIDC_ROLES", error=f"there is no role {name}")
    if role.id == user.role_id:
        return
    await lock_admins(session)
    await session.refresh(user, ["role_id", "status"])
    if user.status != ACTIVE:
        # Checked again under the lock: an anonymized account gets no role.
        raise AccountDisabled
    before = await get_role(session, user.role_id)
    try:
        if _administers(user, before) and role.name != ADMIN_ROLE:
            await _require_administrator_besides(session, user)
    except LastAdministrator:
        log.warning("oidc.last_administrator_kept", user_id=user.id)
        return
    user.role_id = role.id
    session.add(user)
    changed: dict[str, JsonValue] = {"role": {"before": before.name, "after": role.name}}
    audit(session, AuditAction.USER_CHANGED, user_target(user), details=changed)


async def revoke_user_api_key(session: AsyncSession, principal: Principal, user_id: str, key_id: str) -> None:
    """Delete an API key of an account that the caller may manage, and the keys created with it."""
    user, _ = await get_account_for_update(session, principal, user_id)
    await delete_api_key_tree(session, await get_api_key_for_update(session, user.id, key_id), owner=user)


async def get_account_for_update(session: AsyncSession, principal: Principal, user_id: str) -> tuple[User, Role]:
    """An account that the caller may manage, locked until the transaction ends."""
    await lock_admins(session)
    user, role = await find_account(session, user_id)
    principal.require_all(effective_permissions(user, role))
    return user, role


async def anonymize_account(session: AsyncSession, user: User, role: Role) -> None:
    """Turn an account into an anonymous row that no list shows and that can't log in."""
    if _administers(user, role):
        await _require_administrator_besides(session, user)
    # Nobody can take it first: user names have no such character.
    name = f"deleted:{user.id}"
    user.status = UserStatus.DELETED.value
    user.username = user.username_key = name
    user.email = user.email_key = f"{name}@invalid"
    user.password_hash, user.avatar_url, user.time_zone = "", None, None
    user.granted, user.revoked, user.model_access, user.mcp_access = [], [], None, None
    user.use_memories = user.remember_after_runs = False
    user.role_id = (await get_role_by_name(session, DEFAULT_ROLE)).id
    session.add(user)
    for table in (ApiKey, OidcIdentity, OidcTicket, Share, TokenFamily):
        await session.exec(delete(table).where(col(table.user_id) == user.id))


async def _require_administrator_besides(session: AsyncSession, user: User) -> None:
    """Refuse if no other administrator is left; valid as long as ``lock_admins`` holds."""
    query = (
        select(User, Role)
        .join(Role, col(Role.id) == col(User.role_id))
        .where(Role.name == ADMIN_ROLE, User.id != user.id)
    )
    if not any(_administers(*row) for row in (await session.exec(query)).all()):
        raise LastAdministrator


def _administers(user: User, role: Role) -> bool:
    is_able = Permission.USERS_MANAGE in effective_permissions(user, role)
    return user.status == UserStatus.ACTIVE and role.name == ADMIN_ROLE and is_able


async def _assignable(session: AsyncSession, role_id: str) -> Role:
    try:
        return await find_role(session, role_id)
    except RoleNotFound:
        raise InvalidRequest("role_id", "No such role") from None


def _listed(only: AccessLimit) -> list[str] | None:
    return None if only.ids is None else list(dict.fromkeys(only.ids))
