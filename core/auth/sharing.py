"""Shares of objects, and the access checks that use them."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pydantic import JsonValue
from sqlalchemy import BindParameter, ColumnElement, delete, or_
from sqlalchemy.orm import Mapped
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import Role, Share, User, UserStatus
from core.auth.principal import Access, Action, Principal, Shareable, access_to, check_access
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import NotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.text.confusables import name_key

ShareableT = TypeVar("ShareableT", bound=Shareable)

MAX_SHARES = 200
"""People and roles that one object can be shared with."""


@dataclass(frozen=True)
class ShareSpec:
    """A requested share: a user by id or name, or a role by name, and ``READ`` or ``WRITE``."""

    access: Access
    user_id: str | None = None
    username: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class ShareEntry:
    """A share of an object with a user or a role, its time and access."""

    access: Access
    since: datetime
    user: User | None
    role: Role | None


async def authorize(
    session: AsyncSession, principal: Principal, action: Action, resource: ShareableT | None, missing: type[NotFound]
) -> ShareableT:
    """Return the object if the caller may do this with it.

    Args:
        resource: None if it does not exist.
        missing: raised for None and for what the caller may not see: the two look the same.
    """
    if resource is None:
        raise missing
    access = access_to(principal, resource)
    # Owners, and readers of public objects, need no query.
    if access is None or not access.allows(action):
        access = (await access_by_id(session, principal, [resource]))[resource.id]
    check_access(access, action, missing)
    return resource


async def access_by_id(
    session: AsyncSession, principal: Principal, resources: Sequence[Shareable]
) -> dict[str, Access | None]:
    """The caller's access to objects of one kind, by id; None for none."""
    shared: dict[str, Access] = {}
    if resources:
        query = select(Share.resource_id, Share.access).where(
            Share.kind == resources[0].SHARE_KIND,
            col(Share.resource_id).in_([resource.id for resource in resources]),
            _is_mine(principal),
        )
        for resource_id, access in (await session.exec(query)).all():
            if shared.get(resource_id) is not Access.WRITE:
                shared[resource_id] = Access(access)
    return {resource.id: access_to(principal, resource, shared.get(resource.id)) for resource in resources}


def visible_to(
    principal: Principal, kind: str, resource_id: Mapped[str], owner_id: Mapped[str], is_public: Mapped[bool]
) -> ColumnElement[bool]:
    """The rule of :func:`authorize` for reading, as a condition of a query."""
    mine = select(Share.resource_id).where(Share.kind == kind, _is_mine(principal))
    return or_(owner_id == principal.user_id, is_public.is_(True), resource_id.in_(mine))


def shared_resource_ids(
    user_id: str | BindParameter[str], kind: str, *, only_to_change: bool = False
) -> SelectOfScalar[str]:
    """Ids of the objects shared with a user (with ``only_to_change``: to write), directly or by their current role."""
    role = select(User.role_id).where(col(User.id) == user_id).scalar_subquery()
    query = select(Share.resource_id).where(
        col(Share.kind) == kind, or_(col(Share.user_id) == user_id, col(Share.role_id) == role)
    )
    return query.where(Share.access == Access.WRITE.value) if only_to_change else query


def _is_mine(principal: Principal) -> ColumnElement[bool]:
    role = select(Role.id).where(Role.name == principal.role).scalar_subquery()
    return or_(col(Share.user_id) == principal.user_id, col(Share.role_id) == role)


async def list_shares(session: AsyncSession, resource: Shareable) -> list[ShareEntry]:
    """Shares of an object, oldest first."""
    query = (
        select(Share, User, Role)
        .outerjoin(User, col(User.id) == col(Share.user_id))
        .outerjoin(Role, col(Role.id) == col(Share.role_id))
        .where(Share.kind == resource.SHARE_KIND, Share.resource_id == resource.id)
        .order_by(col(Share.created_at), col(Share.id))
    )
    return [
        ShareEntry(Access(share.access), share.created_at, user, role)
        for share, user, role in (await session.exec(query)).all()
    ]


async def share_subject_ids(session: AsyncSession, resource: Shareable) -> frozenset[tuple[str | None, str | None]]:
    """Ids of the users and roles that an object is shared with, to detect changes."""
    query = select(Share.user_id, Share.role_id).where(
        Share.kind == resource.SHARE_KIND, Share.resource_id == resource.id
    )
    return frozenset((await session.exec(query)).all())


