"""Knowledge bases: access, creation and settings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, bindparam, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.principal import Access, Action, Principal
from core.auth.sharing import (
    ShareAuditActions,
    ShareEntry,
    ShareSpec,
    access_by_id,
    audit_public,
    authorize,
    delete_shares,
    list_shares,
    replace_share_list,
    visible_to,
)
from core.auth.users import fold
from core.db.pagination import PageRequest, paginate
from core.db.types import new_id, utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import KnowledgeBaseNameTaken
from core.errors.requests import InvalidRequest, UnknownEmbeddingModel
from core.types.document_parsers import AUTO_STRATEGY, BUILT_IN
from kb_service.embeddings.catalog import DEFAULT, resolve, served_models
from kb_service.models import NAME_KEY_LENGTH, NAME_LENGTH, Document, DocumentStatus, KnowledgeBase, SplitterName
from kb_service.visibility import count_documents, has_document

ERASE_JOB = "knowledge_base.erase"

SHARE_AUDIT_ACTIONS = ShareAuditActions(AuditAction.KNOWLEDGE_BASE_SHARED, AuditAction.KNOWLEDGE_BASE_UNSHARED)

DEFAULT_SPLITTER = SplitterName.HEADING_RECURSIVE.value
DEFAULT_CHUNK_SIZE = 500
DEFAULT_CHUNK_OVERLAP = 50
CHUNK_SIZES = range(32, 2001)

SORT_FIELDS = ("created_at", "updated_at", "name")

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class KnowledgeBaseDraft:
    """Settable fields; None leaves one as it is, or at its default on creation.

    Chunk sizes are in tokens of the embedding model's tokenizer. ``retrieval`` are defaults for ``RetrievalOptions``:
    absent keys stay as they are, and None removes one. ``parser`` and ``strategy`` are checked by the caller
    (``ingestion.parsers.choice``); a parser without a strategy has that of its own choosing.
    """

    name: str | None = None
    description: str | None = None
    embedding_model: str | None = None
    splitter: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    retrieval: dict[str, Any] | None = None
    parser: str | None = None
    strategy: str | None = None
    is_public: bool | None = None
    enabled: bool | None = None


@dataclass(frozen=True)
class Splitting:
    """How documents are split: a splitter's name, and sizes in tokens of the embedding model."""

    splitter: str
    chunk_size: int
    chunk_overlap: int


@dataclass(frozen=True)
class KnowledgeBaseListing:
    """One page of knowledge bases, each with its number of documents and the caller's access."""

    items: Sequence[tuple[KnowledgeBase, int, Access]]
    total: int


@dataclass(frozen=True)
class ModelChoice:
    """The embedding model of a new knowledge base; ``replaced`` is the requested one, if unavailable."""

    model: str
    replaced: str | None = None


def choose_model(requested: str | None) -> ModelChoice:
    """The served encoder that fits a request.

    A well-known model that is not served here is replaced by the default one, so that clients written against the
    reference document work on a fresh installation; the response says so.
    """
    if requested is None:
        return ModelChoice(DEFAULT.name)
    model = resolve(requested)
    return ModelChoice(model.name) if model.served else ModelChoice(DEFAULT.name, model.name)


def require_served_model(name: str) -> str:
    """The full name of a served encoder; an ``UnknownEmbeddingModel`` error lists those that are."""
    model = resolve(name)
    if not model.served:
        names = [other.name for other in served_models()]
        raise UnknownEmbeddingModel(field="embedding_model", served=names)
    return model.name


async def create(
    work: UnitOfWork,
    principal: Principal,
    draft: KnowledgeBaseDraft,
    *,
    embedding_model: str,
    knowledge_base_id: str | None = None,
) -> KnowledgeBase:
    """Add a knowledge base of the caller's, with a served embedding model and a new id unless one is given."""
    splitting = _first_splitting(draft)
    name = clean_name(draft.name or "")
    await _require_free_name(work.session, principal.user_id, name)
    knowledge_base = KnowledgeBase(
        id=knowledge_base_id or new_id(),
        owner_id=principal.user_id,
        name=name,
        name_key=fold(name),
        description=draft.description or "",
        embedding_model=embedding_model,
        splitter=splitting.splitter,
        chunk_size=splitting.chunk_size,
        chunk_overlap=splitting.chunk_overlap,
        retrieval=_merged({}, draft.retrieval or {}),
        parser=draft.parser or BUILT_IN,
        strategy=draft.strategy or AUTO_STRATEGY,
        is_public=bool(draft.is_public),
        enabled=draft.enabled is not False,
    )
    work.session.add(knowledge_base)
    await work.session.flush()
    return knowledge_base


def clean_name(name: str) -> str:
    """Strip a name and check its length."""
    cleaned = " ".join(name.split())
    if not cleaned:
        raise InvalidRequest("name", "The name must not be empty", "名称不能为空")
    # Case folding can turn one letter into eighteen.
    if len(cleaned) > NAME_LENGTH or len(fold(cleaned)) > NAME_KEY_LENGTH:
        raise InvalidRequest("name", "The name is too long", "名称过长")
    return cleaned


