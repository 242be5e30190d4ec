"""LlamaIndex programmes that use a running server's knowledge bases."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.llms.openai_like import OpenAILike

from agentex.llama_index import (
    AgentexRequestError,
    AgentexRetriever,
    AgentexToolSpec,
    AgentexVectorStore,
    IndexingError,
    ServerEmbedding,
)
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server

DEPLOY = "# 部署\n\n服务器最低配置要求：八核处理器，三十二 GB 内存，一 TB 磁盘。\n"
CATS = "# Cats\n\nA cat sleeps most of the day and hunts at dusk.\n"
RELAY = "# Relay\n\nThe relay listens on port 8000 and writes its log to the spool folder.\n"


@pytest.fixture
def user(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def base_url(embedded: Server) -> str:
    return str(embedded.http.base_url)


@pytest.fixture
def kb_name(user: Api) -> str:
    """A knowledge base with three documents."""
    name = unique("handbook")
    kb_id = user.create_kb(name=name)
    uploads = (("部署.md", DEPLOY), ("cats.md", CATS), ("relay.md", RELAY))
    for document_id in [user.upload(kb_id, file, text) for file, text in uploads]:
        assert user.wait(kb_id, document_id)["status"] == "completed"
    return name


@pytest.fixture
def llm() -> Iterator[OpenAILike]:
    with ModelServer() as server:
        yield OpenAILike(api_base=server.base_url, api_key="k", model="plain", is_chat_model=True)


def key_of(person: Api) -> str:
    return person.access_token


@pytest.fixture
def retrieve_from(user: Api, base_url: str) -> Iterator[Callable[..., AgentexRetriever]]:
    """Makes retrievers, which are closed at the end; of the user's unless they get another key."""
    with ExitStack() as stack:

        def make(knowledge_bases: str | None = None, *, api_key: str = "", **options: Any) -> AgentexRetriever:
            key = api_key or key_of(user)
            retriever = AgentexRetriever(base_url, api_key=key, knowledge_bases=knowledge_bases, **options)
            stack.callback(retriever.close)
            return retriever

        yield make


@pytest.fixture
def retriever(retrieve_from: Callable[..., AgentexRetriever], kb_name: str) -> AgentexRetriever:
    return retrieve_from(kb_name, top_k=2)


@pytest.fixture
def open_store(user: Api, base_url: str) -> Iterator[Callable[..., AgentexVectorStore]]:
    """Opens vector stores, each over a new, empty knowledge base."""
    with ExitStack() as stack:

        def open_new(*, indexing_timeout: float = 600, **fields: Any) -> AgentexVectorStore:
            kb_id = user.create_kb(**fields)
            store = AgentexVectorStore(
                base_url, api_key=key_of(user), knowledge_base=kb_id, indexing_timeout=indexing_timeout
            )
            stack.callback(store.close)
            return store

        yield open_new


def node(text: str, *, source: str = "", **metadata: object) -> TextNode:
    relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
    return TextNode(text=text, metadata=metadata, relationships=relationships)


def texts(nodes: Sequence[BaseNode]) -> set[str]:
    return {item.get_content().strip() for item in nodes}


ANIMALS = [
    node("Cats sleep most of the day.", source="animals", legs=4, tags=["pet", "fur"]),
    node("Parrots repeat what they hear.", source="animals", legs=2, tags=["pet"]),
    node("The relay listens on port 8000.", source="network", protocol="tcp"),
]


@pytest.fixture
def animals(open_store: Callable[..., AgentexVectorStore]) -> AgentexVectorStore:
    store = open_store()
    assert store.add(ANIMALS) == [item.node_id for item in ANIMALS]
    return store


def test_retriever_finds_passages_with_their_places(retriever: AgentexRetriever):
    best = retriever.retrieve("Which port does the relay use?")[0]
    assert "port 8000" in best.text
    assert best.metadata["file_name"] == "relay.md"
    assert best.metadata["heading"] == "Relay"
    assert best.node.ref_doc_id == best.metadata["document_id"]
    assert 0 < best.score <= 1
    assert len(retriever.retrieve("cat relay server")) == 2


