"""The one gate: who asks, what a role permits, and which objects a caller may see or change."""

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
    """Who asks: the same object for a token, an API key or a job on a user's behalf.

    Args:
        permissions: what the role allows, with the account's own grants and without its revokes.
        family_id: the login that the token descends from; None for an API key.
        key_id: the API key; None for a token.
        is_scoped: an API key that has less than its account.
        model_access: the only models that the account may use; None sets no such limit.
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
        """The permissions that it does not have, as a run that it begins keeps them."""
        return tuple(permission.value for permission in Permission if permission not in self.permissions)

    def require(self, permission: Permission) -> None:
        """Pass, or refuse."""
        if permission not in self.permissions:
            raise PermissionDenied(permission=permission.value)

    @property
    def is_administrator(self) -> bool:
        """Whether it may act as an administrator, which a key with fewer permissions may not."""
        return self.role == ADMIN_ROLE and Permission.USERS_MANAGE in self.permissions

    def require_whole(self) -> None:
        """Pass who has all that the account has: nobody else changes the account itself."""
        if self.is_scoped:
            raise PermissionDenied(error="An API key with scopes can't change the account")

    def require_all(self, permissions: Iterable[Permission]) -> None:
        """Pass who has all of these: nobody hands out, or rules over, more than they have."""
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
        """Whether it is enough for this."""
        return action in _ALLOWED[self]


_ALLOWED = {Access.READ: {Action.READ}, Access.WRITE: {Action.READ, Action.WRITE}, Access.OWNER: set(Action)}


class Shareable(Protocol):
    """An object with an owner that may be open to others, to some or to all.

    ``SHARE_KIND`` names what it is where it is shared.
    """

    SHARE_KIND: ClassVar[str]
    id: str
    owner_id: str
    is_public: bool


class Owned(Protocol):
    """An object that only its owner sees."""

    id: str
    owner_id: str


OwnedT = TypeVar("OwnedT", bound=Owned)


def access_to(principal: Principal, resource: Shareable, shared: Access | None = None) -> Access | None:
    """How far an object is open to the caller; None: not at all.

    Being an administrator gives no look into other people's content.

    Args:
        shared: how far it is shared with the caller, or with a role of theirs.
    """
    if resource.owner_id == principal.user_id:
        return Access.OWNER
    return shared or (Access.READ if resource.is_public else None)


def may_use_model(principal: Principal, model_id: str, *, is_open: bool) -> bool:
    """Whether the caller may use a model (seed 002, sections 4.4 and 6.2).

    The account's own ``model_access`` decides alone where an administrator has set one: it lists
    every model that the account may use, whatever those models say. Without it the model decides.

    Args:
        model_id: of the model, as in ``model_access``.
        is_open: whether the model's own ``role_access`` and ``user_access`` let the caller in.
    """
    return is_open if principal.model_access is None else model_id in principal.model_access


def check_access(access: Access | None, action: Action, missing: type[NotFound]) -> None:
    """Pass, or refuse.

    Args:
        access: how far the object is open to the caller, None also where there is none.
        missing: raised where the caller may not see it: this and its absence look the same.
    """
    if access is None:
        raise missing
    if access.allows(action):
        return
    raise OwnerOnly if access.allows(Action.WRITE) else ReadOnly


async def get_owned(
    session: AsyncSession, model: type[OwnedT], resource_id: str, principal: Principal, missing: type[NotFound]
) -> OwnedT:
    """Load an object that only its owner may see."""
    row = (await session.exec(select(model).where(model.id == resource_id))).first()  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownMemberType] # a table class's attribute is a column
    if row is None or row.owner_id != principal.user_id:
        raise missing
    return row
