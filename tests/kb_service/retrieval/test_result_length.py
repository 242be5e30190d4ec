"""Results of different length: a short one is the beginning of a longer one."""

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
from tests.fixtures.knowledge.searchable_kb import SearchableKb, drop_reasons

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
async def long_kb(searchable_kb: SearchableKb) -> SearchableKb:
    """More chunks than a search looks at, two of them alike."""
    source = random.Random(7)
    texts = [" ".join(source.choices(_WORDS, k=22)) for _ in range(_CHUNKS)]
    await searchable_kb.put("many.md", "\n\n".join(f"{text}." for text in [*texts, texts[0]]))
    await searchable_kb.put("other.md", f"{texts[1]}.")
    assert len(await searchable_kb.chunks("many.md")) > 100
    return searchable_kb


async def switch_off(searchable_kb: SearchableKb, chunk_ids: Iterable[str]) -> None:
    async with unit_of_work(searchable_kb.context.database) as work:
        await work.session.exec(update(Chunk).values(enabled=True))
        change = update(Chunk).where(col(Chunk.id).in_(list(chunk_ids))).values(enabled=False)
        await work.session.exec(change)


def ids_and_scores(result: SearchResult) -> list[tuple[str, float]]:
    return [(found.chunk.id, found.hit.score) for found in result.passages]


async def ends(searchable_kb: SearchableKb, query: str) -> dict[str, str]:
    """The chunks at both ends of both legs."""
    result = await searchable_kb.ask(query, explain=True)
    hits = [p.hit for p in result.passages] + [one.hit for one in result.dropped if one.hit]
    found: dict[str, str] = {}
    for leg in ("dense", "sparse"):
        places = {hit.id: getattr(hit.fused, leg) for hit in hits}
        there = {id_: place.rank for id_, place in places.items() if place}
        found[f"first {leg}"] = min(there, key=there.__getitem__)
        found[f"last {leg}"] = max(there, key=there.__getitem__)
    return found


@pytest.mark.parametrize("rerank", [True, False])
async def test_an_answer_is_the_beginning_of_every_longer_one(long_kb: SearchableKb, rerank: bool):
    """Whatever is switched off, and wherever among the hits: also at the ends of the legs.

    As long as each leg has as many hits left as are asked for; else it is asked for more.
    """
    chunks = [chunk.id for chunk in await long_kb.chunks("many.md")]
    source = random.Random(11)
    for query in _QUERIES:
        at_ends = await ends(long_kb, query)
        choices = [[], *([one] for one in at_ends.values())]
        choices += [source.sample(chunks, count) for count in (3, 8)]
        for off in choices:
            await switch_off(long_kb, off)
            longest = await long_kb.ask(query, top_k=_LONG, rerank=rerank)
            assert not {id_ for id_, _ in ids_and_scores(longest)} & set(off)
            for top_k in (1, 5, 60):
                answer = await long_kb.ask(query, top_k=top_k, rerank=rerank)
                assert ids_and_scores(answer) == ids_and_scores(longest)[:top_k], (query, off, top_k)
        await switch_off(long_kb, [])


async def test_an_explained_answer_is_the_same_and_names_all_that_was_dropped(long_kb: SearchableKb):
    query = _QUERIES[0]
    last = await ends(long_kb, query)
    chunks = [chunk.id for chunk in await long_kb.chunks("many.md")]
    for off in ([], [last["last dense"]], random.Random(3).sample(chunks, 9)):
        await switch_off(long_kb, off)
        answer, explained = [await long_kb.ask(query, explain=e) for e in (False, True)]
        assert ids_and_scores(answer) == ids_and_scores(explained)
        reasons = drop_reasons(explained)
        switched_off = {id_ for id_, reason in reasons.items() if reason is DropReason.CHUNK_DISABLED}
        assert switched_off <= set(off)
        assert not switched_off & {id_ for id_, _ in ids_and_scores(answer)}
        seen = {id_ for id_, _ in ids_and_scores(explained)} | reasons.keys()
        assert len(seen) >= 100
        assert set(reasons.values()) <= {
            DropReason.CHUNK_DISABLED,
            DropReason.TOP_K,
            DropReason.DUPLICATE,
        }


async def test_threshold_ends_an_answer_of_any_length(long_kb: SearchableKb):
    longest = ids_and_scores(await long_kb.ask(_QUERIES[1], top_k=100))
    for place in (2, 55, 80):
        threshold = longest[place][1]
        expected = [entry for entry in longest if entry[1] >= threshold]
        answer = await long_kb.ask(_QUERIES[1], top_k=100, score_threshold=threshold)
        assert ids_and_scores(answer) == expected


async def test_sql_is_asked_about_those_in_front_alone(long_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []

    def counted(reads: ReadContext, chunk_ids: Iterable[str], scope: DocumentScope) -> VisibilityResult:
        found = check_visibility(reads, chunk_ids, scope)
        asked.append(len(found.alive))
        return found

    monkeypatch.setattr(candidates, "check_visibility", counted)
    await long_kb.ask(_QUERIES[0])
    assert len(asked) == 1
    assert asked[0] < 60
    asked.clear()
    await long_kb.ask(_QUERIES[0], explain=True)
    assert len(asked) == 2
    assert sum(asked) >= 100


async def test_search_starts_again_when_what_stands_behind_has_moved(
    long_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch
):
    """SQL is asked a second time, and not where a database gives all of a search one moment."""
    calls: list[int] = []

    def moved_at_second(reads: ReadContext, chunk_ids: Iterable[str], scope: DocumentScope) -> VisibilityResult:
        calls.append(1)
        return VisibilityResult(is_moved=True) if len(calls) == 2 else check_visibility(reads, chunk_ids, scope)

    expected = ids_and_scores(await long_kb.ask(_QUERIES[0], explain=True))
    monkeypatch.setattr(candidates, "check_visibility", moved_at_second)
    assert ids_and_scores(await long_kb.ask(_QUERIES[0], explain=True)) == expected
    assert len(calls) == 4


async def test_equal_passages_are_in_reading_order_however_many_and_others_follow(searchable_kb: SearchableKb):
    """More are alike than a rerank looks at; what stands behind them fills the answer."""
    text = "The striped zebra sleeps at noon in the grass of the plain, far from every river."
    await searchable_kb.put("alike.md", "\n\n".join([text] * 70))
    alike = [chunk.id for chunk in await searchable_kb.chunks("alike.md")]
    assert len(alike) > 60
    others: list[str] = []
    for number in range(6):
        await searchable_kb.put(f"{number}.md", f"A zebra {'and a lion ' * (number + 1)}hunt.")
        others += [chunk.id for chunk in await searchable_kb.chunks(f"{number}.md")]
    query = "striped zebra sleeps at noon"
    answer = await searchable_kb.ask(query, top_k=55, deduplicate=False)
    assert [id_ for id_, _ in ids_and_scores(answer)] == alike[:55]
    answer = await searchable_kb.ask(query, top_k=4)
    best, *found = [id_ for id_, _ in ids_and_scores(answer)]
    assert best == alike[0]
    assert len(found) == 3
    assert set(found) < set(others)
    await switch_off(searchable_kb, [found[0]])
    answer = await searchable_kb.ask(query, top_k=4)
    assert [id_ for id_, _ in ids_and_scores(answer)][:3] == [alike[0], *found[1:]]