def test_retriever_answers_while_others_wait(retriever: AgentexRetriever):
    async def both() -> list[str]:
        answers = await asyncio.gather(*map(retriever.aretrieve, ("服务器配置要求", "when do felines rest")))
        return [answer[0].metadata["file_name"] for answer in answers]

    assert asyncio.run(both()) == ["部署.md", "cats.md"]


def test_query_engine_answers_from_a_knowledge_base(retriever: AgentexRetriever, llm: OpenAILike):
    response = RetrieverQueryEngine.from_args(retriever, llm=llm, streaming=True).query(
        "Which port does the relay use?"
    )
    assert str(response) == "Hello from the model."
    assert "port 8000" in response.source_nodes[0].text


def test_citations_of_a_query_engine_are_the_passages(retriever: AgentexRetriever, llm: OpenAILike):
    response = CitationQueryEngine.from_args(None, retriever=retriever, llm=llm, streaming=True).query("Which port?")
    assert {source.metadata["file_name"] for source in response.source_nodes} >= {"relay.md"}


def test_text_around_a_passage_is_in_its_node_if_asked_for(user: Api, retrieve_from: Callable[..., AgentexRetriever]):
    kb_id = user.create_kb(chunk_size=32, chunk_overlap=0)
    user.ingest(
        kb_id, "steps.txt", "\n\n".join(f"Step {number} of the launch: turn valve {number}." for number in range(9))
    )
    found = retrieve_from(kb_id, top_k=1, options={"neighbours": 1}).retrieve("turn valve 4")[0]
    assert {"valve 3", "valve 4", "valve 5"} <= {
        word for word in (f"valve {n}" for n in range(9)) if word in found.text
    }


def test_nobody_retrieves_what_is_not_theirs(
    embedded: Server, kb_name: str, retrieve_from: Callable[..., AgentexRetriever]
):
    stranger = key_of(embedded.person())
    with pytest.raises(LookupError, match="There is no knowledge base"):
        retrieve_from(kb_name, api_key=stranger).retrieve("port")
    assert all(found.metadata["file_name"] != "relay.md" for found in retrieve_from(api_key=stranger).retrieve("port"))
    everywhere = retrieve_from().retrieve("relay port")
    assert everywhere[0].metadata["file_name"] == "relay.md"


def test_refusals_and_outages_are_named(retrieve_from: Callable[..., AgentexRetriever]):
    with pytest.raises(AgentexRequestError, match="request ") as refusal:
        retrieve_from(api_key="nonsense").retrieve("port")
    assert refusal.value.code // 100 == 401
    assert "nonsense" not in str(refusal.value)
    with pytest.raises(AgentexRequestError, match="gave no answer"):
        AgentexRetriever("http://127.0.0.1:9", api_key="k").retrieve("port")


def test_added_nodes_are_found_as_themselves(animals: AgentexVectorStore):
    result = animals.query(VectorStoreQuery(query_str="Which port?", similarity_top_k=1))
    assert result.ids == [ANIMALS[2].node_id]
    assert result.nodes[0].get_content() == ANIMALS[2].text
    assert result.nodes[0].metadata == {"protocol": "tcp"}
    assert result.nodes[0].ref_doc_id == "network"


