"""Ingestion from upload to searchable: ``python -m benchmarks.ingest``.

Files are sent as ``agentex ingest`` sends them: small ones together, four requests at a time.

One baseline is llama-index-core as its documentation starts: a directory reader and an in-memory
vector index, with sentence-transformers on the same weights and the same size of chunks; no
database, queue or HTTP. The other one is our own encoder alone, in a process that does nothing
else: what no ingestion with it can go beyond.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from llama_index.core import MockEmbedding, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter

from benchmarks import baseline
from benchmarks.alone import Alone
from benchmarks.generated import paragraphs
from benchmarks.product import Product, SampleDocument, logged_in, running_product
from benchmarks.table import Row, seconds, show

# Documents and paragraphs (of about 150 tokens) in each: so many that the first document's way
# through an empty pipeline and the last one's are a small part of the whole.
_SHAPES = ((3000, 1), (300, 10), (100, 40))
# The baselines have no beginning and no end that would count: a part of them says how fast they are.
_BASELINE_PASSAGES = 1000
_CHUNK_TOKENS = 200
_ROUNDS = 3


class BaselineEmbedding(MockEmbedding):
    """llama-index's embedding interface over sentence-transformers."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return baseline.encode(texts).tolist()


async def _ingest(product: Product, texts: Sequence[str]) -> float:
    async with logged_in(product) as session:
        sizes = {"chunk_size": _CHUNK_TOKENS, "chunk_overlap": 0}
        kb_id = await session.create(f"bench {time.time_ns()}", **sizes)
        uploads = [SampleDocument(f"{n}.txt", text.encode()) for n, text in enumerate(texts)]
        done = await session.ingest(kb_id, uploads, together=True)
        if done.failures:
            raise SystemExit(f"documents failed: {done.failures}")
        return done.seconds


def _index(folder: Path) -> None:
    VectorStoreIndex.from_documents(
        SimpleDirectoryReader(str(folder)).load_data(),
        embed_model=BaselineEmbedding(embed_dim=384),
        transformations=[SentenceSplitter(chunk_size=_CHUNK_TOKENS, chunk_overlap=0)],
    )


@dataclass(frozen=True)
class _Round:
    """Documents per second: ours, llama-index, and the encoder alone before and after ours."""

    ours: float
    theirs: float
    alone: float


def _compare(product: Product, encoder: Alone, documents: int, per_document: int) -> list[Row]:
    """Take turns. A shared host is faster in one minute than in the next, and the encoder's part
    is the shortest: ratios are those within a round, and their median counts.
    """
    passages = paragraphs(documents * per_document)
    texts = ["\n\n".join(passages[n * per_document : (n + 1) * per_document]) for n in range(documents)]
    part = min(documents, _BASELINE_PASSAGES // per_document)

    def encode() -> float:
        return seconds(lambda: encoder.encode(passages[: part * per_document]))

    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts[:part]):
            Path(folder, f"{number}.txt").write_text(text, encoding="utf-8")

        def one_round() -> _Round:
            before = encode()
            ours = documents / asyncio.run(_ingest(product, texts))
            alone = 2 * part / (before + encode())
            return _Round(ours, part / seconds(lambda: _index(Path(folder))), alone)

        rounds = [one_round() for _ in range(_ROUNDS)]
    what = f"ingest {documents} documents of {per_document} passages, upload to searchable"
    ours = f"{median(one.ours for one in rounds):.1f} documents/s"
    theirs, alone = (one.theirs for one in rounds), (one.alone for one in rounds)
    return [
        Row(
            what,
            ours,
            f"llama-index-core {median(theirs):.1f} documents/s",
            median(one.ours / one.theirs for one in rounds),
        ),
        Row(
            what,
            ours,
            f"the encoder alone {median(alone):.1f} documents/s",
            median(one.ours / one.alone for one in rounds),
        ),
    ]


def run() -> list[Row]:
    """Documents per second of each shape."""
    encoder = Alone()
    texts = paragraphs(8)
    baseline.encode(texts)
    with running_product() as product:
        asyncio.run(_ingest(product, texts))
        return [row for shape in _SHAPES for row in _compare(product, encoder, *shape)]


if __name__ == "__main__":
    show(run())
