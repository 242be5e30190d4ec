"""The one gate: who asks, what a role permits, and which objects a caller may see or change."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Mapped
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.permissions import Permission
from core.errors import NotFound, PermissionDenied, ReadOnly


@dataclass(frozen=True)
class Principal:
    """Who asks: the same object for a token, an API key or a job on a user's behalf.

    Args:
        user_id: the account.
        username: for logs and answers.
        role: name of its role.
        permissions: what the role allows.
        family_id: the login that the token descends from; None for an API key.
    """

    user_id: str
    username: str
    role: str
    permissions: frozenset[Permission]
    family_id: str | None = None

    def require(self, permission: Permission) -> None:
        """Pass, or refuse.

        Raises:
            PermissionDenied: the role does not allow it.
        """
        if permission not in self.permissions:
            raise PermissionDenied(permission=permission.value)


class Action(StrEnum):
    """What the caller wants to do with an object."""

    READ = "read"
    WRITE = "write"


class Shareable(Protocol):
    """An object with an owner that may be open to all."""

    id: str
    owner_id: str
    is_public: bool


class Owned(Protocol):
    """An object that only its owner sees."""

    id: str
    owner_id: str


ShareableT = TypeVar("ShareableT", bound=Shareable)
OwnedT = TypeVar("OwnedT", bound=Owned)


def may(principal: Principal, action: Action, resource: Shareable) -> bool:
    """Whether the caller may do this: owners everything, others read what is public.

    Being an administrator gives no look into other people's content.
    """
    if resource.owner_id == principal.user_id:
        return True
    return action is Action.READ and resource.is_public


def visible_to(
    principal: Principal,
    owner_id: Mapped[str],
    is_public: Mapped[bool],
) -> ColumnElement[bool]:
    """The same rule as :func:`may` for reading, as a condition of a query."""
    return or_(owner_id == principal.user_id, is_public.is_(True))


def allow(
    principal: Principal, action: Action, resource: ShareableT | None, missing: type[NotFound]
) -> ShareableT:
    """Give the object back if the caller may do this with it.

    Args:
        principal: who asks.
        action: what for.
        resource: the object, None when there is none.
        missing: raised when there is none or the caller may not see it: the two look the same.

    Raises:
        NotFound: as said.
        ReadOnly: the caller may see it but not change it.
    """
    if resource is None or not may(principal, Action.READ, resource):
        raise missing
    if not may(principal, action, resource):
        raise ReadOnly
    return resource


async def get_owned(
    session: AsyncSession,
    model: type[OwnedT],
    resource_id: str,
    principal: Principal,
    missing: type[NotFound],
) -> OwnedT:
    """Load an object that only its owner may see.

    Raises:
        NotFound: no such object, or somebody else's.
    """
    found = (await session.exec(select(model).where(model.id == resource_id))).first()  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownMemberType] # a table class's attribute is a column
    if found is None or found.owner_id != principal.user_id:
        raise missing
    return found
