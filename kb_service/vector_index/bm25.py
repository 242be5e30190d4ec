"""BM25 term weights for Chinese and English, the same for Edge and servers."""

from functools import lru_cache

import qdrant_edge

from kb_service.text.special_terms import special_terms
from kb_service.vector_index.protocol import SparseVector


@lru_cache(maxsize=1)
def _bm25() -> qdrant_edge.Bm25:
    # Only the tokenizer differs from the defaults: the default one finds no Chinese word (R@5 .16 instead of .99), and
    # language="chinese" loses English stemming.
    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(tokenizer=qdrant_edge.TokenizerType.Multilingual))


def encode_document(text: str) -> SparseVector:
    """The saturated term weights of a passage; the index multiplies by idf."""
    return _plain(_bm25().embed_document(_readable(text)))


def encode_query(text: str) -> SparseVector:
    """Weight 1 for each distinct term of a question."""
    return _plain(_bm25().embed_query(_readable(text)))


def _readable(text: str) -> str:
    # Lone surrogates (from broken JSON or PDF text) can't be passed to Rust.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    # Appended, so that all other terms stay unchanged.
    return " ".join([clean, *special_terms(clean)])


def _plain(vector: qdrant_edge.SparseVector) -> SparseVector:
    return SparseVector(indices=tuple(vector.indices), values=tuple(vector.values))
