"""Options of a search: filters, threshold, duplicates, context, drop reasons."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from sqlmodel import col, update

from core.db.unit_of_work import unit_of_work
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval import candidates
from kb_service.retrieval.filters import Filters
from kb_service.retrieval.request import RetrievalOptions, RetrievalRequest
from kb_service.retrieval.results import DropReason
from kb_service.vector_index.bm25 import encode_document
from kb_service.vector_index.protocol import ChunkPoint, index_scope
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.searchable_kb import SearchableKb, drop_reasons

pytestmark = pytest.mark.anyio


ANIMALS: dict[str, dict[str, Any]] = {
    "ops.md": {"team": "ops", "year": 2021, "tags": ["a", "b"], "ok": True, "day": "2024-03-01"},
    "dev.md": {"team": "dev", "year": 2023.5, "tags": [], "ok": False, "day": "2024-09-30"},
    "zh.md": {"team": "研发", "year": "2021", 'odd "key"\\': "x", "部门": "研发", "n": 1},
    "bare.txt": {},
}
BOTH = {"ops.md", "dev.md"}
CONDITIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"metadata": {"team": "ops"}}, {"ops.md"}),
    ({"metadata": {"team": "研发"}}, {"zh.md"}),
    ({"metadata": {"部门": "研发"}}, {"zh.md"}),
    ({"metadata": {'odd "key"\\': "x"}}, {"zh.md"}),
    ({"metadata": {"team": ["ops", "dev", "none"]}}, BOTH),
    ({"metadata": {"tags": "b"}}, {"ops.md"}),
    ({"metadata": {"tags": ["b", "c"]}}, {"ops.md"}),
    ({"metadata": {"year": 2021}}, {"ops.md"}),
    ({"metadata": {"year": "2021"}}, {"zh.md"}),
    ({"metadata": {"year": {"gte": 2021, "lt": 2024}}}, BOTH),
    ({"metadata": {"year": {"gt": 2021}}}, {"dev.md"}),
    ({"metadata": {"day": {"gte": "2024-03-01", "lte": "2024-06-30"}}}, {"ops.md"}),
    ({"metadata": {"ok": True}}, {"ops.md"}),
    ({"metadata": {"ok": False}}, {"dev.md"}),
    ({"metadata": {"n": True}}, set()),
    ({"metadata": {"n": 1}}, {"zh.md"}),
    ({"metadata": {"team": "ops", "year": 2022}}, set()),
    ({"metadata": {"team": "' OR 1=1 --"}}, set()),
    ({"metadata": {"$.team": "ops"}}, set()),
    ({"file_types": ["markdown"]}, {"ops.md", "dev.md", "zh.md"}),
    ({"file_types": [".TXT"]}, {"bare.txt"}),
    ({"name": "*.MD"}, {"ops.md", "dev.md", "zh.md"}),
    ({"name": "?ev.md"}, {"dev.md"}),
    ({"name": "%"}, set()),
    ({"created": {"since": "2001-01-01T00:00:00Z", "before": "2002-01-01T00:00:00"}}, {"ops.md"}),
    ({"document_ids": []}, set()),
]


@pytest.fixture
async def animal_kb(searchable_kb: SearchableKb) -> SearchableKb:
    for name, attributes in ANIMALS.items():
        created = datetime(2001, 6, 1, tzinfo=UTC) if name == "ops.md" else datetime.now(UTC)
        text = f"A zebra sleeps in {name}."
        await searchable_kb.put(name, text, attributes=attributes, created_at=created)
    return searchable_kb


async def test_filters_let_through_what_meets_all_of_them(animal_kb: SearchableKb):
    for filters, expected in CONDITIONS:
        assert set(await animal_kb.names("zebra sleeps", filters=filters)) == expected, filters
    one = {"document_ids": [animal_kb.ids["dev.md"], "unknown"]}
    assert await animal_kb.names("zebra sleeps", filters=one) == ["dev.md"]
    everything = await animal_kb.names("zebra sleeps")
    assert set(everything) == set(ANIMALS)


async def test_filter_explains_whom_it_kept_out(animal_kb: SearchableKb):
    result = await animal_kb.ask("zebra", filters={"name": "ops*"}, explain=True)
    assert [found.document_name for found in result.passages] == ["ops.md"]
    others = [chunk.id for name in ANIMALS if name != "ops.md" for chunk in await animal_kb.chunks(name)]
    assert drop_reasons(result) == dict.fromkeys(others, DropReason.FILTER)


@pytest.mark.parametrize("pushed", [1000, 2])
async def test_filter_never_starves_the_answer(
    searchable_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch, pushed: int
):
    monkeypatch.setattr(candidates, "PUSHED_DOCUMENTS", pushed)
    monkeypatch.setattr(candidates, "DEPTH", 3)
    monkeypatch.setattr(candidates, "_DEEPER", (4,))
    for number in range(8):
        await searchable_kb.put(f"near{number}.md", "zebra zebra zebra")
    wanted = ["far0.txt", "far1.txt", "far2.txt"]
    for name in wanted:
        await searchable_kb.put(name, f"Somewhere in a long report on stripes {name} has one zebra.")
    found = await searchable_kb.names("zebra", filters={"file_types": ["txt"]}, deduplicate=False)
    assert sorted(found) == wanted


async def test_disabled_chunks_are_never_found_and_crowd_nobody_out(
    searchable_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(candidates, "DEPTH", 2)
    monkeypatch.setattr(candidates, "_DEEPER", (8,))
    for number in range(4):
        await searchable_kb.put(f"off{number}.md", f"zebra zebra {number}")
    await searchable_kb.put("on.md", "A single zebra among many other animals of the plain.")
    async with unit_of_work(searchable_kb.context.database) as work:
        off = [id_ for name, id_ in searchable_kb.ids.items() if name != "on.md"]
        change = update(Chunk).where(col(Chunk.document_id).in_(off)).values(enabled=False)
        await work.session.exec(change)
    result = await searchable_kb.ask("zebra", explain=True)
    assert [found.document_name for found in result.passages] == ["on.md"]
    assert set(drop_reasons(result).values()) == {DropReason.CHUNK_DISABLED}
    assert len(drop_reasons(result)) == 4


async def test_threshold_is_on_the_final_score(searchable_kb: SearchableKb):
    await searchable_kb.put("a.md", "A striped zebra sleeps at noon.")
    await searchable_kb.put("b.md", "The zebra is an animal of Africa.")
    everything = await searchable_kb.ask("striped zebra")
    best, second = [found.hit.score for found in everything.passages]
    assert best > second
    result = await searchable_kb.ask("striped zebra", score_threshold=(best + second) / 2, explain=True)
    assert [found.document_name for found in result.passages] == ["a.md"]
    assert list(drop_reasons(result).values()) == [DropReason.THRESHOLD]
    assert (await searchable_kb.ask("striped zebra", score_threshold=second)).passages[1].hit.score == second


async def test_equal_text_is_shown_once_unless_asked_for(searchable_kb: SearchableKb):
    for name in ("a.md", "b.md"):
        await searchable_kb.put(name, "A zebra   sleeps.")
    await searchable_kb.put("c.md", "A lion eats the zebra.")
    result = await searchable_kb.ask("zebra sleeps", top_k=2, explain=True)
    assert len({found.document_name for found in result.passages} - {"c.md"}) == 1
    assert {found.document_name for found in result.passages} > {"c.md"}
    assert list(drop_reasons(result).values()) == [DropReason.DUPLICATE]
    assert len(await searchable_kb.names("zebra sleeps", deduplicate=False)) == 3


async def test_every_candidate_is_shown_or_has_a_reason(searchable_kb: SearchableKb):
    for number in range(7):
        await searchable_kb.put(f"{number}.md", f"Zebra number {number} sleeps {'long ' * number}.")
    result = await searchable_kb.ask("zebra number 3", top_k=2, explain=True)
    assert len(result.passages) == 2
    assert list(drop_reasons(result).values()) == [DropReason.TOP_K] * 5
    hits = [one.hit.score for one in result.dropped if one.hit]
    assert hits == sorted(hits, reverse=True)
    assert hits[0] <= result.passages[-1].hit.score


async def test_switched_off_rerank_leaves_the_order_of_the_fusion(searchable_kb: SearchableKb):
    for number in range(4):
        await searchable_kb.put(f"{number}.md", f"The zebra {'and the lion ' * number} sleeps.")
    hits = [found.hit for found in (await searchable_kb.ask("zebra sleeps", rerank=False)).passages]
    assert {(hit.window, hit.phrase) for hit in hits} == {(0.0, 0.0)}
    assert [hit.final for hit in hits] == [hit.fused.score for hit in hits]
    assert [hit.final for hit in hits] == sorted((hit.final for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in hits)


async def test_dense_weight_of_the_request_is_applied(searchable_kb: SearchableKb):
    await searchable_kb.put("a.md", "A zebra sleeps.")
    await searchable_kb.put("b.md", "Horses with stripes rest.")
    assert (await searchable_kb.ask("zebra", dense_weight=2)).dense_weight == 2
    words_only = await searchable_kb.ask("zebra", dense_weight=0)
    assert [found.document_name for found in words_only.passages] == ["a.md"]


SECTIONS = "\n\n".join(
    [
        "# Pump",
        "## Care",
        *(f"Care step {n}: wipe part {n} of the machine with a dry cloth every day." for n in range(4)),
        "Care secret: the quokka must be oiled with a dry cloth every single day.",
        *(f"Care step {n}: wipe part {n} of the machine with a dry cloth every day." for n in (5, 6)),
        "## Storage",
        *(f"Storage step {n}: drain part {n} of the machine before each winter." for n in range(3)),
    ]
)


async def test_neighbours_are_the_text_around_a_passage(searchable_kb: SearchableKb):
    await searchable_kb.put("pump.md", SECTIONS)
    chunks = await searchable_kb.chunks("pump.md")
    (found,) = (await searchable_kb.ask("quokka", top_k=1, neighbours=2)).passages
    place = found.chunk.position
    assert "quokka" in found.chunk.content
    assert [part.chunk_id for part in found.before] == [c.id for c in chunks[place - 2 : place]]
    assert [part.chunk_id for part in found.after] == [c.id for c in chunks[place + 1 : place + 3]]
    spans = [(p.char_start, p.char_end) for p in found.before]
    spans += [(found.chunk.char_start, found.chunk.char_end)]
    spans += [(p.char_start, p.char_end) for p in found.after]
    gaps = [start - end for (_, end), (start, _) in pairwise(spans)]
    assert set(gaps) <= {0, 1, 2}, "no text twice, none left out but blank lines"
    for part in (*found.before, *found.after):
        assert len(part.content) == part.char_end - part.char_start
    assert (await searchable_kb.ask("quokka", top_k=1)).passages[0].before == ()


async def test_section_is_shown_whole_and_ends_at_the_next_heading(searchable_kb: SearchableKb):
    await searchable_kb.put("pump.md", SECTIONS)
    (found,) = (await searchable_kb.ask("quokka", top_k=1, expand="section")).passages
    text = " ".join([*(p.content for p in found.before), found.chunk.content, *(p.content for p in found.after)])
    assert all(f"Care step {n}" in text for n in (0, 1, 2, 3, 5, 6))
    assert "Storage" not in text
    (short,) = (await searchable_kb.ask("quokka", top_k=1, expand="section", expand_tokens=80)).passages
    chunks = {chunk.id: chunk.token_count for chunk in await searchable_kb.chunks("pump.md")}
    shown = [short.chunk.id, *(p.chunk_id for p in (*short.before, *short.after))]
    assert 32 < sum(chunks[id_] for id_ in shown) <= 80


async def test_no_chunk_is_shown_twice_with_context(searchable_kb: SearchableKb):
    await searchable_kb.put("pump.md", SECTIONS)
    result = await searchable_kb.ask("wipe the machine with a dry cloth", top_k=4, neighbours=3)
    ids = [found.chunk.id for found in result.passages]
    ids += [p.chunk_id for found in result.passages for p in (*found.before, *found.after)]
    assert len(ids) == len(set(ids))
    assert len(ids) > 4


async def test_disabled_neighbour_is_left_out(searchable_kb: SearchableKb):
    await searchable_kb.put("pump.md", SECTIONS)
    (found,) = (await searchable_kb.ask("quokka", top_k=1, neighbours=2)).passages
    hidden = found.before[-1].chunk_id
    async with unit_of_work(searchable_kb.context.database) as work:
        (await work.session.get_one(Chunk, hidden)).enabled = False
    (again,) = (await searchable_kb.ask("quokka", top_k=1, neighbours=2)).passages
    assert [part.chunk_id for part in again.before] == [found.before[0].chunk_id]


async def test_defaults_are_the_knowledge_bases_and_the_request_overrules_them(searchable_kb: SearchableKb):
    async with unit_of_work(searchable_kb.context.database) as work:
        row = await work.session.get_one(KnowledgeBase, searchable_kb.kb_id)
        row.retrieval = {"top_k": 3, "neighbours": 1, "unknown": "of a later version"}
    row = await searchable_kb.row()
    resolve = RetrievalRequest.resolve
    assert resolve("q", [row]).top_k == 5, "defaults that can't be read are none"
    row.retrieval = {"top_k": 3, "neighbours": 1}
    other = KnowledgeBase(**{**row.model_dump(), "id": "other", "retrieval": {"top_k": 3}})
    assert (resolve("q", [row]).top_k, resolve("q", [row]).neighbours) == (3, 1)
    assert resolve("q", [row], RetrievalOptions(top_k=9)).top_k == 9
    assert resolve("q", [row, other]).top_k == 3
    assert resolve("q", [row, other]).neighbours == 0, "they do not agree"
    fallback = RetrievalOptions(top_k=8, neighbours=2)
    assert resolve("q", [other], fallback=fallback).top_k == 3
    assert resolve("q", [other], fallback=fallback).neighbours == 2


async def test_request_comes_back_from_its_record_as_it_was(searchable_kb: SearchableKb):
    filters = Filters.model_validate(
        {
            "metadata": {"a": {"gte": 1, "lt": 2.5}, "b": ["x", 1, True]},
            "created": {"since": "2024-01-01T00:00:00Z"},
        }
    )
    options = RetrievalOptions(top_k=3, expand="section", dense_weight=0.5)
    request = RetrievalRequest.resolve("q", [await searchable_kb.row()], options, filters=filters)
    assert RetrievalRequest.model_validate(request.to_json()) == request


async def test_search_that_meets_a_cut_over_searches_again(searchable_kb: SearchableKb):
    """The points asked for are those of the old generation; SQL has moved on meanwhile."""
    await searchable_kb.put("a.md", "A zebra sleeps at noon.")
    stale = await searchable_kb.row()
    space = searchable_kb.context.spaces.default
    async with unit_of_work(searchable_kb.context.database) as work:
        row = await work.session.get_one(KnowledgeBase, searchable_kb.kb_id)
        row.generation = 2
        document = await work.session.get_one(Document, searchable_kb.ids["a.md"])
        document.active_revision = document.revision = 2
        document.generation = 2
        chunk = (await searchable_kb.chunks("a.md"))[0]
        new_id = str(uuid4())
        work.session.add(Chunk(**{**chunk.model_dump(), "id": new_id, "revision": 2}))
    point = ChunkPoint(
        id=new_id,
        kb_id=index_scope(searchable_kb.kb_id, 2),
        document_id=searchable_kb.ids["a.md"],
        revision=2,
        index=0,
        dense=(await space.encoder.embed_passages([chunk.content]))[0],
        sparse=encode_document(chunk.content),
    )
    await space.index.upsert([point])
    request = searchable_kb.searcher.resolve([stale], "zebra")
    result = await searchable_kb.searcher.search(SYSTEM_VIEWER, [stale], request)
    assert [found.chunk.revision for found in result.passages] == [2]
    assert result.generations == {searchable_kb.kb_id: 2}


async def test_shadow_is_searched_only_when_asked(searchable_kb: SearchableKb):
    await searchable_kb.put("a.md", "A zebra sleeps at noon.")
    row = await searchable_kb.row()
    row.target = {"generation": 2, "embedding_model": row.embedding_model}
    request = searchable_kb.searcher.resolve([row], "zebra")
    assert (await searchable_kb.searcher.search(SYSTEM_VIEWER, [row], request, shadow=True)).passages == []
    assert len((await searchable_kb.searcher.search(SYSTEM_VIEWER, [row], request)).passages) == 1


async def test_period_without_zone_is_utc(searchable_kb: SearchableKb):
    moment = datetime.now(UTC).replace(microsecond=0)
    await searchable_kb.put("a.md", "A zebra sleeps.", updated_at=moment)
    inside = {"updated": {"since": moment.replace(tzinfo=None).isoformat()}}
    behind = {"updated": {"since": (moment + timedelta(seconds=1)).isoformat()}}
    assert await searchable_kb.names("zebra", filters=inside) == ["a.md"]
    assert await searchable_kb.names("zebra", filters=behind) == []
