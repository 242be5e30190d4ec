"""What is asked about when somebody gets there changes no answer: only its beginning is vouched for."""

import random
from collections.abc import Iterable

import pytest
from sqlmodel import col, update

from core.db.read_pool import ReadContext
from core.db.unit_of_work import unit_of_work
from kb_service.models import Chunk
from kb_service.retrieval import candidates
from kb_service.retrieval.results import DropReason, SearchResult
from kb_service.retrieval.visibility import DocumentScope, VisibilityResult, check_visibility
from tests.fixtures.knowledge.searchable_kb import Shelf, dropped

pytestmark = pytest.mark.anyio

_WORDS = [
    "zebra",
    "lion",
    "sleeps",
    "hunts",
    "noon",
    "plain",
    "river",
    "stripe",
    "herd",
    "grass",
    "africa",
    "report",
    "animal",
]
_QUERIES = ("striped zebra at the river", "lion hunts", "report on animals of the plain")
_CHUNKS = 130
_LONG = 90


@pytest.fixture
async def long_shelf(shelf: Shelf) -> Shelf:
    """More chunks than a search looks at, two of them alike."""
    source = random.Random(7)
    texts = [" ".join(source.choices(_WORDS, k=22)) for _ in range(_CHUNKS)]
    await shelf.put("many.md", "\n\n".join(f"{text}." for text in [*texts, texts[0]]))
    await shelf.put("other.md", f"{texts[1]}.")
    assert len(await shelf.chunks("many.md")) > 100
    return shelf


async def switch_off(shelf: Shelf, chunk_ids: Iterable[str]) -> None:
    async with unit_of_work(shelf.context.database) as work:
        await work.session.exec(update(Chunk).values(enabled=True))
        change = update(Chunk).where(col(Chunk.id).in_(list(chunk_ids))).values(enabled=False)
        await work.session.exec(change)


def shown(result: SearchResult) -> list[tuple[str, float]]:
    return [(found.chunk.id, found.hit.score) for found in result.passages]


async def ends(shelf: Shelf, query: str) -> dict[str, str]:
    """The chunks at both ends of both legs."""
    result = await shelf.ask(query, explain=True)
    hits = [p.hit for p in result.passages] + [one.hit for one in result.dropped if one.hit]
    found: dict[str, str] = {}
    for leg in ("dense", "sparse"):
        places = {hit.id: getattr(hit.fused, leg) for hit in hits}
        there = {id_: place.rank for id_, place in places.items() if place}
        found[f"first {leg}"] = min(there, key=there.__getitem__)
        found[f"last {leg}"] = max(there, key=there.__getitem__)
    return found


@pytest.mark.parametrize("rerank", [True, False])
async def test_an_answer_is_the_beginning_of_every_longer_one(long_shelf: Shelf, rerank: bool):
    """Whatever is switched off, and wherever among the hits: also at the ends of the legs.

    As long as each leg has as many hits left as are asked for; else it is asked for more.
    """
    chunks = [chunk.id for chunk in await long_shelf.chunks("many.md")]
    source = random.Random(11)
    for query in _QUERIES:
        at_ends = await ends(long_shelf, query)
        choices = [[], *([one] for one in at_ends.values())]
        choices += [source.sample(chunks, count) for count in (3, 8)]
        for off in choices:
            await switch_off(long_shelf, off)
            longest = await long_shelf.ask(query, top_k=_LONG, rerank=rerank)
            assert not {id_ for id_, _ in shown(longest)} & set(off)
            for top_k in (1, 5, 60):
                answer = await long_shelf.ask(query, top_k=top_k, rerank=rerank)
                assert shown(answer) == shown(longest)[:top_k], (query, off, top_k)
        await switch_off(long_shelf, [])


