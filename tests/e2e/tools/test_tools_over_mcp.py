"""Search, passages and knowledge bases as tools over MCP, by the library's own client."""

from typing import Any
from uuid import uuid4

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from core.errors.auth import ChunkNotFound, DocumentNotFound, InvalidToken, KnowledgeBaseNotFound, PermissionDenied
from core.errors.requests import EmptyQuery, InvalidRequest, QueryTooLong
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.mcp_client import MODES, PATH, call_tool, connect, refused_call
from tests.fixtures.knowledge.restricted_document import RestrictedKb, make_restricted_kb
from tests.fixtures.product.server import Server, one_shape

pytestmark = pytest.mark.anyio
READERS = {"list_knowledge_bases", "search", "read_passage"}
LONG = "\n\n".join(f"# Chapter {n}\n\n" + f"The zebra number {n} sleeps under tree {n}. " * 40 for n in range(6))


async def tool_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


async def found_texts(client: Client, query: str, **arguments: Any) -> list[str]:
    return [hit["text"] for hit in (await call_tool(client, "search", query=query, **arguments))["hits"]]


async def listed_ids(client: Client) -> dict[str, dict[str, Any]]:
    """All knowledge bases of all pages by their ids."""
    items: dict[str, dict[str, Any]] = {}
    page = 1
    while True:
        answer = await call_tool(client, "list_knowledge_bases", page=page, page_size=2)
        assert len(answer["knowledge_bases"]) <= 2
        items |= {item["id"]: item for item in answer["knowledge_bases"]}
        if page >= answer["pages"]:
            assert len(items) == answer["total"]
            return items
        page += 1


def key_with(server: Server, user: Api, *scopes: str) -> Api:
    made = user.post("/users/me/api-keys", {"name": "mcp", "scopes": list(scopes)})
    return server.api(Authorization=f"Bearer {made['key']}")


@pytest.fixture
def restricted(user: Api, other: Api, server: Server) -> RestrictedKb:
    return make_restricted_kb(user, other, server.person())


