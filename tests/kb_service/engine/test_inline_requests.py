"""The requests that the engine answers on its event loop."""

from dataclasses import dataclass
from typing import Any

import pytest

from kb_service.engine.handlers import parse
from kb_service.engine.resources import Resources
from kb_service.engine_client.protocol import EngineRequest
from kb_service.vector_index.engine_index import SearchRequest

MODEL = "m"


def is_brief(question: str, depth: int) -> bool:
    body = SearchRequest(
        model=MODEL,
        kb_ids=["kb@1"],
        depth=depth,
        question=question,
        sparse_indices=b"",
        sparse_values=b"",
    )
    return parse(EngineRequest(id=1, op="search", body=body.model_dump())).inline_ok


@pytest.mark.parametrize(
    ("characters", "depth", "inline_ok"),
    [(1, 1, True), (500, 200, True), (501, 200, False), (500, 201, False), (10_000, 1600, False)],
)
def test_long_or_deep_questions_do_not_keep_the_loop(characters: int, depth: int, inline_ok: bool):
    assert is_brief("q" * characters, depth) is inline_ok


@dataclass
class Part:
    """What a holding says of itself."""

    points: int = 0
    is_brisk: bool = True


@pytest.mark.parametrize(
    ("points", "is_brisk", "soon"),
    [(0, True, True), (50_000, True, True), (50_001, True, False), (10, False, False)],
)
def test_large_indexes_and_slow_encoders_do_not_keep_the_loop(points, is_brisk, soon):
    shards: Any = {MODEL: Part(points=points)}
    encoders: Any = {MODEL: Part(is_brisk=is_brisk)}
    assert Resources(encoders, shards).answers_soon(MODEL) is soon
    assert not Resources(encoders, shards).answers_soon("another")
    assert not Resources({}, shards).answers_soon(MODEL)
