"""Document display names: cleaned of misleading characters, and numbered."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select, SelectOfScalar

from core.db.id_array import id_array
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.requests import InvalidFileName
from kb_service.models import Document, KnowledgeBase
from kb_service.visibility import Viewer, granted_to

_NAME_BYTES = 255
# Less room for a number after it.
_PATH_NAME_BYTES = 250
_FOLDER_MARK = " › "
# Direction marks and zero-width characters can make two names look alike.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean_name(name: str) -> str:
    """A file's display name: no path, no invisible characters, at most 255 bytes."""
    text = unicodedata.normalize("NFC", name)
    text = text.replace("\\", "/").rpartition("/")[2]
    text = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE)
    text = text.strip().rstrip(". ")
    if not text.strip("."):
        raise InvalidFileName(field="file", error="The file needs a name")
    stem, dot, suffix = text.rpartition(".")
    while len(text.encode()) > _NAME_BYTES:
        if not stem:
            raise InvalidFileName(field="file", error="The file's name is too long")
        stem = stem[:-1]
        text = stem + dot + suffix
    return text


def document_name(parts: Sequence[str]) -> str:
    """The name of a document that came from a folder or an archive: ``a › b.html``.

    The server keeps no folders. A name too long for it loses its first characters, not the file's own name.
    """
    name = _FOLDER_MARK.join(part.strip() for part in parts).rstrip(". ")
    while len(name.encode()) > _PATH_NAME_BYTES:
        name = "…" + name.removeprefix("…")[1:]
    return name


def numbered_names(name: str) -> Iterator[str]:
    """``name (2).ext``, ``name (3).ext`` and so on, each at most 255 bytes."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while True:
        ending = f" ({number}){dot}{suffix}"
        room = _NAME_BYTES - len(ending.encode())
        yield stem.encode()[:room].decode(errors="ignore") + ending
        number += 1


class NameLock(NamedTuple):
    """A knowledge base whose names are locked; ``narrowed`` if it may have restricted documents."""

    knowledge_base_id: str
    generation: int
    narrowed: bool


async def lock_names(session: AsyncSession, knowledge_base_id: str) -> NameLock:
    """Lock a knowledge base's document names.

    Raises:
        KnowledgeBaseNotFound: it was just deleted.
    """
    row = (await session.exec(_lock_query(), params={"id": knowledge_base_id})).first()
    if row is None:
        raise KnowledgeBaseNotFound
    return NameLock(*row)


# Cached: building a statement takes as long as executing it, and every upload needs these.
@cache
def _lock_query() -> Select[*tuple[Any, ...]]:
    columns = (KnowledgeBase.id, KnowledgeBase.generation, KnowledgeBase.narrowed)
    # On SQLite, where locks are ignored, the transaction is the only writer anyway.
    query = cast("Select[*tuple[Any, ...]]", select(*columns)).where(
        KnowledgeBase.id == bindparam("id"), col(KnowledgeBase.deleted_at).is_(None)
    )
    return query.with_for_update(key_share=True)


class DocumentsByName:
    """The viewer's documents of each name, their rows locked; needs the lock on names."""

    def __init__(self, session: AsyncSession, viewer: Viewer, lock: NameLock) -> None:
        self._session = session
        self._viewer = viewer
        self._lock = lock
        self._documents: dict[str, list[Document]] = {}

    async def load(self, names: Iterable[str]) -> None:
        """Load several names in one query."""
        new = sorted({*names} - self._documents.keys())
        params = {"knowledge_base_id": self._lock.knowledge_base_id, "names": new}
        rows: list[Document] = []
        if self._lock.narrowed:
            viewer = {"viewer_id": self._viewer.user_id}
            rows += (await self._session.exec(_restricted(), params=params | viewer)).all()
        rows += (await self._session.exec(_open(), params=params)).all()
        self._documents |= {name: [] for name in new}
        for row in rows:
            self._documents[row.name].append(row)

    async def get(self, name: str) -> list[Document]:
        """Documents of a name: restricted ones first, at most one that is open to all readers."""
        if name not in self._documents:
            await self.load([name])
        return self._documents[name]

    def add(self, document: Document) -> None:
        """Register an open document that this transaction created."""
        self._documents.setdefault(document.name, []).append(document)


@cache
def _open() -> SelectOfScalar[Document]:
    return _query(col(Document.restricted).is_(False))


@cache
def _restricted() -> SelectOfScalar[Document]:
    admitted = granted_to(bindparam("viewer_id"))
    query = _query(col(Document.restricted).is_(True), admitted)
    return query.order_by(col(Document.created_at), col(Document.id))


def _query(*conditions: ColumnElement[bool]) -> SelectOfScalar[Document]:
    names = id_array("names")
    query = select(Document).join(names, names.c.value == col(Document.name))
    query = query.where(
        Document.knowledge_base_id == bindparam("knowledge_base_id"), col(Document.deleted_at).is_(None), *conditions
    )
    # A worker may be about to complete one of them.
    return query.with_for_update(key_share=True, of=Document)
