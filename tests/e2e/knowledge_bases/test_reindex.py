"""Re-indexing over HTTP: started, awaited, taken back."""

import pytest

from core.errors.auth import ReadOnly
from core.errors.base import AgentexError
from core.errors.conflicts import NoReindex, ReindexNotReady, ReindexRunning
from core.errors.requests import InvalidRequest, UnknownEmbeddingModel
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import await_state, state
from tests.fixtures.product.server import Server, one_shape

SECTIONS = "\n\n".join(f"## House {n}\n\n" + f"Zebra {n} sleeps in house {n} at noon. " * 5 for n in range(8))
TEXT = f"# Zebras\n\n{SECTIONS}\n"
SMALL = {"splitter": "sentence", "chunk_size": 64, "chunk_overlap": 0}


def find_chunk_ids(caller: Api, kb_id: str) -> set[str]:
    return {hit["chunk_id"] for hit in caller.search(kb_id, "zebra at noon", top_k=100)}


@pytest.fixture
def kb_id(user: Api) -> str:
    kb_id = user.create_kb()
    user.ingest(kb_id, "a.md", TEXT)
    return kb_id


def test_changed_settings_come_into_force_by_themselves(user: Api, kb_id: str):
    path = f"/knowledge-bases/{kb_id}"
    old = find_chunk_ids(user, kb_id)
    answer = user.put(path, {"name": "Zebras", **SMALL})
    assert answer["name"] == "Zebras"
    assert (answer["reindexing"], answer["chunk_size"]) == (True, 500)
    after = await_state(user, kb_id, "none")
    assert after["present"].items() >= SMALL.items()
    assert after["previous"]["chunk_size"] == 500
    settings = user.get(path)
    assert settings.items() >= {**SMALL, "reindexing": False, "generation": 2}.items()
    new = find_chunk_ids(user, kb_id)
    assert len(new) > len(old)
    assert not new & old
    (row,) = user.get(f"{path}/documents")["items"]
    assert (row["status"], row["chunk_count"]) == ("completed", len(new))
    user.post(f"{path}/reindex/rollback")
    assert find_chunk_ids(user, kb_id) == old
    user.post(f"{path}/reindex/rollback")
    assert find_chunk_ids(user, kb_id) == new


def test_manual_cut_over_waits_for_its_word(user: Api, kb_id: str):
    path = f"/knowledge-bases/{kb_id}/reindex"
    old = find_chunk_ids(user, kb_id)
    begun = user.post(path, {**SMALL, "cutover": "manual"})
    assert (begun["outcome"], begun["documents"]["total"]) == ("started", 1)
    assert begun["target"].items() >= {**SMALL, "generation": 2}.items()
    ready = await_state(user, kb_id, "ready")
    assert (ready["percent"], ready["documents"]["done"]) == (100, 1)
    assert find_chunk_ids(user, kb_id) == old
    (row,) = user.get(f"/knowledge-bases/{kb_id}/documents")["items"]
    assert row["status"] == "completed"
    assert user.post(f"{path}/cutover")["state"] == "none"
    assert not find_chunk_ids(user, kb_id) & old


def test_cancelled_re_index_leaves_everything_as_it_was(server: Server, user: Api, kb_id: str):
    path = f"/knowledge-bases/{kb_id}/reindex"
    old, chunks = find_chunk_ids(user, kb_id), server.count("chunk", knowledge_base_id=kb_id)
    user.post(path, {**SMALL, "cutover": "manual"})
    await_state(user, kb_id, "ready")
    assert server.count("chunk", knowledge_base_id=kb_id) > chunks
    assert user.post(f"{path}/cancel")["state"] == "none"
    eventually(lambda: server.count("chunk", knowledge_base_id=kb_id) == chunks)
    eventually(lambda: server.points(kb_id=f"{kb_id}:2") == 0)
    assert find_chunk_ids(user, kb_id) == old
    for action in ("cancel", "cutover", "rollback"):
        user.refused(NoReindex, "POST", f"{path}/{action}", json={})