def default_copy_name(name: str) -> str:
    """The name of a copy that was given none."""
    ending = " (copy)"
    return name[: NAME_LENGTH - len(ending)] + ending


def _first_splitting(draft: KnowledgeBaseDraft) -> Splitting:
    size = _chosen(draft.chunk_size, DEFAULT_CHUNK_SIZE)
    overlap = _chosen(draft.chunk_overlap, min(DEFAULT_CHUNK_OVERLAP, size // 4))
    return validate_splitting(Splitting(_chosen(draft.splitter, DEFAULT_SPLITTER), size, overlap))


def resolve_splitting(knowledge_base: KnowledgeBase, draft: KnowledgeBaseDraft) -> Splitting:
    """The draft's splitting, with the knowledge base's own for what it leaves open."""
    present = Splitting(knowledge_base.splitter, knowledge_base.chunk_size, knowledge_base.chunk_overlap)
    splitting = Splitting(
        _chosen(draft.splitter, present.splitter),
        _chosen(draft.chunk_size, present.chunk_size),
        _chosen(draft.chunk_overlap, present.chunk_overlap),
    )
    return present if splitting == present else validate_splitting(splitting)


def validate_splitting(splitting: Splitting) -> Splitting:
    """Return the splitting if it is usable."""
    if splitting.splitter not in set(SplitterName):
        names = ", ".join(SplitterName)
        raise InvalidRequest("splitter", f"Use one of {names}", f"可用的值：{names}")
    size, overlap = splitting.chunk_size, splitting.chunk_overlap
    if size not in CHUNK_SIZES:
        least, most = CHUNK_SIZES.start, CHUNK_SIZES.stop - 1
        zh = f"应为 {least} 到 {most} 个 token"
        raise InvalidRequest("chunk_size", f"Use {least} to {most} tokens", zh)
    if not 0 <= overlap <= size // 2:
        en, zh = (f"Use 0 to {size // 2} tokens (half a chunk)", "应为 0 到 {} 个 token（分块的一半）")
        raise InvalidRequest("chunk_overlap", en, zh.format(size // 2))
    return splitting


async def _require_free_name(session: AsyncSession, owner_id: str, name: str) -> None:
    namesake = select(KnowledgeBase.id).where(
        KnowledgeBase.owner_id == owner_id,
        KnowledgeBase.name_key == fold(name),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    if (await session.exec(namesake)).first() is not None:
        raise KnowledgeBaseNameTaken(field="name")


async def get(session: AsyncSession, principal: Principal, knowledge_base_id: str, action: Action) -> KnowledgeBase:
    """Load a knowledge base through the gate."""
    row = (await session.exec(_by_id(), params={"id": knowledge_base_id})).first()
    return await authorize(session, principal, action, row, KnowledgeBaseNotFound)


@cache
def _by_id() -> SelectOfScalar[KnowledgeBase]:
    return select(KnowledgeBase).where(KnowledgeBase.id == bindparam("id"), col(KnowledgeBase.deleted_at).is_(None))


async def get_searchable(
    session: AsyncSession, principal: Principal, knowledge_base_ids: Sequence[str] | None
) -> Sequence[KnowledgeBase]:
    """The knowledge bases a search runs over; None means all enabled ones that the caller sees.

    If one of them is not there for the caller, none is searched.
    """
    if knowledge_base_ids is None:
        return (
            await session.exec(
                select(KnowledgeBase).where(
                    _visible(principal), col(KnowledgeBase.deleted_at).is_(None), col(KnowledgeBase.enabled).is_(True)
                )
            )
        ).all()
    return [
        await get(session, principal, knowledge_base_id, Action.READ)
        for knowledge_base_id in dict.fromkeys(knowledge_base_ids)
    ]


async def list_visible(
    session: AsyncSession,
    principal: Principal,
    page: PageRequest,
    *,
    document_statuses: Collection[DocumentStatus] = (),
) -> KnowledgeBaseListing:
    """One page of the knowledge bases that the caller sees, each with its number of documents.

    Args:
        document_statuses: only knowledge bases with a document in one of these that the caller can read; all if empty.
    """
    visible = [_visible(principal), col(KnowledgeBase.deleted_at).is_(None)]
    if document_statuses:
        visible.append(has_document(principal, document_statuses))
    query = paginate(
        select(KnowledgeBase).where(*visible),
        page,
        columns={
            "created_at": col(KnowledgeBase.created_at),
            "updated_at": col(KnowledgeBase.updated_at),
            "name": col(KnowledgeBase.name_key),
        },
        tie=col(KnowledgeBase.id),
    )
    rows = (await session.exec(query)).all()
    total = (await session.exec(select(func.count()).select_from(KnowledgeBase).where(*visible))).one()
    counts = await count_documents(session, principal, rows)
    access = await access_by_id(session, principal, rows)
    items = [(row, counts.get(row.id, 0), access[row.id] or Access.READ) for row in rows]
    return KnowledgeBaseListing(items, total)


def _visible(principal: Principal) -> ColumnElement[bool]:
    return visible_to(
        principal,
        KnowledgeBase.SHARE_KIND,
        col(KnowledgeBase.id),
        col(KnowledgeBase.owner_id),
        col(KnowledgeBase.is_public),
    )


async def update_knowledge_base(
    work: UnitOfWork, knowledge_base: KnowledgeBase, draft: KnowledgeBaseDraft
) -> KnowledgeBase:
    """Change settings that need no re-index; ``reindex.service.request_reindex`` changes the rest."""
    if draft.name is not None:
        name = clean_name(draft.name)
        if fold(name) != knowledge_base.name_key:
            await _require_free_name(work.session, knowledge_base.owner_id, name)
        knowledge_base.name, knowledge_base.name_key = name, fold(name)
    if draft.description is not None:
        knowledge_base.description = draft.description
    if draft.retrieval is not None:
        knowledge_base.retrieval = _merged(knowledge_base.retrieval, draft.retrieval)
    if draft.parser is not None:
        knowledge_base.parser, knowledge_base.strategy = draft.parser, draft.strategy or AUTO_STRATEGY
    if draft.is_public is not None and draft.is_public != knowledge_base.is_public:
        knowledge_base.is_public = draft.is_public
        audit_public(work, knowledge_base, SHARE_AUDIT_ACTIONS)
    if draft.enabled is not None:
        knowledge_base.enabled = draft.enabled
    knowledge_base.updated_at = utc_now()
    work.session.add(knowledge_base)
    return knowledge_base


def _merged(present: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    both = {**present, **changes}
    return {name: value for name, value in both.items() if value is not None}


def _chosen(new: _Value | None, present: _Value) -> _Value:
    return present if new is None else new


async def delete(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Hide a knowledge base from everybody at once; a job erases its rows, points and files."""
    knowledge_base.deleted_at = utc_now()
    work.session.add(knowledge_base)
    target = AuditTarget(KnowledgeBase.SHARE_KIND, knowledge_base.id)
    audit(work.session, AuditAction.KNOWLEDGE_BASE_DELETED, target)
    await delete_shares(work, KnowledgeBase.SHARE_KIND, [knowledge_base.id])
    await delete_documents(work, knowledge_base.id)
    enqueue_erase(work, knowledge_base.id)


async def delete_documents(work: UnitOfWork, knowledge_base_id: str) -> None:
    """Mark all documents of a knowledge base as deleted; its erasure erases them."""
    restricted = select(Document.id).where(
        col(Document.knowledge_base_id) == knowledge_base_id, col(Document.restricted).is_(True)
    )
    await delete_shares(work, Document.SHARE_KIND, restricted)
    await work.session.exec(
        update(Document)
        .where(col(Document.knowledge_base_id) == knowledge_base_id, col(Document.deleted_at).is_(None))
        .values(deleted_at=utc_now())
    )


def erase_key(knowledge_base_id: str) -> str:
    """Queue key of a knowledge base's erasure."""
    return f"{ERASE_JOB}:{knowledge_base_id}"


def enqueue_erase(work: UnitOfWork, knowledge_base_id: str) -> None:
    """Enqueue the erasure of a deleted knowledge base."""
    payload = {"knowledge_base_id": knowledge_base_id}
    work.enqueue(ERASE_JOB, payload, key=erase_key(knowledge_base_id))


async def get_for_update(
    session: AsyncSession, principal: Principal, knowledge_base_id: str, action: Action
) -> KnowledgeBase:
    """Load a knowledge base through the gate and lock it until the transaction ends.

    Access is checked after the lock is acquired: the owner may have changed meanwhile.
    """
    query = (
        select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id, col(KnowledgeBase.deleted_at).is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    row = (await session.exec(query)).first()
    return await authorize(session, principal, action, row, KnowledgeBaseNotFound)


async def get_shares(session: AsyncSession, principal: Principal, knowledge_base_id: str) -> list[ShareEntry]:
    """Whom a knowledge base is shared with; only for its owner."""
    row = await get(session, principal, knowledge_base_id, Action.MANAGE)
    return await list_shares(session, row)


async def reload_visible(session: AsyncSession, principal: Principal, ids: Sequence[str]) -> Sequence[KnowledgeBase]:
    """Reload those of these knowledge bases that the caller still sees, in the given order."""
    columns = (col(KnowledgeBase.id), col(KnowledgeBase.owner_id), col(KnowledgeBase.is_public))
    query = select(KnowledgeBase).where(
        col(KnowledgeBase.id).in_(ids),
        visible_to(principal, KnowledgeBase.SHARE_KIND, *columns),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    present = {row.id: row for row in (await session.exec(query)).all()}
    return [present[id_] for id_ in ids if id_ in present]


async def replace_shares(
    work: UnitOfWork,
    principal: Principal,
    knowledge_base_id: str,
    specs: Sequence[ShareSpec],
    version: str | None = None,
) -> list[ShareEntry]:
    """Share a knowledge base with exactly these people and roles; ``Conflict`` if ``version`` is outdated."""
    # Without the lock, two concurrent requests would both add the same entry.
    row = await get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    return await replace_share_list(work, row, specs, version, SHARE_AUDIT_ACTIONS)
