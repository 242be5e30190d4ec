"""Callers, run services on one database, and models that tests pace, for tests of runs."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
from sqlmodel import select

from agents import event_log
from agents.agui.decoder import read_run_request
from agents.agui.message_reducer import MessageReducer
from agents.agui.verifier import verify
from agents.llm.base import ChatModel, ModelEnd, ModelEvent, ModelMessage, ModelText, ModelToolCall, ToolSpec
from agents.llm_registry.client_cache import PURPOSE, ModelClientCache
from agents.llm_registry.selection import ModelSelector, SelectedModel
from agents.models import AgentRun, ChatMessage, ChatSession
from agents.run_context import RunLimits, limits_for_timeout
from agents.run_request import RunRequest
from agents.runs.broadcaster import EventBroadcaster
from agents.runs.builder import RunBuilder
from agents.runs.planner import LimitsProvider, RunLease, RunPlan, RunResources
from agents.runs.service import RunService
from agents.runs.subscribers import Subscribers
from agents.tools import DEFAULT_POLICIES
from core.auth.models import User
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import ensure_roles, get_role_by_name
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.json_access import as_object
from core.security.vault import Vault
from core.settings.tool_policies import ServerPolicies, ToolPolicy
from kb_service.embedding_spaces import EmbeddingSpace, EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT
from kb_service.knowledge_bases.service import KnowledgeBaseDraft, create
from kb_service.retrieval.service import Searcher
from kb_service.text.token_counter import token_counter
from tests.fixtures.http.client import NO_CERTIFICATES, unique
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex


async def register(database: Database) -> Principal:
    """A new account."""
    name = unique("user")
    async with database.writing() as session:
        await ensure_roles(session)
        user = User(
            username=name,
            username_key=name,
            email=f"{name}@example.com",
            email_key=f"{name}@example.com",
            password_hash="",
            role_id=(await get_role_by_name(session, "user")).id,
        )
        session.add(user)
    return Principal(user.id, name, "user", frozenset(Permission))


def make_request(question: str = "hello", **fields: Any) -> RunRequest:
    """A run input with ids of its own."""
    ask = {"id": str(uuid4()), "role": "user", "content": question}
    ids = {"threadId": str(uuid4()), "runId": str(uuid4())}
    return read_run_request({**ids, "messages": [ask], **fields})


class PacedModel:
    """Says what the test says, when it says it.

    Attributes:
        asked: set at the first turn.
    """

    name = provider = "held"
    is_extractive = False
    sees_images = False
    context_window = 128_000

    def __init__(self, *pieces: str) -> None:
        self.asked = asyncio.Event()
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.say(*pieces)

    def say(self, *pieces: str, last: bool = False) -> None:
        for piece in pieces:
            self._pieces.put_nowait(piece)
        if last:
            self._pieces.put_nowait(None)

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        self.asked.set()
        while (piece := await self._pieces.get()) is not None:
            yield ModelText(piece)
        yield ModelEnd("stop")


class StubbornModel(PacedModel):
    """Does not let itself be cancelled, as work in a thread does not."""

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        self.asked.set()
        yield ModelText("The port")
        deadline = asyncio.get_running_loop().time() + 3.5
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                continue
        yield ModelEnd("stop")


class InputRequestingModel:
    """Asks a person, and is silent after the answer until it is let go on."""

    name = provider = "asking"
    is_extractive = False
    sees_images = False
    context_window = 128_000

    def __init__(self, *, is_silent: bool) -> None:
        self._is_silent = is_silent

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        if messages[-1].role != "tool":
            yield ModelToolCall("c", "request_input", '{"prompt": "Which address?"}', opens=True)
            yield ModelEnd("tool_calls")
            return
        yield ModelText("Thanks")
        if self._is_silent:
            await asyncio.Event().wait()
        yield ModelEnd("stop")


class HangingEncoder:
    """Never answers."""

    name = DEFAULT.name
    dimension = DEFAULT.dimension
    languages = frozenset({"en"})

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    embed_passages = embed_queries


def searcher_of(database: Database, *spaces: EmbeddingSpace) -> Searcher:
    return Searcher(database, EmbeddingSpaces(spaces), max_query_characters=4000)


def hanging_searcher(database: Database, folder: Path) -> tuple[Searcher, HangingEncoder]:
    encoder = HangingEncoder()
    index = EdgeVectorIndex(folder, DEFAULT.dimension)
    space = EmbeddingSpace(DEFAULT, encoder, index, token_counter())
    return searcher_of(database, space), encoder


def models_of(configured: ChatModel) -> ModelSelector:
    """The models of an installation that has registered none."""
    adapters = ModelClientCache(Vault(b"of the tests", PURPOSE), httpx.AsyncClient(verify=NO_CERTIFICATES))
    return ModelSelector(configured, adapters)


def plan_of(
    request: RunRequest,
    agent_type: str = "agentic_rag",
    *,
    driver: str = "gone",
    seconds: float = 60,
) -> RunPlan:
    """The plan of a run whose model has no name."""
    model = SelectedModel("", SimpleNamespace(name=""))  # type: ignore[arg-type]
    lease, resources = RunLease(driver, seconds), RunResources(model, RunLimits())
    return RunPlan(request, agent_type, lease, resources)


def service_of(
    database: Database,
    model: ChatModel,
    searcher: Searcher | None = None,
    broadcaster: EventBroadcaster | None = None,
    *,
    tools: Mapping[str, ToolPolicy] | None = None,
    checks: bool = False,
) -> RunService:
    """A run engine, as one process has it; ``tools`` are its operator's bounds."""
    policies = ServerPolicies(DEFAULT_POLICIES, tools or {})
    limits = replace(limits_for_timeout(60), policies=policies)
    limits_now = LimitsProvider(limits)
    models = models_of(model)
    builder = RunBuilder(database, searcher or searcher_of(database), models, limits_now)
    return RunService(database, builder, Subscribers(database, broadcaster), checks=checks)


