"""Event sources: addresses that take a person's signed events; every query names the owner."""

import secrets
from base64 import b64encode
from collections.abc import Sequence

from sqlalchemy import delete as delete_rows
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.authentication import ACTIVE
from core.auth.locks import lock_owner
from core.auth.models import User
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import EventSourceNotFound
from core.errors.conflicts import EventSourceNameTaken, EventSourcesFull
from core.security.vault import Vault
from rules.models import EventDrop, EventSource

MOST_SOURCES = 50
PURPOSE = "event source secrets"
SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with
"""Begins a secret, whose rest is the key in base64, as libraries for Standard Webhooks expect it."""
_KEY_BYTES = 32


def new_secret() -> str:
    """A secret that no source has."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


async def create(work: UnitOfWork, vault: Vault, owner_id: str, name: str) -> tuple[EventSource, str]:
    """Store a new source; returns it with its secret, which is shown only now."""
    await lock_owner(work.session, owner_id)
    mine = select(func.count()).select_from(EventSource).where(EventSource.owner_id == owner_id)
    if (await work.session.exec(mine)).one() >= MOST_SOURCES:
        raise EventSourcesFull(limit=MOST_SOURCES)
    same = select(EventSource.id).where(EventSource.owner_id == owner_id, EventSource.name == name)
    if (await work.session.exec(same)).first() is not None:
        raise EventSourceNameTaken(field="name", name=name)
    secret = new_secret()
    row = EventSource(owner_id=owner_id, name=name, sealed_secret=vault.encrypt(secret), created_at=utc_now())
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.EVENT_SOURCE_CREATED, _target(row.id))
    return row, secret


async def rotate(work: UnitOfWork, vault: Vault, owner_id: str, source_id: str) -> tuple[EventSource, str]:
    """Give a source another secret; the old one counts no more."""
    row = await get(work.session, owner_id, source_id)
    secret = new_secret()
    row.sealed_secret = vault.encrypt(secret)
    work.session.add(row)
    audit(work.session, AuditAction.EVENT_SOURCE_ROTATED, _target(row.id))
    return row, secret


async def get(session: AsyncSession, owner_id: str, source_id: str) -> EventSource:
    """One of an owner's sources."""
    query = select(EventSource).where(EventSource.id == source_id, EventSource.owner_id == owner_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise EventSourceNotFound
    return row


async def list_all(session: AsyncSession, owner_id: str) -> Sequence[EventSource]:
    """An owner's sources, oldest first."""
    query = select(EventSource).where(EventSource.owner_id == owner_id)
    return (await session.exec(query.order_by(col(EventSource.created_at), col(EventSource.id)))).all()


async def delete(work: UnitOfWork, owner_id: str, source_id: str) -> None:
    """Delete a source with its secret; rules that name it stay and get no more events."""
    await work.session.delete(await get(work.session, owner_id, source_id))
    drops = (col(EventDrop.owner_id) == owner_id, col(EventDrop.source_id) == source_id)
    await work.session.exec(delete_rows(EventDrop).where(*drops))
    audit(work.session, AuditAction.EVENT_SOURCE_DELETED, _target(source_id))


async def find_open(session: AsyncSession, source_id: str) -> EventSource | None:
    """Anybody's source whose owner may act, for an event that comes without credentials."""
    query = (
        select(EventSource)
        .join(User, col(User.id) == col(EventSource.owner_id))
        .where(EventSource.id == source_id, User.status == ACTIVE)
    )
    return (await session.exec(query)).first()


def _target(source_id: str) -> AuditTarget:
    return AuditTarget("event_source", source_id)
