"""An encoder in this process, people and their memories, for tests of long-term memory."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache

from sqlmodel import select

from agents.memory.models import Memory
from agents.memory.service import MemoryService
from agents.memory.store import MemoryDraft
from core.auth.models import User
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import EngineUnavailable
from core.settings import get_settings
from kb_service.embeddings.builtin.encoder import BuiltInEncoder, open_encoder
from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.protocol import Vectors

MOST = 50


@lru_cache(maxsize=1)
def encoder() -> BuiltInEncoder:
    """The real model."""
    return open_encoder(DEFAULT.name, get_settings().cache_dir, choose_backend(detect_processor()))


class InProcessEncoder:
    """The product's encoder without its process.

    Attributes:
        encoded: all texts that were encoded.
        is_down: whether it refuses.
        hangs: whether it never answers.
    """

    dimension = DEFAULT.dimension
    languages = DEFAULT.languages

    def __init__(self, name: str = DEFAULT.name) -> None:
        self.name = name
        self.encoded: list[str] = []
        self.is_down = self.hangs = False

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if self.is_down:
            raise EngineUnavailable
        if self.hangs:
            await asyncio.Event().wait()
        self.encoded += texts
        return encoder().encode(list(texts), whole=False)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        self.encoded += texts
        return encoder().encode(list(texts), whole=True)


def memories_of(database: Database, encoder: InProcessEncoder | None = None, *, most: int = MOST) -> MemoryService:
    """Long-term memory as one process has it."""
    return MemoryService(database, encoder or InProcessEncoder(), most=most)


async def remember(memories: MemoryService, owner_id: str, *texts: str) -> list[str]:
    """Save texts one by one; their ids."""
    return [(await memories.remember(owner_id, MemoryDraft(text))).row.id for text in texts]


async def texts_of(database: Database, owner_id: str) -> list[str]:
    """What is remembered for somebody, in the order in which it came."""
    query = select(Memory.text).where(Memory.owner_id == owner_id).order_by(Memory.created_at)
    async with database.reading() as session:
        return list((await session.exec(query)).all())


async def change_owner(database: Database, owner_id: str, **changes: object) -> None:
    """Write into an account's row."""
    async with unit_of_work(database) as work:
        (await work.session.get_one(User, owner_id)).sqlmodel_update(changes)