def test_one_re_index_at_a_time(user: Api, kb_id: str):
    path = f"/knowledge-bases/{kb_id}/reindex"
    assert user.post(path, {"chunk_size": 500})["outcome"] == "unchanged"
    wish = {**SMALL, "cutover": "manual"}
    assert user.post(path, wish)["outcome"] == "started"
    assert user.post(path, wish)["outcome"] == "unchanged"
    body = {"chunk_size": 100}
    user.refused(ReindexRunning, "POST", path, json=body)
    user.refused(ReindexRunning, "PUT", f"/knowledge-bases/{kb_id}", json=body)
    assert user.put(f"/knowledge-bases/{kb_id}", {"description": "d"})["description"] == "d"


@one_shape
def test_cut_over_before_the_end_is_refused(user: Api, kb_id: str):
    path = f"/knowledge-bases/{kb_id}/reindex"
    for number in range(6):
        user.upload(kb_id, f"{number}.md", TEXT * 20)
    user.post(path, {**SMALL, "cutover": "manual"})
    details = user.refused(ReindexNotReady, "POST", f"{path}/cutover", json={})
    assert details["left"] > 0


def test_deleted_in_the_middle_nothing_is_left(server: Server, user: Api, kb_id: str):
    user.post(f"/knowledge-bases/{kb_id}/reindex", {**SMALL, "cutover": "manual"})
    user.delete(f"/knowledge-bases/{kb_id}")
    eventually(lambda: server.count("knowledge_base", id=kb_id) == 0, seconds=60)
    assert server.count("chunk", knowledge_base_id=kb_id) == 0
    for number in (1, 2):
        scope = kb_id if number == 1 else f"{kb_id}:{number}"
        assert server.points(kb_id=scope) == 0


@one_shape
def test_edits_that_a_re_index_loses_are_counted(user: Api, kb_id: str):
    (row,) = user.get(f"/knowledge-bases/{kb_id}/documents")["items"]
    chunk = user.get(f"/knowledge-bases/{kb_id}/documents/{row['id']}/chunks")["items"][0]
    edit = {"version": chunk["version"], "content": "Zebras were edited by hand."}
    user.put(f"/knowledge-bases/{kb_id}/chunks/{chunk['id']}", edit)
    answer = user.post(f"/knowledge-bases/{kb_id}/reindex", {**SMALL, "cutover": "manual"})
    assert answer["edited_chunks"] == 1


@one_shape
@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        ({"splitter": "by_moon"}, InvalidRequest, "splitter"),
        ({"chunk_size": 9}, InvalidRequest, "chunk_size"),
        ({"chunk_overlap": 400}, InvalidRequest, "chunk_overlap"),
        ({"cutover": "soon"}, InvalidRequest, "cutover"),
        ({"embedding_model": "bge-m3"}, UnknownEmbeddingModel, "embedding_model"),
        ({"embedding_model": "bge-m33"}, UnknownEmbeddingModel, "embedding_model"),
    ],
)
def test_wish_that_can_not_be_met_starts_nothing(
    someone: Api, wish: dict[str, str], code: type[AgentexError], field: str
):
    kb_id = someone.create_kb()
    path = f"/knowledge-bases/{kb_id}/reindex"
    assert someone.refused(code, "POST", path, json=wish)["field"] == field
    assert state(someone, kb_id)["state"] == "none"


def test_public_knowledge_base_is_re_indexed_by_its_owner_only(user: Api, other: Api, kb_id: str):
    user.put(f"/knowledge-bases/{kb_id}", {"is_public": True})
    path = f"/knowledge-bases/{kb_id}/reindex"
    try:
        assert state(other, kb_id)["state"] == "none"
        for where in (path, f"{path}/cutover", f"{path}/cancel", f"{path}/rollback"):
            other.refused(ReadOnly, "POST", where, json={})
    finally:
        user.put(f"/knowledge-bases/{kb_id}", {"is_public": False})
