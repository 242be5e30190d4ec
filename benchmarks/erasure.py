"""Erasing a knowledge base beside erasing its documents: ``python -m benchmarks.erasure [CHUNKS]``.

Both begin with the request to delete and end when the last row is gone; points and files go before.
The baseline deletes as many documents through the bulk endpoint, each of which has a job of its own.
"""

import asyncio
import sys
import time

from sqlalchemy import func
from sqlmodel import select

from benchmarks.filled import fill
from benchmarks.generated import paragraphs
from benchmarks.product import Product, Session, logged_in, running_product
from benchmarks.table import Row, show
from core.db.database import Database, open_database
from core.settings import Settings
from kb_service.models import Document

_CHUNKS = 10_000
_SETTLE_SECONDS = 5
_LOOK_SECONDS = 0.05


async def _left(database: Database, kb_id: str) -> int:
    async with database.reading() as session:
        query = select(func.count()).where(Document.knowledge_base_id == kb_id)
        return (await session.exec(query)).one()


async def _erased(database: Database, kb_id: str) -> None:
    while await _left(database, kb_id):  # noqa: ASYNC110 - another process
        await asyncio.sleep(_LOOK_SECONDS)


async def _delete_documents(session: Session, kb_id: str) -> None:
    wanted = {"action": "delete", "status": "completed"}
    more = True
    while more:
        path = f"/api/v1/knowledge-bases/{kb_id}/documents/bulk"
        more = (await session.call("POST", path, dict(wanted)))["more"]


async def _measure(product: Product, chunks: int) -> list[Row]:
    database = open_database(Settings(_env_file=None, data_dir=product.data_dir))
    texts, took, documents = paragraphs(chunks), list[float](), 0
    try:
        async with logged_in(product) as session:
            for name in ("whole", "one by one"):
                kb_id = await session.create(name)
                await fill(product, kb_id, texts)
                documents = await _left(database, kb_id)
                await asyncio.sleep(_SETTLE_SECONDS)
                started = time.perf_counter()
                if name == "whole":
                    await session.delete(f"/api/v1/knowledge-bases/{kb_id}")
                else:
                    await _delete_documents(session, kb_id)
                await _erased(database, kb_id)
                took.append(time.perf_counter() - started)
    finally:
        await database.close()
    what = f"erase a knowledge base of {documents:,} documents, {chunks:,} chunks"
    return [Row(what, f"{took[0]:.1f} s", f"its documents {took[1]:.1f} s", took[1] / took[0])]


def run(chunks: int = _CHUNKS) -> list[Row]:
    """Both ways in one product, whose worker has nothing else to do."""
    with running_product() as product:
        return asyncio.run(_measure(product, chunks))


if __name__ == "__main__":
    show(run(*[int(size) for size in sys.argv[1:2]]))