def test_index_is_built_and_asked_without_a_model_of_its_own(
    open_store: Callable[..., AgentexVectorStore], llm: OpenAILike
):
    store = open_store()
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=CATS, id_="cats"), Document(text=RELAY, id_="relay", metadata={"file_name": "relay.md"})]
    VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=ServerEmbedding())
    index = store.as_index()
    response = index.as_query_engine(llm=llm, similarity_top_k=1, streaming=True).query(
        "Which port does the relay use?"
    )
    assert response.source_nodes[0].metadata == {"file_name": "relay.md"}
    index.delete_ref_doc("relay")
    assert all(item.node.ref_doc_id == "cats" for item in index.as_retriever().retrieve("Which port?"))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([MetadataFilter(key="legs", value=4)], {0}),
        ([MetadataFilter(key="legs", value=[2, 4], operator=FilterOperator.IN)], {0, 1}),
        ([MetadataFilter(key="tags", value="pet", operator=FilterOperator.CONTAINS)], {0, 1}),
        ([MetadataFilter(key="tags", value=["fur", "scales"], operator=FilterOperator.ANY)], {0}),
        (
            [
                MetadataFilter(key="legs", value=2, operator=FilterOperator.GT),
                MetadataFilter(key="legs", value=4, operator=FilterOperator.LTE),
            ],
            {0},
        ),
        ([MetadataFilter(key="protocol", value="udp")], set()),
    ],
)
def test_filters_mean_what_llama_index_says(
    animals: AgentexVectorStore, filters: list[MetadataFilter], found: set[int]
):
    query = VectorStoreQuery(query_str="pets and ports", similarity_top_k=9, filters=MetadataFilters(filters=filters))
    expected = {ANIMALS[number].node_id for number in found}
    assert set(animals.query(query).ids) == expected
    assert {item.node_id for item in animals.get_nodes(filters=query.filters)} == expected


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (VectorStoreQuery(query_embedding=[0.1]), "query_str"),
        (VectorStoreQuery(query_str="x", mode=VectorStoreQueryMode.MMR), "no query mode 'mmr'"),
        (
            VectorStoreQuery(
                query_str="x",
                filters=MetadataFilters(
                    filters=[MetadataFilter(key="a", value=1), MetadataFilter(key="b", value=1)],
                    condition=FilterCondition.OR,
                ),
            ),
            "'and' only",
        ),
        (
            VectorStoreQuery(
                query_str="x",
                filters=MetadataFilters(filters=[MetadataFilter(key="a", value=1, operator=FilterOperator.NE)]),
            ),
            "no metadata filter '!='",
        ),
    ],
)
def test_what_the_server_cannot_do_is_refused_by_name(
    animals: AgentexVectorStore, query: VectorStoreQuery, reason: str
):
    with pytest.raises(ValueError, match=reason):
        animals.query(query)


def test_words_alone_decide_in_sparse_mode(animals: AgentexVectorStore):
    def scores(mode: VectorStoreQueryMode, alpha: float | None = None) -> dict[str, float]:
        query = VectorStoreQuery(query_str="felines hear", similarity_top_k=9, mode=mode, alpha=alpha)
        result = animals.query(query, rerank=False)
        return dict(zip(result.ids, result.similarities, strict=True))

    words = scores(VectorStoreQueryMode.SPARSE)
    assert words == scores(VectorStoreQueryMode.HYBRID, alpha=0)
    assert words[ANIMALS[1].node_id] == 1
    assert scores(VectorStoreQueryMode.HYBRID, alpha=1)[ANIMALS[0].node_id] > words.get(ANIMALS[0].node_id, 0)


def test_nodes_are_replaced_read_and_deleted(animals: AgentexVectorStore):
    changed = ANIMALS[0].model_copy(update={"text": "Cats hunt at dusk.", "metadata": {"legs": 4, "seen": True}})
    animals.add([changed])
    (read,) = animals.get_nodes([changed.node_id])
    assert (read.get_content(), read.metadata) == ("Cats hunt at dusk.", {"legs": 4, "seen": True})
    animals.add([changed.model_copy(update={"metadata": {"legs": 3}})])
    assert animals.get_nodes([changed.node_id])[0].metadata == {"legs": 3}
    animals.delete_nodes([ANIMALS[2].node_id])
    assert texts(animals.get_nodes()) == {"Cats hunt at dusk.", "Parrots repeat what they hear."}
    animals.delete_nodes()
    animals.delete("animals")
    assert animals.get_nodes() == []


def test_clear_leaves_what_was_uploaded_otherwise(user: Api, animals: AgentexVectorStore):
    kb_id = animals.knowledge_base
    user.ingest(kb_id, "manual.md", RELAY)
    animals.clear()
    assert [item["name"] for item in user.get(f"/knowledge-bases/{kb_id}/documents")["items"]] == ["manual.md"]
    assert animals.query(VectorStoreQuery(query_str="port")).nodes[0].metadata["file_name"] == "manual.md"


