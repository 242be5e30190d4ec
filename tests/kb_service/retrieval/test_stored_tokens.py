"""The rerank's tokens stored beside a chunk's text."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import col, select, update

from core.db.unit_of_work import unit_of_work
from ingestion.context import WorkerContext
from kb_service.models import Chunk, KnowledgeBase
from kb_service.retrieval.service import Searcher
from kb_service.text.tokenizer import compute_terms, hash_token, pack_terms, sentences, tokenize, unpack_terms
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import upload

TEXTS = st.text(st.sampled_from("ab .。!学习计\n"), max_size=80)


@given(TEXTS)
def test_packed_terms_are_the_tokens_of_each_sentence(text: str) -> None:
    terms = unpack_terms(pack_terms(text))
    assert terms is not None
    parts = [[hash_token(token) for token in tokenize(part)] for part in sentences(text)]
    assert terms.tokens.tolist() == [token for part in parts for token in part]
    assert terms.sizes.tolist() == [len(part) for part in parts]
    made = compute_terms(text)
    assert np.array_equal(made.tokens, terms.tokens)
    assert np.array_equal(made.sizes, terms.sizes)


def test_hash_is_the_same_in_every_process() -> None:
    code = "from kb_service.text.tokenizer import hash_token; print(hash_token('stem'), hash_token('学习'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == [str(hash_token("stem")), str(hash_token("学习"))]
    assert (hash_token("stem"), hash_token("学习")) == (3738720285872729047, 2167836940646980768)


@pytest.mark.parametrize("stored", [None, b"", b"\x01", b"\x02\x00\x00\x00\x00", b"\x01\x09\x00\x00\x00", b"\x01" * 40])
def test_bytes_of_another_making_are_not_read(stored: bytes | None) -> None:
    assert unpack_terms(stored) is None


async def chunk_of(context: WorkerContext, text: str) -> tuple[Chunk, KnowledgeBase]:
    document = await upload(context, text.encode())
    await ingest(context, document.id)
    async with context.database.reading() as session:
        query = select(Chunk).where(col(Chunk.document_id) == document.id)
        base = await session.get_one(KnowledgeBase, document.knowledge_base_id)
        return (await session.exec(query)).one(), base


async def phrase_share(context: WorkerContext, base: KnowledgeBase) -> float:
    searcher = Searcher(context.database, context.spaces, max_query_characters=100)
    request = searcher.resolve([base], "striped zebra")
    return (await searcher.search(SYSTEM_VIEWER, [base], request)).passages[0].hit.phrase


@pytest.mark.anyio
async def test_ingestion_stores_terms_and_the_search_reads_them(context: WorkerContext) -> None:
    chunk, base = await chunk_of(context, "A striped zebra sleeps at noon.")
    assert chunk.terms == pack_terms(chunk.content)
    assert await phrase_share(context, base) == 1
    for terms, share in ((pack_terms("A zebra, striped"), 0), (None, 1), (b"\x09old", 1)):
        async with unit_of_work(context.database) as work:
            await work.session.exec(update(Chunk).values(terms=terms))
        assert await phrase_share(context, base) == share, terms