@one_shape
@pytest.mark.parametrize("mode", MODES)
async def test_tools_tell_models_and_clients_what_they_do(server: Server, user: Api, mode: str):
    async with connect(server, user, mode) as client:
        assert client.server_capabilities.tools is not None
        assert "search" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {*READERS, "ask"}
    for name, tool in tools.items():
        assert tool.description
        assert tool.title
        assert tool.input_schema["type"] == "object"
        assert "$defs" not in tool.input_schema
        assert tool.input_schema["additionalProperties"] is False
        assert (tool.output_schema or {})["type"] == "object"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name in READERS)
        assert tool.annotations.destructive_hint is False
    assert set(tools["search"].input_schema["properties"]) == {
        "query", "knowledge_base_ids", "top_k", "score_threshold", "filters",
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
async def test_knowledge_bases_are_those_that_the_caller_may_read(server: Server, user: Api, other: Api, mode: str):
    mine = {user.create_kb(description="Mine"), user.create_kb(), user.create_kb()}
    shared = other.create_kb()
    hidden = other.create_kb()
    other.put(f"/knowledge-bases/{shared}/shares", {"shares": [{"username": user.name, "access": "write"}]})
    user.ingest(shared, "a.md", "# A\n\nText.")
    async with connect(server, user, mode) as client:
        items = await listed_ids(client)
        assert mine | {shared} <= set(items)
        assert hidden not in items
        assert (items[shared]["document_count"], items[shared]["access"]) == (1, "write")
        assert {items[id_]["access"] for id_ in mine} == {"owner"}
        other.put(f"/knowledge-bases/{shared}/shares", {"shares": []})
        assert shared not in await listed_ids(client)


@pytest.mark.parametrize("mode", MODES)
async def test_search_finds_what_the_http_api_finds(server: Server, user: Api, mode: str):
    kb_id = user.create_kb(chunk_size=64, chunk_overlap=0)
    user.ingest(kb_id, "zebras.md", LONG)
    user.ingest(kb_id, "notes.txt", "The zebra is striped.")
    over_http = user.search(kb_id, "Where does the zebra sleep?", top_k=4)
    async with connect(server, user, mode) as client:
        answer = await call_tool(
            client, "search", query="Where does the zebra sleep?", knowledge_base_ids=[kb_id], top_k=4
        )
        assert answer["warnings"] == []
        assert [hit["chunk_id"] for hit in answer["hits"]] == [hit["chunk_id"] for hit in over_http]
        for hit, expected in zip(answer["hits"], over_http, strict=True):
            same = ("document_id", "document_name", "knowledge_base_id", "heading_path", "page", "score")
            assert {name: hit[name] for name in same} == {name: expected[name] for name in same}
            assert (hit["text"], hit["is_cut"]) == (expected["content"], False)
        notes = await found_texts(client, "zebra", knowledge_base_ids=[kb_id], filters={"file_types": ["txt"]})
        assert notes == ["The zebra is striped."]
        # Without a choice it looks in all that the caller may read.
        assert "The zebra is striped." in await found_texts(client, "striped zebra", top_k=100)


@pytest.mark.parametrize("mode", MODES)
async def test_passage_is_read_with_its_neighbours_and_a_document_to_its_end(server: Server, user: Api, mode: str):
    kb_id = user.create_kb(chunk_size=64, chunk_overlap=16)
    document_id = user.ingest(kb_id, "zebras.md", LONG)
    chunks = user.get(f"/knowledge-bases/{kb_id}/documents/{document_id}/chunks", page_size=100)["items"]
    assert len(chunks) > 20
    async with connect(server, user, mode) as client:
        around = await call_tool(client, "read_passage", chunk_id=chunks[7]["id"], neighbours=2)
        assert [passage["chunk_id"] for passage in around["passages"]] == [chunk["id"] for chunk in chunks[5:10]]
        assert [passage["text"] for passage in around["passages"]] == [chunk["content"] for chunk in chunks[5:10]]
        assert (around["document_id"], around["knowledge_base_id"]) == (document_id, kb_id)
        ids: list[str] = []
        start: int | None = 0
        while start is not None:
            part = await call_tool(client, "read_passage", document_id=document_id, start=start, characters=700)
            ids += [passage["chunk_id"] for passage in part["passages"]]
            assert part["next_start"] is None or part["next_start"] > start
            start = part["next_start"]
        assert ids == [chunk["id"] for chunk in chunks]
        beyond = await call_tool(client, "read_passage", document_id=document_id, start=part["length"] + 5)
        assert (beyond["passages"], beyond["next_start"]) == ([], None)
        # What searches don't find is not read either.
        user.delete(f"/knowledge-bases/{kb_id}/chunks/{chunks[7]['id']}")
        await refused_call(client, ChunkNotFound, "read_passage", chunk_id=chunks[7]["id"])
        around = await call_tool(client, "read_passage", chunk_id=chunks[6]["id"], neighbours=1)
        assert [passage["chunk_id"] for passage in around["passages"]] == [chunks[5]["id"], chunks[6]["id"]]


@one_shape
async def test_answers_are_bounded(server: Server, user: Api):
    kb_id = user.create_kb(chunk_size=2000, chunk_overlap=0)
    document_id = user.ingest(kb_id, "long.txt", " ".join(f"Zebra {n} sleeps under tree {n}." for n in range(1000)))
    async with connect(server, user) as client:
        answer = await call_tool(client, "search", query="zebra", knowledge_base_ids=[kb_id], top_k=100)
        assert len(answer["hits"]) > 2
        assert all(len(hit["text"]) <= 2000 for hit in answer["hits"])
        assert [hit["is_cut"] for hit in answer["hits"]].count(True) > 1
        whole = await call_tool(client, "read_passage", document_id=document_id, characters=24_000)
        assert sum(len(passage["text"]) for passage in whole["passages"]) <= 24_000
        assert whole["next_start"] < whole["length"]


@pytest.mark.parametrize("mode", MODES)
async def test_restricted_document_is_there_for_its_readers_only(server: Server, restricted: RestrictedKb, mode: str):
    (secret,) = restricted.owner.get(f"{restricted.secret}/chunks")["items"]
    here = {"knowledge_base_ids": [restricted.kb_id]}
    async with connect(server, restricted.listed, mode) as client:
        assert any("okapi" in text for text in await found_texts(client, "okapi", **here))
        assert (await listed_ids(client))[restricted.kb_id]["document_count"] == 2
        assert (await call_tool(client, "read_passage", chunk_id=secret["id"]))["document_name"] == "secret.md"
        assert "okapi" in (await call_tool(client, "ask", question="When does the okapi sleep?", **here))["answer"]
    async with connect(server, restricted.left_out, mode) as client:
        for text in await found_texts(client, "okapi", **here):
            assert "okapi" not in text
        assert (await listed_ids(client))[restricted.kb_id]["document_count"] == 1
        await refused_call(client, ChunkNotFound, "read_passage", chunk_id=secret["id"])
        await refused_call(client, DocumentNotFound, "read_passage", document_id=restricted.secret_id)
        answer = await call_tool(client, "ask", question="When does the okapi sleep?", **here)
        assert "midnight" not in str(answer)
        restricted.restrict(restricted.listed, restricted.left_out)
        assert (await call_tool(client, "read_passage", chunk_id=secret["id"]))["passages"]


async def test_what_is_not_the_callers_is_as_if_it_were_not_there(server: Server, user: Api, other: Api):
    kb_id = other.create_kb()
    document_id = other.ingest(kb_id, "a.md", "# Zebra\n\nThe zebra sleeps.")
    (chunk,) = other.get(f"/knowledge-bases/{kb_id}/documents/{document_id}/chunks")["items"]
    session = other.post("/sessions", {"title": "mine"})["id"]
    async with connect(server, user) as client:
        for tool, error, name, foreign in (
            ("search", KnowledgeBaseNotFound, "knowledge_base_ids", [kb_id]),
            ("ask", KnowledgeBaseNotFound, "knowledge_base_ids", [kb_id]),
            ("read_passage", ChunkNotFound, "chunk_id", chunk["id"]),
            ("read_passage", DocumentNotFound, "document_id", document_id),
            ("ask", None, "session_id", session),
        ):
            more = {"search": {"query": "zebra"}, "ask": {"question": "zebra?"}}.get(tool, {})
            unknown = str(uuid4())
            results = [
                await client.call_tool(tool, {**more, name: value})
                for value in (foreign, [unknown] if isinstance(foreign, list) else unknown)
            ]
            assert results[0].is_error
            assert results[0].structured_content == results[1].structured_content, (tool, name)
            if error is not None:
                assert results[0].structured_content["error"]["code"] == error.code
        # A share that is taken back counts from the next call on.
        shares = f"/knowledge-bases/{kb_id}/shares"
        other.put(shares, {"shares": [{"username": user.name, "access": "read"}]})
        assert await found_texts(client, "zebra", knowledge_base_ids=[kb_id])
        assert await call_tool(client, "read_passage", chunk_id=chunk["id"])
        other.put(shares, {"shares": []})
        await refused_call(client, KnowledgeBaseNotFound, "search", query="zebra", knowledge_base_ids=[kb_id])
        await refused_call(client, ChunkNotFound, "read_passage", chunk_id=chunk["id"])


@pytest.mark.parametrize("mode", MODES)
async def test_key_has_the_tools_of_its_scopes(server: Server, user: Api, mode: str):
    kb_id = user.create_kb()
    calls: dict[str, dict[str, Any]] = {
        "list_knowledge_bases": {}, "search": {"query": "x"}, "read_passage": {"chunk_id": "x"},
        "ask": {"question": "Where?", "knowledge_base_ids": [kb_id]},
    }  # fmt: skip
    for scope, names in (("kb:view", READERS), ("agent:run", {"ask"}), ("skill:view", set())):
        async with connect(server, key_with(server, user, scope), mode) as client:
            assert await tool_names(client) == names
            for name in calls.keys() - names:
                details = await refused_call(client, PermissionDenied, name, **calls[name])
                assert details == {"permission": "agent:run" if name == "ask" else "kb:view"}
    async with connect(server, key_with(server, user, "agent:run"), mode) as client:
        # As over HTTP: an agent that may look at no knowledge bases looks at none.
        assert await refused_call(client, PermissionDenied, "ask", **calls["ask"]) == {"permission": "kb:view"}
    async with connect(server, key_with(server, user, "kb:view", "agent:run"), mode) as client:
        assert await tool_names(client) == {*READERS, "ask"}
        assert await call_tool(client, "ask", **calls["ask"])


async def test_revoked_key_opens_nothing_from_the_next_call_on(server: Server, user: Api):
    made = user.post("/users/me/api-keys", {"name": "mcp", "scopes": ["kb:view"]})
    key = server.api(Authorization=f"Bearer {made['key']}")
    async with connect(server, key) as client:
        assert await call_tool(client, "list_knowledge_bases")
        user.delete(f"/users/me/api-keys/{made['id']}")
        with pytest.raises(MCPError):
            await client.call_tool("list_knowledge_bases", {})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search"}}
    headers = {"Accept": "application/json, text/event-stream"}
    check_error(key.request("POST", PATH, json=message, headers=headers), InvalidToken)


@one_shape
@pytest.mark.parametrize("mode", MODES)
async def test_bad_arguments_are_told_to_the_model(server: Server, user: Api, mode: str):
    kb_id = user.create_kb()
    bad: list[tuple[str, dict[str, Any], str]] = [
        ("search", {}, "query"),
        ("search", {"query": 5}, "query"),
        ("search", {"query": "a\x00b"}, "query"),
        ("search", {"query": "x", "top_k": 10_000}, "top_k"),
        ("search", {"query": "x", "top_k": 0}, "top_k"),
        ("search", {"query": "x", "top_k": "5"}, "top_k"),
        ("search", {"query": "x", "limit": 5}, "limit"),
        ("search", {"query": "x", "score_threshold": 2}, "score_threshold"),
        ("search", {"query": "x", "knowledge_base_ids": [kb_id] * 101}, "knowledge_base_ids"),
        ("search", {"query": "x", "knowledge_base_ids": kb_id}, "knowledge_base_ids"),
        ("search", {"query": "x", "filters": {"nothing": 1}}, "filters.nothing"),
        ("search", {"query": "x", "filters": {"metadata": {"a": {"gt": {}}}}}, "filters.metadata.a.gt"),
        ("read_passage", {}, "body"),
        ("read_passage", {"chunk_id": "x", "document_id": "y"}, "body"),
        ("read_passage", {"chunk_id": "x" * 201}, "chunk_id"),
        ("read_passage", {"chunk_id": "x", "neighbours": 1000}, "neighbours"),
        ("read_passage", {"document_id": "x", "start": -1}, "start"),
        ("read_passage", {"document_id": "x", "start": 2**63}, "start"),
        ("read_passage", {"document_id": "x", "characters": 10**9}, "characters"),
        ("list_knowledge_bases", {"page": 0}, "page"),
        ("list_knowledge_bases", {"page_size": 10_000}, "page_size"),
        ("ask", {"question": "x" * 10_001}, "question"),
        ("ask", {"question": "x", "knowledge_base_ids": [kb_id] * 101}, "knowledge_base_ids"),
        ("ask", {"question": "x", "tools": []}, "tools"),
    ]
    async with connect(server, user, mode) as client:
        for name, arguments, field in bad:
            details = await refused_call(client, InvalidRequest, name, **arguments)
            assert details["field"] == field, (name, details)
            assert details["error"]
        await refused_call(client, EmptyQuery, "search", query="  ")
        await refused_call(client, EmptyQuery, "ask", question=" \n")
        most = server.settings.max_query_characters
        assert (await refused_call(client, QueryTooLong, "search", query="x" * 500_000))["max_characters"] == most
        for strange in ("", "../../etc/passwd", "%00", "' OR 1=1 --", "\u202e" * 50):
            await refused_call(client, ChunkNotFound, "read_passage", chunk_id=strange)
            await refused_call(client, KnowledgeBaseNotFound, "search", query="x", knowledge_base_ids=[strange])
        with pytest.raises(MCPError) as refused:
            await client.call_tool("delete_everything", {})
        assert refused.value.error.code == INVALID_PARAMS


@one_shape
async def test_errors_are_in_the_callers_language(server: Server, user: Api):
    chinese = server.api(**user.headers, **{"Accept-Language": "zh-CN"})
    async with connect(server, chinese) as client:
        result = await client.call_tool("read_passage", {"chunk_id": "x"})
        assert result.structured_content["error"]["message"] == ChunkNotFound.message_zh
        assert result.content[0].text.startswith(f"错误 {ChunkNotFound.code}")
        result = await client.call_tool("search", {"query": "x", "top_k": 1000})
        assert "不能大于 100" in result.content[0].text
