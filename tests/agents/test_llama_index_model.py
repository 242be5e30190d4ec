"""The LlamaIndex wrapper over the real adapter."""

import httpx
import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool

from agents.llama_index_model import LlamaIndexModel
from agents.llm.openai import Endpoint, OpenAICompatible
from tests.fixtures.model_server import ModelServer

pytestmark = pytest.mark.anyio


def search_knowledge_base(query: str) -> str:
    """Search."""
    return query


async def test_wrapper_chats_streams_and_calls_tools_like_any_llama_index_model():
    with ModelServer() as server:
        async with httpx.AsyncClient() as client:

            def model(name: str) -> LlamaIndexModel:
                return LlamaIndexModel(OpenAICompatible(Endpoint(server.base_url, name), client))

            assert (await model("plain").acomplete("Hi")).text == "Hello from the model."
            stream = await model("plain").astream_chat([ChatMessage(role="user", content="Hi")])
            deltas = [response.delta async for response in stream]
            assert "".join(delta or "" for delta in deltas) == "Hello from the model."

            llm = model("reasoning")
            tool = FunctionTool.from_defaults(search_knowledge_base)
            response = await llm.achat_with_tools([tool], user_msg="Which port?")

    selections = llm.get_tool_calls_from_response(response)
    assert [selection.tool_kwargs for selection in selections] == [
        {"query": "port"},
        {"query": "host"},
    ]
    offered = server.requests[-1].body["tools"][0]["function"]
    assert offered["name"] == "search_knowledge_base"
    assert offered["parameters"]["required"] == ["query"]
