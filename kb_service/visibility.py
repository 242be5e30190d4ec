"""Document visibility inside a knowledge base that passed the gate: the only rule."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import BindParameter, ColumnElement, and_, distinct, func, or_, true
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.auth.models import User
from core.auth.sharing import shared_resource_ids
from core.errors.requests import InvalidRequest
from kb_service.models import Document, DocumentStatus, KnowledgeBase, ReaderKind, SourceReader

MOST_HIDDEN = 20_000
"""Documents that one search can exclude: each leg lists all their ids."""
_TOO_MANY = "Too many documents of these are restricted for one search: name fewer knowledge bases"


class Viewer(Protocol):
    """A reader; authenticated callers are viewers."""

    @property
    def user_id(self) -> str:
        """The account."""
        ...


@dataclass(frozen=True)
class UserViewer:
    """A viewer known only by account, for work that outlives the request, such as a run."""

    user_id: str


class _SystemViewer:
    """The system itself, not a user."""

    user_id = ""


SYSTEM_VIEWER: Viewer = _SystemViewer()
"""The system itself, for results that no person sees."""


def visible_to(viewer: Viewer) -> ColumnElement[bool]:
    """The rule as a condition on rows of ``Document``; the knowledge base's own gate is passed.

    An open document is visible to everybody who reads its knowledge base. A restricted one is visible to the owner and
    to those it is shared with, by name or by a role that they have now; where its source restricts it, to those whom
    that admits.
    """
    if viewer is SYSTEM_VIEWER:
        return true()
    return or_(col(Document.restricted).is_(False), granted_to(viewer.user_id))


def granted_to(user_id: str | BindParameter[str]) -> ColumnElement[bool]:
    """Condition on ``Document``: a restricted document that the user can read."""
    owned = select(KnowledgeBase.id).where(col(KnowledgeBase.owner_id) == user_id)
    shared = shared_resource_ids(user_id, Document.SHARE_KIND)
    return or_(
        col(Document.knowledge_base_id).in_(owned),
        and_(
            or_(col(Document.only_by_source).is_(True), col(Document.id).in_(shared)),
            or_(col(Document.source_levels) == 0, col(Document.id).in_(_admitted_by_source(user_id))),
        ),
    )


def _admitted_by_source(user_id: str | BindParameter[str]) -> SelectOfScalar[str]:
    """Ids of the documents of which the user is in every list, by a verified address or by a role that they have now."""
    user = select(User.email_key).where(col(User.id) == user_id)
    email = user.where(col(User.email_verified).is_(True)).scalar_subquery()
    role = select(User.role_id).where(col(User.id) == user_id).scalar_subquery()
    is_theirs = or_(
        and_(col(SourceReader.kind) == ReaderKind.EMAIL.value, col(SourceReader.value) == email),
        and_(col(SourceReader.kind) == ReaderKind.ROLE.value, col(SourceReader.value) == role),
    )
    return (
        select(SourceReader.document_id)
        .where(is_theirs)
        .group_by(col(SourceReader.document_id), col(SourceReader.levels))
        .having(func.count(distinct(col(SourceReader.level))) == col(SourceReader.levels))
    )


def knowledge_base_visible_to(viewer: Viewer) -> ColumnElement[bool]:
    """Condition on ``KnowledgeBase`` that the viewer can still read it, for work behind the gate."""
    if viewer is SYSTEM_VIEWER:
        return true()
    shared = shared_resource_ids(viewer.user_id, KnowledgeBase.SHARE_KIND)
    return or_(
        col(KnowledgeBase.owner_id) == viewer.user_id,
        col(KnowledgeBase.is_public).is_(True),
        col(KnowledgeBase.id).in_(shared),
    )


def sees_all(knowledge_base: KnowledgeBase, viewer: Viewer) -> bool:
    """Whether nothing in a knowledge base can be hidden from this viewer."""
    is_owner = knowledge_base.owner_id == viewer.user_id
    return viewer is SYSTEM_VIEWER or is_owner or not knowledge_base.narrowed


async def hidden_document_ids(
    session: AsyncSession, knowledge_bases: Sequence[KnowledgeBase], viewer: Viewer
) -> frozenset[str]:
    """Ids of the documents in these knowledge bases that are hidden from the viewer.

    Knowledge bases that were never narrowed cost nothing.

    Raises:
        InvalidRequest: there are more than one search can exclude.
    """
    narrowed = [row.id for row in knowledge_bases if row.narrowed]
    if not narrowed or viewer is SYSTEM_VIEWER:
        return frozenset()
    hidden_ids = await hidden_ids_in(session, narrowed, viewer)
    if len(hidden_ids) > MOST_HIDDEN:
        raise InvalidRequest("knowledge_base_ids", _TOO_MANY)
    return hidden_ids


async def hidden_ids_in(session: AsyncSession, knowledge_base_ids: Sequence[str], viewer: Viewer) -> frozenset[str]:
    """Hidden ids without looking at the knowledge bases' rows; stops one above the limit."""
    query = select(Document.id).where(
        col(Document.knowledge_base_id).in_(knowledge_base_ids),
        # Written exactly like the condition of the partial index.
        col(Document.restricted).is_(True),
        ~granted_to(viewer.user_id),
    )
    return frozenset((await session.exec(query.limit(MOST_HIDDEN + 1))).all())


async def visible_ids(session: AsyncSession, viewer: Viewer, document_ids: Collection[str]) -> frozenset[str]:
    """Those of these documents that exist and are visible to the viewer."""
    query = select(Document.id).where(
        col(Document.id).in_(document_ids), col(Document.deleted_at).is_(None), visible_to(viewer)
    )
    return frozenset((await session.exec(query)).all())


async def restricted_ids_by_name(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, names: Collection[str]
) -> dict[str, list[str]]:
    """Ids of the viewer's restricted documents with these names, by name."""
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


def has_document(viewer: Viewer, statuses: Collection[DocumentStatus]) -> ColumnElement[bool]:
    """Condition on ``KnowledgeBase`` that it has a document in one of these states that the viewer can read."""
    holders = select(Document.knowledge_base_id).where(
        # Led by the status, of which few documents are: their index is read, not that of each knowledge base.
        col(Document.status).in_([status.value for status in statuses]),
        col(Document.deleted_at).is_(None),
        visible_to(viewer),
    )
    return col(KnowledgeBase.id).in_(holders)


async def count_documents(
    session: AsyncSession, viewer: Viewer, knowledge_bases: Sequence[KnowledgeBase]
) -> dict[str, int]:
    """Number of documents that the viewer can read, by knowledge base; empty ones are absent."""
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
