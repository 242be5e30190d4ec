"""The lexical reranker compared with its plain definition."""

import math
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_service.retrieval.fusion import FusedHits, fuse
from kb_service.retrieval.rerankers.lexical import RankedHit, rerank
from kb_service.retrieval.token_cache import TermCache
from kb_service.text.tokenizer import compute_terms, tokenize, windows
from kb_service.vector_index.protocol import NO_HITS, HitList, IndexHit


def _hits(scores: Mapping[str, float]) -> HitList:
    return HitList.from_hits(IndexHit(id_, score, "document", 1) for id_, score in scores.items())


def _fusion(count: int) -> FusedHits:
    return fuse(NO_HITS, _hits({str(n): 100.0 - n for n in range(count)}), weight=0.5)


def _rank(query: str, texts: list[str]) -> dict[str, RankedHit]:
    features = {str(number): compute_terms(text) for number, text in enumerate(texts)}
    return {hit.id: hit for hit in rerank(query, _fusion(len(texts)), features)}


def _coverage(query: list[str], text: str, idf: dict[str, float]) -> float:
    total = sum(idf[token] for token in query) + 1e-9
    held = [set(tokenize(window)) for window in windows(text)]
    return max((sum(idf[t] for t in query if t in window) / total for window in held), default=0)


def _phrase(query: list[str], text: str) -> float:
    tokens = tokenize(text)
    pairs = set(pairwise(tokens))
    asked = list(pairwise(query))
    return sum(pair in pairs for pair in asked) / max(1, len(query) - 1)


def _idf(query: list[str], texts: list[str]) -> dict[str, float]:
    held = [set(tokenize(text)) for text in texts]
    found = {token: sum(token in tokens for tokens in held) for token in query}
    return {token: math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) if df else 0.0 for token, df in found.items()}


_WORDS = st.sampled_from(["alpha", "beta", "gamma", "学习", "计算机", "x", "the"])
_SIGNS = st.sampled_from([" ", ". ", "。", "! "])
_TEXTS = st.lists(st.tuples(_WORDS, _SIGNS), max_size=25).map(
    lambda parts: "".join(word + sign for word, sign in parts)
)


@given(query=st.lists(_WORDS, max_size=6).map(" ".join), texts=st.lists(_TEXTS, max_size=8))
@settings(max_examples=200, deadline=None)
def test_rerank_follows_its_definition(query: str, texts: list[str]) -> None:
    tokens = tokenize(query)
    idf = _idf(tokens, texts)
    ranked = _rank(query, texts)
    assert len(ranked) == len(texts)
    for number, text in enumerate(texts):
        hit = ranked[str(number)]
        assert hit.window == pytest.approx(_coverage(tokens, text, idf))
        assert hit.phrase == pytest.approx(_phrase(tokens, text))
        assert hit.final == pytest.approx(hit.fused.score + 0.5 * hit.window + 0.25 * hit.phrase)
        assert hit.score == pytest.approx(hit.final / 2.25)
    finals = [hit.final for hit in ranked.values()]
    assert finals == sorted(finals, reverse=True)


def test_rerank_lifts_the_passage_that_says_it_in_one_place() -> None:
    scattered = "Paris is old. Trees grow. The tower fell. Rain. The tall man of France."
    together = "Trees grow. The tall tower of Paris in France is old. Rain."
    assert next(iter(_rank("tall tower of Paris", [scattered, together]))) == "1"


def test_rerank_keeps_hits_behind_the_depth_in_their_order() -> None:
    features = {str(number): compute_terms("alpha") for number in range(60)}
    ranked = list(rerank("alpha", _fusion(60), features, depth=50))
    assert [hit.id for hit in ranked] == [str(number) for number in range(60)]
    assert {hit.window for hit in ranked[50:]} == {0.0}
    scores = [hit.score for hit in ranked]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1


def test_rerank_gives_a_full_score_to_a_hit_that_is_best_in_everything() -> None:
    fusion = fuse(_hits({"a": 0.9, "b": 0.1}), _hits({"a": 7.0}), weight=0.5)
    texts = {"a": "alpha beta", "b": "gamma"}
    features = {id_: compute_terms(text) for id_, text in texts.items()}
    ranked = list(rerank("alpha beta", fusion, features))
    assert ranked[0].score == pytest.approx(1)


def test_rerank_counts_nothing_for_a_hit_without_features() -> None:
    ranked = rerank("alpha", _fusion(2), {"1": compute_terms("alpha")})
    assert {hit.id: hit.window for hit in ranked} == {"0": 0.0, "1": pytest.approx(1)}


def test_rerank_of_nothing_is_empty() -> None:
    assert list(rerank("alpha", _fusion(0), {})) == []


def test_cache_gives_back_what_was_added() -> None:
    cache = TermCache()
    made = {("a", 1): compute_terms("alpha"), ("b", 2): compute_terms("beta")}
    cache.add(made)
    assert cache.get([("a", 1), ("b", 2), ("c", 1)]) == {"a": made["a", 1], "b": made["b", 2]}


def test_cache_has_nothing_of_an_older_or_newer_version_of_a_passage() -> None:
    cache = TermCache()
    cache.add({("a", 2): compute_terms("alpha")})
    assert cache.get([("a", 1)]) == {}
    assert cache.get([("a", 3)]) == {}


def test_cache_forgets_the_one_used_longest_ago() -> None:
    cache = TermCache(capacity=2)
    cache.add({(id_, 1): compute_terms(id_) for id_ in ("a", "b")})
    cache.get([("a", 1)])
    cache.add({("c", 1): compute_terms("c")})
    assert set(cache.get([("a", 1), ("b", 1), ("c", 1)])) == {"a", "c"}
