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


class Viewer(Protocol):
    """Somebody who reads; an authenticated caller is one."""

    @property
    def user_id(self) -> str:
        """The account."""
        ...


@dataclass(frozen=True)
class UserViewer:
    """Somebody by their account alone, for what goes on after their request, such as a run."""

    user_id: str


class _SystemViewer:
    """Reads for nobody in particular."""

    user_id = ""


SYSTEM_VIEWER: Viewer = _SystemViewer()
"""The product itself at work: for what no person is shown."""


def visible_to(viewer: Viewer) -> ColumnElement[bool]:
    """The rule as a condition on rows of ``Document``.

    A document that is not restricted is for whoever reads its knowledge base. A restricted one is
    for the knowledge base's owner and for those whom it is shared with, by name or by the role
    that they have at this moment.

    Args:
        viewer: who asks; the knowledge base's own gate is passed.
    """
    if viewer is SYSTEM_VIEWER:
        return true()
    return or_(col(Document.restricted).is_(False), granted_to(viewer.user_id))


def granted_to(user_id: str | BindParameter[str]) -> ColumnElement[bool]:
    """Who reads a document though it is restricted, as a condition on rows of ``Document``."""
    owned = select(KnowledgeBase.id).where(col(KnowledgeBase.owner_id) == user_id)
    shared = shared_resource_ids(user_id, Document.SHARE_KIND)
    return or_(col(Document.knowledge_base_id).in_(owned), col(Document.id).in_(shared))


def knowledge_base_visible_to(viewer: Viewer) -> ColumnElement[bool]:
    """Who reads a knowledge base, as a condition on its row: for what goes on behind the gate.

    Args:
        viewer: who passed the gate, and need not pass it any more.
    """
    if viewer is SYSTEM_VIEWER:
        return true()
    shared = shared_resource_ids(viewer.user_id, KnowledgeBase.SHARE_KIND)
    return or_(
        col(KnowledgeBase.owner_id) == viewer.user_id,
        col(KnowledgeBase.is_public).is_(True),
        col(KnowledgeBase.id).in_(shared),
    )


def sees_all(knowledge_base: KnowledgeBase, viewer: Viewer) -> bool:
    """Whether there is surely nothing in a knowledge base that is not for this viewer."""
    is_owner = knowledge_base.owner_id == viewer.user_id
    return viewer is SYSTEM_VIEWER or is_owner or not knowledge_base.narrowed


async def hidden_document_ids(
    session: AsyncSession, knowledge_bases: Sequence[KnowledgeBase], viewer: Viewer
) -> frozenset[str]:
    """The documents of these knowledge bases that are not for this viewer, by their ids.

    Args:
        session: to read from.
        knowledge_bases: they passed the gate; those that were never narrowed cost nothing.
        viewer: who asks.

    Raises:
        InvalidRequest: they are more than one search can leave out.
    """
    narrowed = [row.id for row in knowledge_bases if row.narrowed]
    if not narrowed or viewer is SYSTEM_VIEWER:
        return frozenset()
    hidden_ids = await hidden_ids_in(session, narrowed, viewer)
    if len(hidden_ids) > MOST_HIDDEN:
        raise InvalidRequest("knowledge_base_ids", _TOO_MANY)
    return hidden_ids


async def hidden_ids_in(session: AsyncSession, knowledge_base_ids: Sequence[str], viewer: Viewer) -> frozenset[str]:
    """The same, whatever is known of the knowledge bases; one more than the most of them at most."""
    query = select(Document.id).where(
        col(Document.knowledge_base_id).in_(knowledge_base_ids),
        # As the index of restricted documents is written.
        col(Document.restricted).is_(True),
        ~granted_to(viewer.user_id),
    )
    return frozenset((await session.exec(query.limit(MOST_HIDDEN + 1))).all())


async def visible_ids(session: AsyncSession, viewer: Viewer, document_ids: Collection[str]) -> frozenset[str]:
    """Those of these documents that are there and for this viewer."""
    query = select(Document.id).where(
        col(Document.id).in_(document_ids), col(Document.deleted_at).is_(None), visible_to(viewer)
    )
    return frozenset((await session.exec(query)).all())


async def restricted_ids_by_name(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, names: Collection[str]
) -> dict[str, list[str]]:
    """The ids of the restricted documents of these names that a viewer reads, by name."""
    query = select(Document.name, Document.id).where(
        col(Document.knowledge_base_id) == knowledge_base_id,
        col(Document.name).in_(names),
        col(Document.restricted).is_(True),
        col(Document.deleted_at).is_(None),
        visible_to(viewer),
    )
    ids: dict[str, list[str]] = {}
    for name, id_ in (await session.exec(query)).all():
        ids.setdefault(name, []).append(id_)
    return ids


async def count_documents(
    session: AsyncSession, viewer: Viewer, knowledge_bases: Sequence[KnowledgeBase]
) -> dict[str, int]:
    """The number of documents of each that somebody reads; one without documents is absent."""
    mine = [] if all(sees_all(row, viewer) for row in knowledge_bases) else [visible_to(viewer)]
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
