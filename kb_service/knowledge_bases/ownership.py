"""Transfer and deletion of a departing owner's knowledge bases."""

from dataclasses import dataclass

from sqlalchemy import delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.sharing import delete_user_shares
from core.auth.users import fold
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import (
    NAME_KEY_LENGTH,
    NAME_LENGTH,
    Document,
    Evaluation,
    KnowledgeBase,
    KnowledgeSource,
    Transfer,
)


@dataclass(frozen=True)
class OwnershipCounts:
    """Number of knowledge bases that a user owns, and of documents in them."""

    knowledge_bases: int
    documents: int


async def count(session: AsyncSession, owner_id: str) -> OwnershipCounts:
    """Count a user's knowledge bases and documents."""
    mine = (col(KnowledgeBase.owner_id) == owner_id, col(KnowledgeBase.deleted_at).is_(None))
    bases = select(func.count()).select_from(KnowledgeBase).where(*mine)
    documents = (
        select(func.count())
        .select_from(Document)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(*mine, col(Document.deleted_at).is_(None))
    )
    return OwnershipCounts((await session.exec(bases)).one(), (await session.exec(documents)).one())


async def transfer_ownership(work: UnitOfWork, owner_id: str, heir_id: str, *, label: str) -> None:
    """Give all knowledge bases of a user to another one.

    Running imports and copies continue for the heir. Names that the heir already uses get the label appended.
    Credentials of sources are the leaving person's own and do not go along.
    """
    used_keys = {base.name_key for base in await _owned(work.session, heir_id)}
    bases = await _owned(work.session, owner_id)
    # Owners have no shares of their own knowledge bases.
    ids = [base.id for base in bases]
    await delete_user_shares(work, heir_id, kind=KnowledgeBase.SHARE_KIND, resource_ids=ids)
    inside = select(Document.id).where(col(Document.knowledge_base_id).in_(ids), col(Document.restricted).is_(True))
    await delete_user_shares(work, heir_id, kind=Document.SHARE_KIND, resource_ids=inside)
    for base in bases:
        base.name = _free_name(base.name, label, used_keys)
        base.name_key = fold(base.name)
        base.owner_id, base.updated_at = heir_id, utc_now()
        used_keys.add(base.name_key)
        work.session.add(base)
    sources = update(KnowledgeSource).where(col(KnowledgeSource.knowledge_base_id).in_(ids))
    await work.session.exec(sources.values(sealed_credentials=None))
    moving = update(Transfer).where(col(Transfer.owner_id) == owner_id).values(owner_id=heir_id)
    await work.session.exec(moving)
    await _sign_over_evaluations(work, owner_id)


async def delete_all(work: UnitOfWork, owner_id: str) -> None:
    """Delete all knowledge bases, imports and copies of a user; idempotent."""
    for base in await _owned(work.session, owner_id):
        await knowledge_bases.delete(work, base)
    # Workers on them stop at their next write.
    await work.session.exec(delete(Transfer).where(col(Transfer.owner_id) == owner_id))
    await _sign_over_evaluations(work, owner_id)


async def has_rows(session: AsyncSession, owner_id: str) -> bool:
    """Whether any row of the user is left, including those that await erasure."""
    for key, owner in (
        (KnowledgeBase.id, KnowledgeBase.owner_id),
        (Transfer.id, Transfer.owner_id),
        (Evaluation.id, Evaluation.created_by),
    ):
        if (await session.exec(select(key).where(owner == owner_id).limit(1))).first() is not None:
            return True
    return False


async def _owned(session: AsyncSession, owner_id: str) -> list[KnowledgeBase]:
    query = select(KnowledgeBase).where(KnowledgeBase.owner_id == owner_id, col(KnowledgeBase.deleted_at).is_(None))
    return [*(await session.exec(query.order_by(col(KnowledgeBase.created_at)))).all()]


async def _sign_over_evaluations(work: UnitOfWork, person_id: str) -> None:
    """Give the user's evaluations of other people's knowledge bases to those owners."""
    await work.session.flush()
    owner = (
        select(KnowledgeBase.owner_id).where(KnowledgeBase.id == col(Evaluation.knowledge_base_id)).scalar_subquery()
    )
    statement = (
        update(Evaluation)
        .where(col(Evaluation.created_by) == person_id)
        .values(created_by=owner)
        .execution_options(synchronize_session=False)
    )
    await work.session.exec(statement)


def _free_name(name: str, label: str, used_keys: set[str]) -> str:
    candidate, number = name, 1
    while fold(candidate) in used_keys:
        ending = f" ({label})" if number == 1 else f" ({label} {number})"
        stem = name[: NAME_LENGTH - len(ending)]
        while len(fold(stem + ending)) > NAME_KEY_LENGTH:
            stem = stem[:-1]
        candidate, number = stem + ending, number + 1
    return candidate
