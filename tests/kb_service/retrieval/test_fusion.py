"""Min-max convex fusion of a dense and a sparse leg."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_service.retrieval.fusion import DEPTH, FusedHit, LegRank, break_ties, dense_weight, fuse
from kb_service.vector_index.protocol import NO_HITS, HitList, IndexHit


def _hits(scores: Mapping[str, float]) -> HitList:
    return HitList.from_hits(IndexHit(id_, score, "document", 1) for id_, score in scores.items())


def _leg(**scores: float) -> HitList:
    return _hits(scores)


def _scores(hits: tuple[FusedHit, ...]) -> dict[str, float]:
    return {hit.id: round(hit.score, 6) for hit in hits}


def test_fuse_adds_normalised_scores_and_keeps_each_legs_place() -> None:
    fusion = fuse(_leg(a=0.9, b=0.5, c=0.1), _leg(b=8.0, d=4.0), weight=0.5)
    assert _scores(fusion.hits) == {"b": 1.25, "d": 0.5, "a": 0.5, "c": 0.0}
    assert fusion.dense_weight == 0.5
    best = fusion.hits[0]
    assert best.dense == LegRank(2, 0.5, pytest.approx(0.5))
    assert best.sparse == LegRank(1, 8.0, pytest.approx(1.0))
    assert fusion.hits[1].dense is None


def test_fuse_counts_a_single_lexical_hit_fully() -> None:
    assert _scores(fuse(NO_HITS, _leg(a=3.0), weight=0.5).hits) == {"a": 1.0}


def test_fuse_takes_the_score_at_depth_as_zero_when_the_sparse_list_is_full() -> None:
    full = _hits({str(number): 200.0 - number for number in range(DEPTH + 20)})
    scores = _scores(fuse(NO_HITS, full, weight=0.5).hits)
    assert len(scores) == DEPTH
    assert scores["0"] == 1
    assert scores[str(DEPTH - 1)] == 0


def test_fuse_counts_one_when_all_dense_scores_are_equal() -> None:
    assert _scores(fuse(_leg(a=0.4, b=0.4), NO_HITS, weight=0.5).hits) == {"a": 0.5, "b": 0.5}


def test_fuse_leaves_the_dense_leg_out_when_its_weight_is_zero() -> None:
    fusion = fuse(_leg(a=0.9, b=0.8), _leg(b=2.0), weight=0)
    assert _scores(fusion.hits) == {"b": 1.0}
    assert fusion.hits[0].dense is not None


def test_fuse_falls_back_to_the_dense_leg_when_no_word_matches() -> None:
    fusion = fuse(_leg(a=0.9, b=0.8), NO_HITS, weight=0)
    assert [hit.id for hit in fusion.hits] == ["a", "b"]
    assert fusion.dense_weight == 0.5


def test_fuse_of_nothing_is_empty() -> None:
    assert fuse(NO_HITS, NO_HITS, weight=0.5).hits == ()


_SCORES = st.lists(st.floats(0.001, 100), max_size=150).map(lambda s: sorted(s, reverse=True))


@given(dense=_SCORES, sparse=_SCORES, weight=st.sampled_from([0.0, 0.5, 1.0]))
def test_fuse_keeps_scores_in_range_and_order(dense: list[float], sparse: list[float], weight: float) -> None:
    fusion = fuse(
        _hits({f"c{number}": score for number, score in enumerate(dense)}),
        _hits({f"c{number * 2}": score for number, score in enumerate(sparse)}),
        weight=weight,
    )
    scores = [hit.score for hit in fusion.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 + fusion.dense_weight for score in scores)
    assert len({hit.id for hit in fusion.hits}) == len(scores)


@pytest.mark.parametrize(
    ("query", "languages", "weight"),
    [
        ("what is RAG", {"en"}, 1.1),
        ("Où est l'entrepôt?", {"en"}, 1.1),
        ("что такое RAG", {"en"}, 0.5),
        ("什么是知识库", {"en"}, 0.0),
        ("什么是知识库", {"en", "zh"}, 1.5),
        ("什么是知识库", {"mul"}, 1.5),
        ("什么是知识库", {"zh"}, 0.5),
        ("什么是知识库", {"en", "de"}, 0.0),
        ("what is RAG", {"en", "zh"}, 1.5),
        ("what is RAG", set(), 0.5),
    ],
)
def test_dense_weight_follows_encoder_and_script(query: str, languages: set[str], weight: float) -> None:
    assert dense_weight(query, frozenset(languages)) == weight


def test_hits_of_one_score_stand_in_the_order_of_names_and_positions() -> None:
    legs = [_leg(best=9.0, d=5.0, b=5.0, c=5.0, a=5.0, last=1.0), _leg()]
    places = {"d": ("one", 2), "c": ("one", 10), "b": ("two", 1), "a": ("two", 1)}
    places |= {"best": ("zero", 1), "last": ("zero", 0)}
    settled_hits = break_ties(fuse(*legs, weight=1.0), places).hits
    assert [hit.id for hit in settled_hits] == ["best", "d", "c", "a", "b", "last"]
