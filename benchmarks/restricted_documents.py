"""Searches by somebody from whom documents are hidden: ``python -m benchmarks.restricted_documents``.

Ten thousand documents of five random passages each, on the embedded engine and SQLite. The ids of what is hidden are looked
up before each search; each document has two lists of three readers, as a source gives them. The baseline hides nothing.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import insert
from sqlmodel import col, update

from benchmarks.table import Row, show
from core.auth.permissions import DEFAULT_ROLE
from core.auth.users import UserDraft, create_user, ensure_roles
from core.db.database import Database
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from kb_service.embeddings.catalog import DEFAULT
from kb_service.models import Document, KnowledgeBase, SourceReader
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.protocol import ChunkPoint, IndexDocumentFilter, SparseVector, point_id
from kb_service.visibility import UserViewer, hidden_document_ids
from migrations.apply import migrate

_DOCUMENTS, _PASSAGES = 10_000, 5
_HIDDEN = (0, 10, 1000, 10_000)
_SEARCHES = 30
_DEPTH = 50
_ROWS_AT_ONCE = 500
_WORDS = 50_000


def _vectors(random: np.random.Generator) -> tuple[np.ndarray, SparseVector]:
    words = np.unique(random.zipf(1.3, 40) % _WORDS)
    return random.normal(size=DEFAULT.dimension).astype(np.float32), SparseVector(
        tuple(words.tolist()), (1.0,) * len(words)
    )


def _fill_index(shard: Shard, kb_id: str, document_ids: Sequence[str], random: np.random.Generator) -> None:
    for start in range(0, len(document_ids), _ROWS_AT_ONCE):
        points = list[ChunkPoint]()
        for document_id in document_ids[start : start + _ROWS_AT_ONCE]:
            for number in range(_PASSAGES):
                dense, sparse = _vectors(random)
                point = point_id(document_id, 1, number)
                points.append(
                    ChunkPoint(point, kb_id, document_id, revision=1, index=number, dense=dense, sparse=sparse)
                )
        for _ in shard.upsert(points):
            pass


async def _fill_rows(database: Database) -> tuple[str, list[str]]:
    """A knowledge base of documents with lists of readers: its id and theirs."""
    document_ids = [new_id() for _ in range(_DOCUMENTS)]
    async with unit_of_work(database) as work:
        await ensure_roles(work.session)
        draft = UserDraft("owner", "owner@example.org", password_hash="none")
        owner = await create_user(work.session, draft, role=DEFAULT_ROLE)
        base = KnowledgeBase(
            owner_id=owner.id,
            name="wiki",
            name_key="wiki",
            embedding_model=DEFAULT.name,
            chunk_size=500,
            chunk_overlap=50,
            narrowed=True,
        )
        work.session.add(base)
        await work.session.flush()
        for start in range(0, _DOCUMENTS, _ROWS_AT_ONCE):
            part = document_ids[start : start + _ROWS_AT_ONCE]
            work.session.add_all([_document(base.id, id_) for id_ in part])
            await work.session.flush()
            readers = [
                {
                    "document_id": id_,
                    "level": level,
                    "levels": 2,
                    "kind": "email",
                    "value": f"reader-{number}@example.org",
                }
                for id_ in part
                for level in range(2)
                for number in range(3)
            ]
            await work.session.exec(insert(SourceReader), params=readers)
        return base.id, document_ids


def _document(kb_id: str, document_id: str) -> Document:
    return Document(
        id=document_id,
        knowledge_base_id=kb_id,
        name=f"{document_id}.md",
        file_type="markdown",
        media_type="text/markdown",
        file_size=1,
        sha256="0" * 64,
        storage_key=document_id,
        only_by_source=True,
        source_levels=2,
    )


async def _restrict(database: Database, document_ids: Sequence[str]) -> None:
    async with unit_of_work(database) as work:
        for start in range(0, len(document_ids), _ROWS_AT_ONCE):
            part = document_ids[start : start + _ROWS_AT_ONCE]
            await work.session.exec(update(Document).where(col(Document.id).in_(part)).values(restricted=True))


async def _look_up(database: Database, kb_id: str) -> frozenset[str]:
    async with database.reading() as session:
        rows = [await session.get_one(KnowledgeBase, kb_id)]
        return await hidden_document_ids(session, rows, UserViewer(new_id()))


async def _search(database: Database, shard: Shard, kb_id: str, random: np.random.Generator) -> tuple[float, float]:
    """Median milliseconds of processor time of the look-up, and of both legs of the search."""
    look_ups, searches = list[float](), list[float]()
    for _ in range(_SEARCHES):
        started = time.process_time()
        hidden = await _look_up(database, kb_id)
        look_ups.append(time.process_time() - started)
        dense, sparse = _vectors(random)
        documents = IndexDocumentFilter(None, sorted(hidden))
        started = time.process_time()
        shard.query([kb_id], dense=dense, sparse=sparse, depth=_DEPTH, documents=documents)
        searches.append(time.process_time() - started)
    return 1000 * statistics.median(look_ups), 1000 * statistics.median(searches)


async def _measure(folder: Path) -> list[Row]:
    random = np.random.default_rng(1)
    database = Database(f"sqlite+aiosqlite:///{folder / 'agentex.db'}")
    try:
        await migrate(database)
        kb_id, document_ids = await _fill_rows(database)
        shard = Shard(folder / "vectors", DEFAULT.dimension)
        _fill_index(shard, kb_id, document_ids, random)
        rows, open_ms = list[Row](), 0.0
        for hidden in _HIDDEN:
            await _restrict(database, document_ids[:hidden])
            look_up, search = await _search(database, shard, kb_id, random)
            open_ms = open_ms or look_up + search
            what = f"search with {hidden:,} of {_DOCUMENTS:,} documents hidden"
            ours = f"{look_up:.1f} + {search:.1f} ms"
            rows.append(Row(what, ours, f"none hidden {open_ms:.1f} ms", open_ms / (look_up + search)))
        return rows
    finally:
        await database.close()


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


if __name__ == "__main__":
    show(run())
