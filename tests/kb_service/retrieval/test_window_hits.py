"""Hits on windows, counted for their chunk."""

from kb_service.retrieval.candidates import best_windows
from kb_service.vector_index.protocol import HitList, HybridHits, IndexHit


def _hit(id_: str, score: float, chunk_id: str | None = None) -> IndexHit:
    return IndexHit(id_, score, "document", 1, chunk_id)


def test_a_chunk_has_the_place_and_the_score_of_its_best_window() -> None:
    dense = [
        _hit("b:3", 0.9, "b"),
        _hit("a:0", 0.8, "a"),
        _hit("b:1", 0.7, "b"),
        _hit("whole", 0.6),
        _hit("a:2", 0.5, "a"),
    ]
    collapsed = best_windows(HybridHits(dense=HitList.from_hits(dense)))
    assert [(hit.id, hit.score) for hit in collapsed.dense] == [
        ("b", 0.9),
        ("a", 0.8),
        ("whole", 0.6),
    ]


def test_legs_without_windows_stay_as_they_are() -> None:
    legs = HybridHits(HitList.from_hits([_hit("a", 0.9)]), HitList.from_hits([_hit("b", 3.0), _hit("a", 2.0)]))
    assert best_windows(legs) == legs