def test_long_node_is_found_in_parts_that_name_it(open_store: Callable[..., AgentexVectorStore]):
    store = open_store(chunk_size=32, chunk_overlap=0)
    long = node(" ".join(f"The valve number {number} opens at noon." for number in range(60)))
    store.add([long])
    result = store.query(VectorStoreQuery(query_str="valve number 41", similarity_top_k=1))
    assert result.nodes[0].parent_node.node_id == long.node_id != result.ids[0]
    assert len(store.get_nodes()) == 1


def test_many_nodes_are_added_and_deleted(open_store: Callable[..., AgentexVectorStore]):
    store = open_store()
    nodes = [node(f"Fact number {number}.", source="facts") for number in range(230)]
    assert len(store.add(nodes)) == 230
    assert {item.node_id for item in store.get_nodes()} == {item.node_id for item in nodes}
    store.delete("facts")
    assert store.get_nodes() == []


def test_retriever_shows_a_nodes_own_metadata(
    open_store: Callable[..., AgentexVectorStore], retrieve_from: Callable[..., AgentexRetriever]
):
    store = open_store()
    store.add([node("The relay listens on port 8000.", file_name="relay.md")])
    metadata = retrieve_from(store.knowledge_base).retrieve("port")[0].metadata
    assert metadata["file_name"] == "relay.md"
    assert not any(key.startswith("llama_index_") for key in metadata)


def test_any_id_of_a_node_is_kept(open_store: Callable[..., AgentexVectorStore]):
    store = open_store()
    ids = ["docs/a.md_part_0", "other/a.md_part_0", "部署", "x" * 900, "."]
    store.add([TextNode(id_=node_id, text=f"Text number {place}.") for place, node_id in enumerate(ids)])
    assert {item.node_id for item in store.get_nodes(ids)} == set(ids)
    assert set(store.query(VectorStoreQuery(query_str="Text number", similarity_top_k=9)).ids) == set(ids)


def test_node_that_the_server_refuses_is_named(open_store: Callable[..., AgentexVectorStore]):
    store = open_store()
    with pytest.raises(AgentexRequestError, match="was refused") as refusal:
        store.add([node("Text.", nested={"a": 1})])
    assert refusal.value.details["field"] == "metadata"
    with pytest.raises(ValueError, match="is the vector store's own"):
        store.add([node("Text.", llama_index_node_id="x")])


def test_nodes_that_cannot_be_found_are_told(user: Api, open_store: Callable[..., AgentexVectorStore]):
    store = open_store(indexing_timeout=0.2)
    user.post(f"/knowledge-bases/{store.knowledge_base}/pause")
    with pytest.raises(IndexingError, match="not yet indexed"):
        store.add([node("Later.")])
    user.post(f"/knowledge-bases/{store.knowledge_base}/resume")
    eventually(lambda: store.query(VectorStoreQuery(query_str="Later.")).ids, what="the node is found")


def test_stored_index_holds_no_key(animals: AgentexVectorStore, user: Api):
    assert key_of(user) not in animals.to_json() + repr(animals)


def test_tools_let_an_agent_search_and_read(user: Api, base_url: str, kb_name: str):
    with closing(AgentexToolSpec(base_url, api_key=key_of(user))) as spec:
        _search_and_read({tool.metadata.name: tool for tool in spec.to_tool_list()}, kb_name)


def _search_and_read(tools: dict[str, FunctionTool], kb_name: str) -> None:
    assert set(tools) == {"list_knowledge_bases", "search_knowledge_bases", "read_passage"}
    assert "in Chinese or English" in tools["search_knowledge_bases"].metadata.description
    (base,) = [item for item in json.loads(str(tools["list_knowledge_bases"]())) if item["name"] == kb_name]
    found = json.loads(str(tools["search_knowledge_bases"](query="relay port", knowledge_base_ids=[base["id"]])))
    passage = {"knowledge_base_id": base["id"], "passage_id": found[0]["passage_id"]}
    assert "port 8000" in json.loads(str(asyncio.run(tools["read_passage"].acall(**passage))))["content"]
