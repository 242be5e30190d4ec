"""Passages of equal score get an order of their own, the same in every copy of their documents."""

from dataclasses import replace
from functools import cache
from itertools import groupby

from sqlalchemy import bindparam
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from kb_service.models import Chunk, Document
from kb_service.retrieval.fusion import FusedHit, Fusion


async def settled(session: AsyncSession, fusion: Fusion) -> Fusion:
    """The fused list with hits of one score ordered by document name and position.

    The index orders them by chance, and ids differ between a knowledge base and its copy. SQL is
    asked only about hits that share a score: mostly the same text in several places.

    Args:
        session: to read from.
        fusion: best first.
    """
    groups = [list(group) for _, group in groupby(fusion.hits, key=lambda hit: hit.score)]
    tied = [hit.id for group in groups if len(group) > 1 for hit in group]
    if not tied:
        return fusion
    rows = (await session.exec(_places(), params={"ids": tied})).all()
    places = {id_: (name, position) for id_, name, position in rows}

    def place(hit: FusedHit) -> tuple[str, int, str]:
        name, position = places.get(hit.id, ("", -1))
        return (name, position, hit.id)

    # A hit alone is in no query and needs none.
    hits = [hit for group in groups for hit in sorted(group, key=place)]
    return replace(fusion, hits=tuple(hits))


@cache
def _places() -> Select[str, str, int]:
    return (
        select(col(Chunk.id), col(Document.name), col(Chunk.position))
        .join(Document, col(Document.id) == col(Chunk.document_id))
        .where(col(Chunk.id).in_(bindparam("ids", expanding=True)))
    )
