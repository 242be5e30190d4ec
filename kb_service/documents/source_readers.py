"""Lists of readers that a document has of its source."""

from collections.abc import Collection, Sequence

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import Role
from kb_service.models import Document, KnowledgeSourceItem, ReaderKind, SourceReader

Levels = Sequence[Sequence[str]]
"""Lists that a reader must be in, each of ``kind:value`` (``ReaderKind``); none: the source restricts nothing."""


def entry_of(kind: ReaderKind, value: str) -> str:
    """An entry of a list."""
    return f"{kind.value}:{value}"


async def replace_levels(session: AsyncSession, document: Document, levels: Levels) -> None:
    """Replace the lists of a document."""
    await session.exec(delete(SourceReader).where(col(SourceReader.document_id) == document.id))
    for number, entries in enumerate(levels):
        for entry in sorted({*entries}):
            kind, _, value = entry.partition(":")
            session.add(SourceReader(document_id=document.id, level=number, levels=len(levels), kind=kind, value=value))
    document.source_levels = len(levels)
    session.add(document)


async def delete_levels(session: AsyncSession, document: Document) -> None:
    """Delete the lists of a document."""
    if document.source_levels:
        await replace_levels(session, document, ())


async def list_levels(session: AsyncSession, document: Document) -> list[list[str]] | None:
    """The lists of a document's source for people to read: addresses, and ``role:NAME``; None where there are none."""
    if document.source_levels == 0:
        return None
    query = (
        select(SourceReader, Role.name)
        .outerjoin(Role, (col(Role.id) == col(SourceReader.value)) & (col(SourceReader.kind) == ReaderKind.ROLE.value))
        .where(SourceReader.document_id == document.id)
        .order_by(col(SourceReader.level), col(SourceReader.kind), col(SourceReader.value))
    )
    levels: list[list[str]] = [[] for _ in range(document.source_levels)]
    for row, role in (await session.exec(query)).all():
        levels[row.level].append(f"role:{role or row.value}" if row.kind == ReaderKind.ROLE else row.value)
    return levels


async def role_ids(session: AsyncSession, names: Collection[str]) -> dict[str, str]:
    """Ids of the roles of these names; those that there are not are absent."""
    query = select(Role.name, Role.id).where(col(Role.name).in_(names))
    return dict((await session.exec(query)).all())


async def is_kept_by_source(session: AsyncSession, document_id: str) -> bool:
    """Whether a source still says who reads the document."""
    query = select(KnowledgeSourceItem.key_hash).where(
        KnowledgeSourceItem.document_id == document_id, col(KnowledgeSourceItem.readers).is_not(None)
    )
    return (await session.exec(query)).first() is not None
