"""Re-indexing to another embedding model and back, with searches all the while."""

import asyncio
from collections.abc import Iterator

import pytest

from core.errors.conflicts import NoReindex, ReindexNotReady
from kb_service.embeddings.catalog import DEFAULT
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.factory import open_vector_index
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import QUERY, await_state, changes_of, searching, state
from tests.fixtures.product.server import Server
from tests.fixtures.servers.embedding_server import DIMENSION, EmbeddingServer

ENGLISH = ("zebra", "okapi", "quagga", "tapir", "dugong")
CHINESE = ("斑马", "水獭", "苍鹭")
ANIMALS = (*ENGLISH, *CHINESE)


def text_about(animal: str) -> str:
    if animal in CHINESE:
        parts = [f"## {animal} {n}\n\n第{n}群{animal}中午在{n}号屋里睡觉。" for n in range(4)]
    else:
        parts = [f"## {animal} {n}\n\nThe {animal} of herd {n} sleeps in house {n} at noon." for n in range(4)]
    return f"# {animal}\n\n" + "\n\n".join(parts)


def path_of(kb_id: str) -> str:
    return f"/knowledge-bases/{kb_id}/reindex"


def everything(user: Api, kb_id: str) -> frozenset[str]:
    """All passages, by one search that has room for more; none of them twice."""
    found = user.search(kb_id, QUERY, top_k=100, deduplicate=False)
    ids = [hit["chunk_id"] for hit in found]
    assert len(ids) == len(set(ids))
    assert {hit["document_name"] for hit in found} == {f"{animal}.md" for animal in ANIMALS}
    return frozenset(ids)


def passages(user: Api, kb_id: str) -> list[str]:
    """The text of each passage."""
    path = f"/knowledge-bases/{kb_id}/documents"
    rows = user.get(path, page_size=100)["items"]
    lists = [user.get(f"{path}/{row['id']}/chunks", page_size=100)["items"] for row in rows]
    return [chunk["content"] for chunks in lists for chunk in chunks]


def points(server: Server, model: str, scope: str) -> int:
    """How many points a model's own index has of a generation."""

    async def count() -> int:
        engine = EngineClient(server.settings.effective_engine_socket)
        dimension = DEFAULT.dimension if model == DEFAULT.name else DIMENSION
        index = open_vector_index(server.settings, engine, model=model, dimension=dimension)
        try:
            await index.ensure_ready()
            return await index.count(kb_id=scope)
        finally:
            await index.close()
            await engine.close()

    return asyncio.run(count())


@pytest.fixture
def user(llm_product: Server) -> Api:
    """Somebody where two more models are configured, one of them wrongly."""
    return llm_product.person()


@pytest.fixture
def kb_id(user: Api) -> str:
    """A knowledge base of the built-in model, with documents in both languages."""
    kb_id = user.create_kb(chunk_size=64, chunk_overlap=0)
    ids = [user.upload(kb_id, f"{animal}.md", text_about(animal)) for animal in ANIMALS]
    assert {user.wait(kb_id, id_)["status"] for id_ in ids} == {"completed"}
    return kb_id


def change_model(server: Server, user: Api, kb_id: str, model: str) -> None:
    """Re-index to a model while somebody searches: each answer is all old or all new."""
    old = everything(user, kb_id)
    with searching(server, user, kb_id) as answers:
        eventually(lambda: answers, what="a search before")
        asked = user.post(path_of(kb_id), {"embedding_model": model})
        assert (asked["outcome"], asked["target"]["embedding_model"]) == ("started", model)
        await_state(user, kb_id, "none")
        seen = len(answers)
        eventually(lambda: len(answers) > seen + 2, what="searches after the cut-over")
    new = everything(user, kb_id)
    assert len(new) == len(old)
    assert not new & old
    assert changes_of(answers) == [old, new]
    settings = user.get(f"/knowledge-bases/{kb_id}")
    assert (settings["embedding_model"], settings["reindexing"]) == (model, False)
    for animal in ANIMALS:
        (best,) = user.search(kb_id, f"{animal} 1", top_k=1)
        assert best["document_name"] == f"{animal}.md"


def test_other_model_and_back_while_somebody_searches(
    llm_product: Server, user: Api, kb_id: str, embedding_endpoint: EmbeddingServer
):
    texts = passages(user, kb_id)
    begin = len(embedding_endpoint.bodies)
    change_model(llm_product, user, kb_id, "words")
    sent = [text for body in embedding_endpoint.bodies[begin:] for text in body["input"]]
    assert QUERY in sent
    assert [text for text in texts if not any(text in one for one in sent)] == []
    assert passages(user, kb_id) == texts
    assert points(llm_product, "words", f"{kb_id}:2") == len(texts)

    # The next re-index gives up what was kept of the one before the last.
    change_model(llm_product, user, kb_id, DEFAULT.name)
    assert state(user, kb_id)["previous"]["embedding_model"] == "words"
    eventually(lambda: points(llm_product, DEFAULT.name, kb_id) == 0, what="the first points go")
    asked = len(embedding_endpoint.bodies)
    everything(user, kb_id)
    assert not any(QUERY in body["input"] for body in embedding_endpoint.bodies[asked:])
    assert points(llm_product, DEFAULT.name, f"{kb_id}:3") == len(texts)

    # So does one that is given up.
    user.post(path_of(kb_id), {"chunk_size": 100, "cutover": "manual"})
    user.post(f"{path_of(kb_id)}/cancel")
    eventually(lambda: points(llm_product, "words", f"{kb_id}:2") == 0, what="the other points go")
    user.refused(NoReindex, "POST", f"{path_of(kb_id)}/rollback")
    assert len(everything(user, kb_id)) == len(texts)


