"""The caller of a request, and access checks on objects."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, TypeVar

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.permissions import ADMIN_ROLE, Permission
from core.errors.auth import NotFound, OwnerOnly, PermissionDenied, ReadOnly


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller: of a token, an API key, or a job on a user's behalf.

    Args:
        permissions: the role's, with the account's own grants and without its revokes.
        family_id: the login that the token descends from; None for an API key.
        key_id: None for a token.
        is_scoped: an API key that has less than its account.
        model_access: the only models that the account may use; None for no such limit.
    """

    user_id: str
    username: str
    role: str
    permissions: frozenset[Permission]
    family_id: str | None = None
    key_id: str | None = None
    is_scoped: bool = False
    model_access: frozenset[str] | None = None
    mcp_access: frozenset[str] | None = None

    @property
    def lacking(self) -> tuple[str, ...]:
        """The missing permissions, which a run stores when it begins."""
        return tuple(permission.value for permission in Permission if permission not in self.permissions)

    def require(self, permission: Permission) -> None:
        if permission not in self.permissions:
            raise PermissionDenied(permission=permission.value)

    @property
    def is_administrator(self) -> bool:
        """Whether it may act as an administrator; a key with fewer permissions may not."""
        return self.role == ADMIN_ROLE and Permission.USERS_MANAGE in self.permissions

    def require_whole(self) -> None:
        """Refuse an API key with scopes: only the whole account may change the account."""
        if self.is_scoped:
            raise PermissionDenied(error="An API key with scopes can't change the account")

    def require_all(self, permissions: Iterable[Permission]) -> None:
        """Refuse a caller who lacks one of these: nobody grants, or manages, more than they have."""
        for permission in sorted(permissions):
            self.require(permission)


class Action(StrEnum):
    """What the caller wants to do with an object."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"
    """Decide who else may see it, or take it away from all."""


class Access(StrEnum):
    """How far an object is open to a caller."""

    READ = "read"
    WRITE = "write"
    OWNER = "owner"

    def allows(self, action: Action) -> bool:
        return action in _ALLOWED[self]


_ALLOWED = {Access.READ: {Action.READ}, Access.WRITE: {Action.READ, Action.WRITE}, Access.OWNER: set(Action)}


class Shareable(Protocol):
    """An object with an owner that may be shared with some people or with all.

    ``SHARE_KIND`` is its kind in the table of shares.
    """

    SHARE_KIND: ClassVar[str]
    id: str
    owner_id: str

    @property
    def is_public(self) -> bool: ...


class Owned(Protocol):
    """An object that only its owner sees."""

    id: str
    owner_id: str


OwnedT = TypeVar("OwnedT", bound=Owned)


def access_to(principal: Principal, resource: Shareable, shared: Access | None = None) -> Access | None:
    """The caller's access to an object, which is shared with them as ``shared``; None for none.

    Being an administrator gives no access to other people's content.
    """
    if resource.owner_id == principal.user_id:
        return Access.OWNER
    return shared or (Access.READ if resource.is_public else None)


def may_use_model(principal: Principal, model_id: str, *, is_open: bool) -> bool:
    """Whether the caller may use a model (docs/reference/agentex-api.md, sections 4.4 and 6.2).

    The account's own ``model_access`` decides alone if an administrator has set it: it lists every
    model that the account may use, whatever the models say. Without it the model decides.

    Args:
        is_open: whether the model's own ``role_access`` and ``user_access`` let the caller in.
    """
    return is_open if principal.model_access is None else model_id in principal.model_access


def check_access(access: Access | None, action: Action, missing: type[NotFound]) -> None:
    """Refuse an action that the access does not allow.

    Args:
        access: None also if the object does not exist.
        missing: raised if the caller may not see the object: this and its absence look the same.
    """
    if access is None:
        raise missing
    if access.allows(action):
        return
    raise OwnerOnly if access.allows(Action.WRITE) else ReadOnly


async def get_owned(
    session: AsyncSession, model: type[OwnedT], resource_id: str, principal: Principal, missing: type[NotFound]
) -> OwnedT:
    """Load an object that only its owner may see; other people's raise ``missing`` too."""
    row = (await session.exec(select(model).where(model.id == resource_id))).first()  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownMemberType] # a table class's attribute is a column
    if row is None or row.owner_id != principal.user_id:
        raise missing
    return row
