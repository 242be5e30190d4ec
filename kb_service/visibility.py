"""Who reads which documents of a knowledge base that they passed the gate of: the one rule."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import BindParameter, ColumnElement, func, or_, true
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.sharing import shared_resource_ids
from core.errors.requests import InvalidRequest
from kb_service.models import Document, KnowledgeBase

MOST_HIDDEN = 20_000
"""Documents that one search can leave out: each of its legs names them all."""
_TOO_MANY = "Too many documents of these are restricted for one search: name fewer knowledge bases"


class Reader(Protocol):
    """Somebody who reads; an authenticated caller is one."""

    @property
    def user_id(self) -> str:
        """The account."""
        ...


@dataclass(frozen=True)
class Person:
    """Somebody by their account alone, for what goes on after their request, such as a run."""

    user_id: str


class _Everything:
    """Reads for nobody in particular."""

    user_id = ""


EVERYTHING: Reader = _Everything()
"""The product itself at work: for what no person is shown."""


def readable(reader: Reader) -> ColumnElement[bool]:
    """The rule as a condition on rows of ``Document``.

    A document that is not restricted is for whoever reads its knowledge base. A restricted one is
    for the knowledge base's owner and for those whom it is shared with, by name or by the role
    that they have at this moment.

    Args:
        reader: who asks; the knowledge base's own gate is passed.
    """
    if reader is EVERYTHING:
        return true()
    return or_(col(Document.restricted).is_(False), is_admitted(reader.user_id))


def is_admitted(user_id: str | BindParameter[str]) -> ColumnElement[bool]:
    """Who reads a document though it is restricted, as a condition on rows of ``Document``."""
    owned = select(KnowledgeBase.id).where(col(KnowledgeBase.owner_id) == user_id)
    shared = shared_resource_ids(user_id, Document.SHARE_KIND)
    return or_(col(Document.knowledge_base_id).in_(owned), col(Document.id).in_(shared))


def is_open_to(reader: Reader) -> ColumnElement[bool]:
    """Who reads a knowledge base, as a condition on its row: for what goes on behind the gate.

    Args:
        reader: who passed the gate, and need not pass it any more.
    """
    if reader is EVERYTHING:
        return true()
    shared = shared_resource_ids(reader.user_id, KnowledgeBase.SHARE_KIND)
    return or_(
        col(KnowledgeBase.owner_id) == reader.user_id,
        col(KnowledgeBase.is_public).is_(True),
        col(KnowledgeBase.id).in_(shared),
    )


def sees_all(knowledge_base: KnowledgeBase, reader: Reader) -> bool:
    """Whether there is surely nothing in a knowledge base that is not for this reader."""
    is_owner = knowledge_base.owner_id == reader.user_id
    return reader is EVERYTHING or is_owner or not knowledge_base.narrowed


async def hidden_documents(
    session: AsyncSession, knowledge_bases: Sequence[KnowledgeBase], reader: Reader
) -> frozenset[str]:
    """The documents of these knowledge bases that are not for this reader, by their ids.

    Args:
        session: to read from.
        knowledge_bases: they passed the gate; those that were never narrowed cost nothing.
        reader: who asks.

    Raises:
        InvalidRequest: they are more than one search can leave out.
    """
    narrowed = [row.id for row in knowledge_bases if row.narrowed]
    if not narrowed or reader is EVERYTHING:
        return frozenset()
    found = await hidden_in(session, narrowed, reader)
    if len(found) > MOST_HIDDEN:
        raise InvalidRequest("knowledge_base_ids", _TOO_MANY)
    return found


async def hidden_in(
    session: AsyncSession, knowledge_base_ids: Sequence[str], reader: Reader
) -> frozenset[str]:
    """The same, whatever is known of the knowledge bases; one more than the most of them at most."""
    query = select(Document.id).where(
        col(Document.knowledge_base_id).in_(knowledge_base_ids),
        # As the index of restricted documents is written.
        col(Document.restricted).is_(True),
        ~is_admitted(reader.user_id),
    )
    return frozenset((await session.exec(query.limit(MOST_HIDDEN + 1))).all())


async def readable_of(
    session: AsyncSession, reader: Reader, document_ids: Collection[str]
) -> frozenset[str]:
    """Those of these documents that are there and for this reader."""
    query = select(Document.id).where(
        col(Document.id).in_(document_ids), col(Document.deleted_at).is_(None), readable(reader)
    )
    return frozenset((await session.exec(query)).all())


async def restricted_named(
    session: AsyncSession, reader: Reader, knowledge_base_id: str, names: Collection[str]
) -> dict[str, list[str]]:
    """The ids of the restricted documents of these names that a reader reads, by name."""
    query = select(Document.name, Document.id).where(
        col(Document.knowledge_base_id) == knowledge_base_id,
        col(Document.name).in_(names),
        col(Document.restricted).is_(True),
        col(Document.deleted_at).is_(None),
        readable(reader),
    )
    found: dict[str, list[str]] = {}
    for name, id_ in (await session.exec(query)).all():
        found.setdefault(name, []).append(id_)
    return found


async def count_documents(
    session: AsyncSession, reader: Reader, knowledge_bases: Sequence[KnowledgeBase]
) -> dict[str, int]:
    """The number of documents of each that somebody reads; one without documents is absent."""
    mine = [] if all(sees_all(row, reader) for row in knowledge_bases) else [readable(reader)]
    query = (
        select(Document.knowledge_base_id, func.count())
        .where(
            col(Document.knowledge_base_id).in_([row.id for row in knowledge_bases]),
            col(Document.deleted_at).is_(None),
            *mine,
        )
        .group_by(Document.knowledge_base_id)
    )
    return dict((await session.exec(query)).all())
