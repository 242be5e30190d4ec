"""The baseline: passes the model's stream on as it comes, unread. ``... pass_through PORT``.

What any server between a model and a browser does at least: Starlette, uvicorn with uvloop and
httptools, httpx towards the model, all as in the product.

``/function-agent`` runs LlamaIndex's own agent on its own adapter instead, where the package
``llama-index-llms-openai-like`` is installed, which the product does not use.
"""

import importlib
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.runs.model import MODEL

MODEL_URL = "BENCHMARK_MODEL_URL"


async def _pass(request: Request) -> StreamingResponse:
    client: httpx.AsyncClient = request.app.state.client
    body = await request.body()
    url = f"{os.environ[MODEL_URL]}/chat/completions"
    asked = client.build_request("POST", url, content=body, timeout=600)

    async def pieces() -> AsyncGenerator[bytes]:
        answer = await client.send(asked, stream=True)
        try:
            async for piece in answer.aiter_raw():
                yield piece
        finally:
            await answer.aclose()

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def _run_function_agent(request: Request) -> StreamingResponse:
    workflow: Any = importlib.import_module("llama_index.core.agent.workflow")
    adapters: Any = importlib.import_module("llama_index.llms.openai_like")
    question = str((await request.json())["messages"][-1]["content"])
    model = adapters.OpenAILike(
        model=MODEL,
        api_base=os.environ[MODEL_URL],
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=128_000,
        timeout=600,
    )
    # It refuses to run without a tool.
    agent = workflow.FunctionAgent(llm=model, tools=[_lookup], timeout=600)

    async def pieces() -> AsyncGenerator[bytes]:
        handler = agent.run(question)
        async for event in handler.stream_events():
            if isinstance(event, workflow.AgentStream) and event.delta:
                yield b"data: %s\n\n" % event.model_dump_json(include={"delta"}).encode()
        await handler

    return StreamingResponse(pieces(), media_type="text/event-stream")


def _lookup(word: str) -> str:
    """Look a word up."""
    return word


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncGenerator[None]:
    unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=unlimited) as client:
        app.state.client = client
        yield


_ROUTES = [
    Route("/stream", _pass, methods=["POST"]),
    Route("/function-agent", _run_function_agent, methods=["POST"]),
]

if __name__ == "__main__":
    app = Starlette(routes=_ROUTES, lifespan=_lifespan)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
