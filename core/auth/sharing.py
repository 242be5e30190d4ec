"""With whom objects are shared, and the one gate that asks it."""

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
    """Whom an object is to be shared with: a person by id or user name, or a role by name.

    Args:
        access: ``Access.READ`` or ``Access.WRITE``.
    """

    access: Access
    user_id: str | None = None
    username: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class ShareEntry:
    """Whom an object is shared with: a person or a role, since when and how far."""

    access: Access
    since: datetime
    user: User | None
    role: Role | None


async def authorize(
    session: AsyncSession, principal: Principal, action: Action, resource: ShareableT | None, missing: type[NotFound]
) -> ShareableT:
    """Give an object back if the caller may do this with it.

    Args:
        resource: the object, None when there is none.
        missing: raised when there is none or the caller may not see it: the two look the same.
    """
    if resource is None:
        raise missing
    access = access_to(principal, resource)
    # Owners, and readers of what is open to all, cost no question.
    if access is None or not access.allows(action):
        access = (await access_by_id(session, principal, [resource]))[resource.id]
    check_access(access, action, missing)
    return resource


async def access_by_id(
    session: AsyncSession, principal: Principal, resources: Sequence[Shareable]
) -> dict[str, Access | None]:
    """How far objects of one kind are open to the caller, by id; None: not at all."""
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
    """The rule of :func:`admit` for reading, as a condition of a query."""
    mine = select(Share.resource_id).where(Share.kind == kind, _is_mine(principal))
    return or_(owner_id == principal.user_id, is_public.is_(True), resource_id.in_(mine))


def shared_resource_ids(
    user_id: str | BindParameter[str], kind: str, *, only_to_change: bool = False
) -> SelectOfScalar[str]:
    """The ids of what is shared with somebody, by name or by the role that they have at this moment.

    Args:
        only_to_change: whether those that may only be read are left out.
    """
    role = select(User.role_id).where(col(User.id) == user_id).scalar_subquery()
    query = select(Share.resource_id).where(
        col(Share.kind) == kind, or_(col(Share.user_id) == user_id, col(Share.role_id) == role)
    )
    return query.where(Share.access == Access.WRITE.value) if only_to_change else query


def _is_mine(principal: Principal) -> ColumnElement[bool]:
    role = select(Role.id).where(Role.name == principal.role).scalar_subquery()
    return or_(col(Share.user_id) == principal.user_id, col(Share.role_id) == role)


async def list_shares(session: AsyncSession, resource: Shareable) -> list[ShareEntry]:
    """Whom an object is shared with, those first who have had it longest."""
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
    """The ids of the people and roles that an object is shared with, to tell that it changed."""
    query = select(Share.user_id, Share.role_id).where(
        Share.kind == resource.SHARE_KIND, Share.resource_id == resource.id
    )
    return frozenset((await session.exec(query)).all())


async def replace_shares(
    work: UnitOfWork, resource: Shareable, specs: Sequence[ShareSpec], *, field: str = "shares"
) -> None:
    """Share an object with exactly these; whoever is not among them loses it at once.

    Args:
        work: the transaction, in which the object's row is locked.
        field: how the request calls the list.
    """
    if len(specs) > MAX_SHARES:
        raise InvalidRequest(field, f"Share with {MAX_SHARES} people and roles at most")
    session = work.session
    shares = select(Share).where(Share.kind == resource.SHARE_KIND, Share.resource_id == resource.id)
    present = {(row.user_id, row.role_id): row for row in (await session.exec(shares)).all()}
    subjects: set[tuple[str | None, str | None]] = set()
    for number, spec in enumerate(specs):
        subject = await _subject(session, spec, field=f"{field}.{number}")
        if subject[0] == resource.owner_id:
            raise InvalidRequest(f"{field}.{number}", "It is the owner's already")
        if subject in subjects:
            raise InvalidRequest(f"{field}.{number}", "Name each person and each role once")
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
    """Share objects with nobody, because they are taken away; named by ids, or by a query."""
    await work.session.exec(delete(Share).where(col(Share.kind) == kind, col(Share.resource_id).in_(resource_ids)))


async def delete_user_shares(
    work: UnitOfWork, user_id: str, *, kind: str | None = None, resource_ids: Collection[str] | SelectOfScalar[str] = ()
) -> None:
    """Share nothing with somebody any more, or none of these objects of one kind."""
    statement = delete(Share).where(col(Share.user_id) == user_id)
    if kind is not None:
        statement = statement.where(col(Share.kind) == kind, col(Share.resource_id).in_(resource_ids))
    await work.session.exec(statement)


async def _subject(session: AsyncSession, spec: ShareSpec, *, field: str) -> tuple[str | None, str | None]:
    """The ids of a person and of a role, one of them None."""
    if spec.role is not None:
        role = (await session.exec(select(Role.id).where(Role.name == spec.role))).first()
        if role is None:
            raise InvalidRequest(f"{field}.role", "There is no role of this name")
        return None, role
    by_id = col(User.id) == spec.user_id
    by_name = col(User.username_key) == name_key(spec.username or "")
    there = select(User.id).where(by_id if spec.user_id else by_name, User.status != UserStatus.DELETED.value)
    user = (await session.exec(there)).first()
    if user is None:
        raise InvalidRequest(field, "There is no user of this name or id")
    return user, None


_VERSION_DIGITS = 16
_CHANGED = "The shares were changed since they were read: read them again"


@dataclass(frozen=True)
class ShareAuditActions:
    """How the audit log calls that an object is shared, and that it is not any more."""

    shared: AuditAction
    unshared: AuditAction


def share_list_version(shares: Sequence[ShareEntry]) -> str:
    """What a list of shares is told from another one by."""
    lines = sorted(f"{who} {access}" for who, access in access_by_subject(shares).items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_VERSION_DIGITS]


async def replace_share_list(
    work: UnitOfWork, resource: Shareable, specs: Sequence[ShareSpec], version: str | None, acts: ShareAuditActions
) -> list[ShareEntry]:
    """Share an object with exactly these people and roles, from now on.

    Args:
        work: the transaction, in which the object's row is locked and the caller was let through.
        version: of the list that the caller read; None for whatever it is now.
    """
    session = work.session
    present = await list_shares(session, resource)
    if version not in (None, current := share_list_version(present)):
        raise Conflict(field="version", error=_CHANGED, version=current)
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
    """Note that an object was opened to all, or is not any more, as ``is_public`` says now."""
    act = acts.shared if resource.is_public else acts.unshared
    target = AuditTarget(resource.SHARE_KIND, resource.id)
    audit(work.session, act, target, details={"public": "read"})


def _access_details(shares: Mapping[str, str]) -> dict[str, JsonValue]:
    # As a list: a name that is a key would be redacted where it looks like a secret's.
    return {"shares": [{"who": who, "access": access} for who, access in shares.items()]}


def access_by_subject(shares: Sequence[ShareEntry]) -> dict[str, str]:
    """How far, by who: user or role, and the name; for the audit log."""
    return {
        f"user {entry.user.username}" if entry.user else f"role {entry.role.name if entry.role else ''}": (
            entry.access.value
        )
        for entry in shares
    }