async def test_an_explained_answer_is_the_same_and_names_all_that_was_dropped(long_shelf: Shelf):
    query = _QUERIES[0]
    last = await ends(long_shelf, query)
    chunks = [chunk.id for chunk in await long_shelf.chunks("many.md")]
    for off in ([], [last["last dense"]], random.Random(3).sample(chunks, 9)):
        await switch_off(long_shelf, off)
        answer, explained = [await long_shelf.ask(query, explain=e) for e in (False, True)]
        assert shown(answer) == shown(explained)
        reasons = dropped(explained)
        switched_off = {id_ for id_, reason in reasons.items() if reason is DropReason.CHUNK_DISABLED}
        assert switched_off <= set(off)
        assert not switched_off & {id_ for id_, _ in shown(answer)}
        seen = {id_ for id_, _ in shown(explained)} | reasons.keys()
        assert len(seen) >= 100
        assert set(reasons.values()) <= {
            DropReason.CHUNK_DISABLED,
            DropReason.TOP_K,
            DropReason.DUPLICATE,
        }


async def test_threshold_ends_an_answer_of_any_length(long_shelf: Shelf):
    longest = shown(await long_shelf.ask(_QUERIES[1], top_k=100))
    for place in (2, 55, 80):
        threshold = longest[place][1]
        expected = [entry for entry in longest if entry[1] >= threshold]
        answer = await long_shelf.ask(_QUERIES[1], top_k=100, score_threshold=threshold)
        assert shown(answer) == expected


async def test_sql_is_asked_about_those_in_front_alone(long_shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []

    def counted(reads: ReadContext, chunk_ids: Iterable[str], scope: DocumentScope) -> VisibilityResult:
        found = check_visibility(reads, chunk_ids, scope)
        asked.append(len(found.alive))
        return found

    monkeypatch.setattr(candidates, "check_visibility", counted)
    await long_shelf.ask(_QUERIES[0])
    assert len(asked) == 1
    assert asked[0] < 60
    asked.clear()
    await long_shelf.ask(_QUERIES[0], explain=True)
    assert len(asked) == 2
    assert sum(asked) >= 100


async def test_search_starts_again_when_what_stands_behind_has_moved(
    long_shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    """SQL is asked a second time, and not where a database gives all of a search one moment."""
    calls: list[int] = []

    def moved_at_second(reads: ReadContext, chunk_ids: Iterable[str], scope: DocumentScope) -> VisibilityResult:
        calls.append(1)
        return VisibilityResult(is_moved=True) if len(calls) == 2 else check_visibility(reads, chunk_ids, scope)

    expected = shown(await long_shelf.ask(_QUERIES[0], explain=True))
    monkeypatch.setattr(candidates, "check_visibility", moved_at_second)
    assert shown(await long_shelf.ask(_QUERIES[0], explain=True)) == expected
    assert len(calls) == 4


async def test_equal_passages_are_in_reading_order_however_many_and_others_follow(shelf: Shelf):
    """More are alike than a rerank looks at; what stands behind them fills the answer."""
    text = "The striped zebra sleeps at noon in the grass of the plain, far from every river."
    await shelf.put("alike.md", "\n\n".join([text] * 70))
    alike = [chunk.id for chunk in await shelf.chunks("alike.md")]
    assert len(alike) > 60
    others: list[str] = []
    for number in range(6):
        await shelf.put(f"{number}.md", f"A zebra {'and a lion ' * (number + 1)}hunt.")
        others += [chunk.id for chunk in await shelf.chunks(f"{number}.md")]
    query = "striped zebra sleeps at noon"
    answer = await shelf.ask(query, top_k=55, deduplicate=False)
    assert [id_ for id_, _ in shown(answer)] == alike[:55]
    answer = await shelf.ask(query, top_k=4)
    best, *found = [id_ for id_, _ in shown(answer)]
    assert best == alike[0]
    assert len(found) == 3
    assert set(found) < set(others)
    await switch_off(shelf, [found[0]])
    answer = await shelf.ask(query, top_k=4)
    assert [id_ for id_, _ in shown(answer)][:3] == [alike[0], *found[1:]]