async def add_knowledge_base(database: Database, principal: Principal) -> str:
    async with unit_of_work(database) as work:
        draft = KnowledgeBaseDraft(name=unique("kb"))
        return (await create(work, principal, draft, embedding_model=DEFAULT.name)).id


async def follow(runs: RunService, key: str, *, after: int = 0) -> list[dict[str, Any]]:
    """A run's events behind a number, to the last one; their numbers are dense."""
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(20):
        async for entries in runs.follow(key, after=after):
            for entry in entries:
                assert entry.seq == after + len(events) + 1
                events.append(json.loads(entry.payload))
    return events


async def verified_events(runs: RunService, key: str, request: RunRequest) -> list[dict[str, Any]]:
    """All events of a run; they pass the verifier."""
    events = await follow(runs, key)
    verify(events, thread_id=request.thread_id, run_id=request.run_id, state={})
    return events


def activities_of(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the activity messages of some events show at the end."""
    fold = MessageReducer()
    for event in events:
        fold.observe(event)
    return [as_object(m["content"]) for m in fold.all_messages if m["role"] == "activity"]


async def until(runs: RunService, key: str, kind: str) -> None:
    """Wait until a run's log has an event of a type."""
    async with asyncio.timeout(20):
        async for entries in runs.follow(key):
            if any(entry.type == kind for entry in entries):
                return


async def rows_of(database: Database, key: str) -> tuple[AgentRun, ChatSession, list[ChatMessage]]:
    """A run with its session and the session's messages."""
    async with database.reading() as session:
        run = await session.get_one(AgentRun, key)
        thread = await session.get_one(ChatSession, run.session_id)
        query = select(ChatMessage).where(ChatMessage.session_id == thread.id)
        messages = (await session.exec(query.order_by(ChatMessage.position))).all()
    return run, thread, list(messages)


async def logged_events(database: Database, key: str) -> list[dict[str, Any]]:
    """All events in a run's log."""
    async with database.reading() as session:
        return await event_log.read_all(session, key)
