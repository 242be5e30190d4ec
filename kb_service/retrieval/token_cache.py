"""Cache of the passages' tokens for the rerank."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from threading import Lock

from anyio import to_thread
from sqlalchemy import Connection
from sqlmodel import case, col, select

from core.db.id_array import id_array
from core.db.prepared import PreparedQuery
from core.db.read_pool import ReadContext
from kb_service.models import Chunk
from kb_service.text.tokenizer import Terms, compute_terms, unpack_terms

ChunkVersion = tuple[str, int]
"""A chunk's id and the version of its text."""


class TermCache:
    """The terms of recently used passages; safe across threads.

    An edit of a chunk raises its version, so an entry never goes stale. With chunks of 500 tokens the default holds
    about 60 MB.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[ChunkVersion, Terms] = OrderedDict()
        self._lock = Lock()

    def get(self, versions: Iterable[ChunkVersion]) -> dict[str, Terms]:
        terms_by_id: dict[str, Terms] = {}
        with self._lock:
            for version in versions:
                if (entry := self._entries.get(version)) is not None:
                    self._entries.move_to_end(version)
                    terms_by_id[version[0]] = entry
        return terms_by_id

    def add(self, made: Mapping[ChunkVersion, Terms]) -> None:
        with self._lock:
            self._entries.update(made)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def load(self, reads: ReadContext, versions: Sequence[ChunkVersion]) -> dict[str, Terms]:
        """The terms of these chunks, by id: cached, else as stored, else computed now.

        A chunk that is gone or was edited since is absent.
        """
        terms_by_id = self.get(versions)
        missing = {id_: version for id_, version in versions if id_ not in terms_by_id}
        if not missing:
            return terms_by_id
        made: dict[ChunkVersion, Terms] = {}
        texts: dict[str, str] = {}
        for id_, version, packed, content in reads.rows(_stored(), list(missing)):
            if version != missing[id_]:
                continue
            terms = unpack_terms(packed)
            if terms is not None:
                made[id_, version] = terms
            elif content is not None:
                texts[id_] = content
        stale = [id_ for id_ in missing if (id_, missing[id_]) not in made and id_ not in texts]
        texts |= _load_texts(reads.connection, stale)
        if texts:
            # Takes a millisecond each: not on the event loop.
            fresh = reads.wait_for(to_thread.run_sync(_analysed, texts))
            made |= {(id_, missing[id_]): terms for id_, terms in fresh.items()}
        self.add(made)
        return terms_by_id | {id_: terms for (id_, _), terms in made.items()}


@cache
def _stored() -> PreparedQuery:
    # The text only if needed: it is the larger part of a row.
    text = case((col(Chunk.terms).is_(None), col(Chunk.content)), else_=None)
    ids = id_array("ids")
    query = select(col(Chunk.id), col(Chunk.version), col(Chunk.terms), text)
    return PreparedQuery(query.join(ids, ids.c.value == col(Chunk.id)))


def _load_texts(connection: Connection, chunk_ids: Sequence[str]) -> dict[str, str]:
    """Texts of chunks whose stored tokens were made by another version of Agentex."""
    if not chunk_ids:
        return {}
    query = select(Chunk.id, Chunk.content).where(col(Chunk.id).in_(chunk_ids))
    return dict(connection.execute(query).all())


def _analysed(texts: Mapping[str, str]) -> dict[str, Terms]:
    return {id_: compute_terms(text) for id_, text in texts.items()}
