"""Ranks one person's memories for a question, by the means that rank passages."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from agents.memory.models import Memory
from kb_service.embeddings.protocol import Vectors
from kb_service.retrieval.fusion import dense_weight, fuse
from kb_service.retrieval.rerankers.lexical import RERANK_DEPTH, rerank
from kb_service.text.term_hashes import terms_of
from kb_service.vector_index.bm25 import encode_document, encode_query

# Below this cosine, sentences have nothing to do with each other for all-MiniLM-L6-v2.
_RELATED = 0.3


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory with its place for a question.

    Attributes:
        score: 0 to 1, relative to this question's list, in the order of the list.
    """

    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """What the encoder says of some memories.

    Attributes:
        ids: of the memories that have vectors.
        cosines: of each with the question, in their order.
        languages: those the encoder was trained for.
    """

    ids: Sequence[str]
    cosines: Sequence[float]
    languages: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Leg:
    ids: list[str]
    scores: list[float]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float]]) -> Self:
        best_first = sorted(pairs, key=lambda pair: -pair[1])
        return cls([id_ for id_, _ in best_first], [score for _, score in best_first])


def cosines(question: Vectors, vectors: Vectors) -> list[float]:
    """The cosine of a question with each vector; all have the length 1.

    Args:
        question: shape ``(1, dimension)``.
        vectors: shape ``(n, dimension)``.
    """
    return [float(value) for value in vectors @ question[0]]


def rank(question: str, memories: Sequence[Memory], dense: DenseLeg | None) -> list[RankedMemory]:
    """The memories that have to do with a question, best first; ties keep their order.

    Terms and vectors are fused and reranked as those of passages are; the dense leg counts as far
    as the encoder can read the question. Up to 0.2 ms a memory: not for an event loop.

    Args:
        question: in Chinese, English or both.
        memories: of one person.
        dense: None where there is no encoder to be had.
    """
    weight = dense_weight(question, dense.languages) if dense is not None else 0.0
    related = _Leg([], [])
    if dense is not None and weight > 0:
        pairs = zip(dense.ids, dense.cosines, strict=True)
        related = _Leg.of(pair for pair in pairs if pair[1] >= _RELATED)
    fusion = fuse(related, _lexical(question, memories), weight=weight, depth=len(memories) + 1)
    texts = {memory.id: memory for memory in memories}
    features = {id_: terms_of(texts[id_].text) for id_, _ in fusion.order[:RERANK_DEPTH]}
    ranked = rerank(question, fusion, features)
    return [RankedMemory(texts[hit.id], hit.score) for hit in ranked]


def _lexical(question: str, memories: Sequence[Memory]) -> _Leg:
    """BM25 as the index does it, with the rarity of terms among these memories."""
    wanted = encode_query(question).indices
    weights = [_weights(memory.text) for memory in memories]
    holders = Counter(term for one in weights for term in wanted if term in one)
    rarity = {
        term: math.log1p((len(memories) - count + 0.5) / (count + 0.5))
        for term, count in holders.items()
    }
    scores = [sum(one.get(term, 0.0) * rare for term, rare in rarity.items()) for one in weights]
    pairs = zip((memory.id for memory in memories), scores, strict=True)
    return _Leg.of(pair for pair in pairs if pair[1] > 0)


# Analysing a text takes longer than all else; a person's next question finds it done.
@lru_cache(maxsize=4096)
def _weights(text: str) -> dict[int, float]:
    vector = encode_document(text)
    return dict(zip(vector.indices, vector.values, strict=True))