def test_way_back_to_the_old_model_is_open_at_once(user: Api, kb_id: str, embedding_endpoint: EmbeddingServer):
    old = everything(user, kb_id)
    user.post(path_of(kb_id), {"embedding_model": "words", "cutover": "manual"})
    await_state(user, kb_id, "ready")
    asked = len(embedding_endpoint.bodies)
    assert everything(user, kb_id) == old
    assert not any(QUERY in body["input"] for body in embedding_endpoint.bodies[asked:])
    user.post(f"{path_of(kb_id)}/cutover", {})
    new = everything(user, kb_id)
    assert not new & old
    assert any(QUERY in body["input"] for body in embedding_endpoint.bodies[asked:])
    assert user.post(f"{path_of(kb_id)}/rollback")["present"]["embedding_model"] == DEFAULT.name
    assert everything(user, kb_id) == old
    assert user.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == DEFAULT.name


def test_document_that_comes_meanwhile_is_found_before_and_after(user: Api, kb_id: str):
    user.post(path_of(kb_id), {"embedding_model": "words", "cutover": "manual"})
    user.ingest(kb_id, "kiwi.md", text_about("kiwi"))
    assert user.search(kb_id, "kiwi 2", top_k=1)[0]["document_name"] == "kiwi.md"
    ready = await_state(user, kb_id, "ready")
    assert ready["documents"]["total"] == ready["documents"]["done"] == len(ANIMALS) + 1
    user.post(f"{path_of(kb_id)}/cutover", {})
    assert user.search(kb_id, "kiwi 2", top_k=1)[0]["document_name"] == "kiwi.md"
    assert len(passages(user, kb_id)) == len(user.search(kb_id, QUERY, top_k=100))


def test_model_whose_vectors_have_another_length_never_comes_into_force(llm_product: Server, user: Api, kb_id: str):
    old = everything(user, kb_id)
    with searching(llm_product, user, kb_id) as answers:
        user.post(path_of(kb_id), {"embedding_model": "wrong"})
        blocked = await_state(user, kb_id, "blocked")
        seen = len(answers)
        eventually(lambda: len(answers) > seen + 2, what="searches after the failure")
    assert changes_of(answers) == [old]
    assert blocked["documents"] == {
        "total": len(ANIMALS),
        "done": 0,
        "failed": len(ANIMALS),
        "left": 0,
    }
    failed = blocked["failed_documents"]
    assert {row["name"] for row in failed} == {f"{animal}.md" for animal in ANIMALS}
    assert {row["failure"]["reason"] for row in failed} == {"embedding_model_misfit"}
    assert all(row["failure"]["next_action_zh"] for row in failed)
    details = user.refused(ReindexNotReady, "POST", f"{path_of(kb_id)}/cutover", json={})
    assert details["failed"] == len(ANIMALS)
    assert user.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == DEFAULT.name
    assert user.post(f"{path_of(kb_id)}/cancel")["state"] == "none"
    rows = user.get(f"/knowledge-bases/{kb_id}/documents", page_size=100)["items"]
    assert {(row["status"], row["searchable"]) for row in rows} == {("completed", True)}
    assert everything(user, kb_id) == old


@pytest.fixture
def dying(embedding_endpoint: EmbeddingServer) -> Iterator[EmbeddingServer]:
    """The endpoint, which a test may let down."""
    yield embedding_endpoint
    embedding_endpoint.is_down = False


def test_knowledge_base_with_questions_leaves_a_model_that_does_not_answer(user: Api, dying: EmbeddingServer):
    kb_id = user.create_kb(embedding_model="words")
    user.ingest(kb_id, "zebra.md", text_about("zebra"))
    asked = {"question": "Where is zebra 1?", "expected": [{"document": "zebra.md"}]}
    user.post(f"/knowledge-bases/{kb_id}/questions", asked)
    dying.is_down = True
    user.post(path_of(kb_id), {"embedding_model": DEFAULT.name})
    over = await_state(user, kb_id, "none")
    assert (over["present"]["embedding_model"], over["recall"]) == (DEFAULT.name, None)
    assert over["recall_missing"]["reason"] == "embedding_endpoint_unavailable"
    assert "not compared" in over["recall_missing"]["message"]
    assert "未能对比" in over["recall_missing"]["message_zh"]
    assert user.search(kb_id, "zebra 1", top_k=1)[0]["document_name"] == "zebra.md"


def test_status_tells_what_a_re_index_waits_for(user: Api, dying: EmbeddingServer):
    kb_id = user.create_kb()
    user.ingest(kb_id, "zebra.md", text_about("zebra"))
    dying.is_down = True
    user.post(path_of(kb_id), {"embedding_model": "words"})
    waiting = eventually(lambda: state(user, kb_id)["waiting"], seconds=90, what="the status says why")
    assert waiting["reason"] == "embedding_endpoint_unavailable"
    assert waiting["message"] != waiting["message_zh"] != ""
    assert state(user, kb_id)["state"] == "running"
    dying.is_down = False
    over = await_state(user, kb_id, "none")
    assert (over["present"]["embedding_model"], over["waiting"]) == ("words", None)
