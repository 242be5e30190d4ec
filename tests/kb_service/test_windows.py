"""Hits on windows count for the chunk they are a part of."""

from kb_service.retrieval.candidates import collapse
from kb_service.vector_index.protocol import Leg, Legs, ScoredChunk


def _hit(id_: str, score: float, chunk_id: str | None = None) -> ScoredChunk:
    return ScoredChunk(id_, score, "document", 1, chunk_id)


def test_a_chunk_has_the_place_and_the_score_of_its_best_window() -> None:
    dense = [
        _hit("b:3", 0.9, "b"),
        _hit("a:0", 0.8, "a"),
        _hit("b:1", 0.7, "b"),
        _hit("whole", 0.6),
        _hit("a:2", 0.5, "a"),
    ]
    collapsed = collapse(Legs(dense=Leg.of(dense)))
    assert [(hit.id, hit.score) for hit in collapsed.dense] == [
        ("b", 0.9),
        ("a", 0.8),
        ("whole", 0.6),
    ]


def test_legs_without_windows_stay_as_they_are() -> None:
    legs = Legs(Leg.of([_hit("a", 0.9)]), Leg.of([_hit("b", 3.0), _hit("a", 2.0)]))
    assert collapse(legs) == legs