async def replace_shares(
    work: UnitOfWork, resource: Shareable, specs: Sequence[ShareSpec], *, field: str = "shares"
) -> None:
    """Replace an object's shares; people who are not listed lose access at once.

    Args:
        work: the transaction, in which the object's row is locked.
        field: the list's name in the request.
    """
    if len(specs) > MAX_SHARES:
        raise InvalidRequest(
            field, f"Share with {MAX_SHARES} people and roles at most", f"最多共享给 {MAX_SHARES} 个用户和角色"
        )
    session = work.session
    shares = select(Share).where(Share.kind == resource.SHARE_KIND, Share.resource_id == resource.id)
    present = {(row.user_id, row.role_id): row for row in (await session.exec(shares)).all()}
    subjects: set[tuple[str | None, str | None]] = set()
    for number, spec in enumerate(specs):
        subject = await _subject(session, spec, field=f"{field}.{number}")
        if subject[0] == resource.owner_id:
            raise InvalidRequest(f"{field}.{number}", "It is the owner's already", "所有者无需共享")
        if subject in subjects:
            raise InvalidRequest(
                f"{field}.{number}", "Name each person and each role once", "每个用户和角色只能出现一次"
            )
        subjects.add(subject)
        row = present.get(subject) or Share(
            kind=resource.SHARE_KIND,
            resource_id=resource.id,
            user_id=subject[0],
            role_id=subject[1],
            access=spec.access.value,
        )
        row.access = spec.access.value
        session.add(row)
    for subject, row in present.items():
        if subject not in subjects:
            await session.delete(row)
    await session.flush()


async def delete_shares(work: UnitOfWork, kind: str, resource_ids: Collection[str] | SelectOfScalar[str]) -> None:
    """Delete the shares of deleted objects, given as ids or as a query."""
    await work.session.exec(delete(Share).where(col(Share.kind) == kind, col(Share.resource_id).in_(resource_ids)))


async def delete_user_shares(
    work: UnitOfWork, user_id: str, *, kind: str | None = None, resource_ids: Collection[str] | SelectOfScalar[str] = ()
) -> None:
    """Delete a user's shares: all, or only those of these objects."""
    statement = delete(Share).where(col(Share.user_id) == user_id)
    if kind is not None:
        statement = statement.where(col(Share.kind) == kind, col(Share.resource_id).in_(resource_ids))
    await work.session.exec(statement)


async def _subject(session: AsyncSession, spec: ShareSpec, *, field: str) -> tuple[str | None, str | None]:
    """The ids of a user and of a role, one of them None."""
    if spec.role is not None:
        role = (await session.exec(select(Role.id).where(Role.name == spec.role))).first()
        if role is None:
            raise InvalidRequest(f"{field}.role", "There is no role of this name", "没有该名称的角色")
        return None, role
    by_id = col(User.id) == spec.user_id
    by_name = col(User.username_key) == name_key(spec.username or "")
    there = select(User.id).where(by_id if spec.user_id else by_name, User.status != UserStatus.DELETED.value)
    user = (await session.exec(there)).first()
    if user is None:
        raise InvalidRequest(field, "There is no user of this name or id", "没有该名称或 id 的用户")
    return user, None


_VERSION_DIGITS = 16
_CHANGED = (
    "The shares were changed since they were read: read them again",
    "共享名单在读取后已被修改：请重新读取",
)


@dataclass(frozen=True)
class ShareAuditActions:
    """Audit actions for sharing and unsharing one kind of object."""

    shared: AuditAction
    unshared: AuditAction


def share_list_version(shares: Sequence[ShareEntry]) -> str:
    """Version hash of a share list."""
    lines = sorted(f"{who} {access}" for who, access in access_by_subject(shares).items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_VERSION_DIGITS]


async def replace_share_list(
    work: UnitOfWork, resource: Shareable, specs: Sequence[ShareSpec], version: str | None, acts: ShareAuditActions
) -> list[ShareEntry]:
    """Replace an object's shares if the list still has the version that the caller read.

    Args:
        work: the transaction, in which the object's row is locked and the caller is authorized.
        version: of the list that the caller read; None for any.
    """
    session = work.session
    present = await list_shares(session, resource)
    if version not in (None, current := share_list_version(present)):
        error, error_zh = _CHANGED
        raise Conflict(field="version", error=error, error_zh=error_zh, version=current)
    before = access_by_subject(present)
    await replace_shares(work, resource, specs)
    shares = await list_shares(session, resource)
    after = access_by_subject(shares)
    target = AuditTarget(resource.SHARE_KIND, resource.id)
    gained = {who: access for who, access in after.items() if before.get(who) != access}
    if gained:
        audit(session, acts.shared, target, details=_access_details(gained))
    lost = {who: access for who, access in before.items() if who not in after}
    if lost:
        audit(session, acts.unshared, target, details=_access_details(lost))
    return shares


def audit_public(work: UnitOfWork, resource: Shareable, acts: ShareAuditActions) -> None:
    """Audit a change of ``is_public``."""
    act = acts.shared if resource.is_public else acts.unshared
    target = AuditTarget(resource.SHARE_KIND, resource.id)
    audit(work.session, act, target, details={"public": "read"})


def _access_details(shares: Mapping[str, str]) -> dict[str, JsonValue]:
    # A list: as a key, a name that looks like a secret's would be redacted.
    return {"shares": [{"who": who, "access": access} for who, access in shares.items()]}


def access_by_subject(shares: Sequence[ShareEntry]) -> dict[str, str]:
    """Access by subject (``user`` or ``role`` and the name), for the audit log."""
    return {
        f"user {entry.user.username}" if entry.user else f"role {entry.role.name if entry.role else ''}": (
            entry.access.value
        )
        for entry in shares
    }
