"""Planner of new runs, from the request, its thread, its owner's account and the limits in force."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.message_reducer import MessageReducer
from agents.llm_registry.selection import DEFAULT_MODEL_ID, ModelSelector, SelectedModel
from agents.mcp import connections as mcp_connections
from agents.mcp.agent_tools import add_tool_policies, may_use_connections
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.service import FIRST_LOOK_SECONDS, McpService, ProbeResult
from agents.models import ChatSession
from agents.run_context import RunLimits, limits_for_timeout
from agents.run_request import RunRequest
from agents.runs import resume
from agents.runs.resume import NoOp, RejectPolicy, Resume
from agents.runs.threads import find_thread
from agents.sessions.service import last_question
from agents.skills import selection as skill_selection
from agents.strategies import DEFAULT_AGENT_TYPE, require_known
from agents.tool_policies import service as tool_policies
from agents.tools import load_skill, withheld_tools
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import MemoryChoices, get_user
from core.db.database import Database
from core.errors.auth import ModelNotFound
from core.errors.conflicts import SessionArchived
from core.errors.requests import InvalidRunInput
from core.runtime_config.live import LiveSettings
from core.settings import Settings
from core.settings.tool_policies import ServerPolicies, ToolPolicy
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase
from skills.store.catalog import CatalogCard


def limits_from_settings(settings: Settings) -> RunLimits:
    """The limits of a run by these settings."""
    return limits_for_timeout(
        settings.run_timeout_seconds, max_turns=settings.run_max_turns, max_tokens=settings.run_max_tokens
    )


@dataclass(frozen=True)
class CurrentLimits:
    """The limits at this moment; ``most_sessions`` per user is 0 for no limit."""

    limits: RunLimits
    most_sessions: int = 0


class LimitsProvider:
    """The current limits of runs.

    ``standing`` is fixed for the process: the policies, and everything if there are no live settings.
    """

    def __init__(self, standing: RunLimits, live: LiveSettings | None = None) -> None:
        self.standing = standing
        self._live = live

    async def now(self) -> RunLimits:
        if self._live is None:
            return self.standing
        return replace(limits_from_settings(await self._live.now()), policies=self.standing.policies)

    async def read(self, session: AsyncSession) -> CurrentLimits:
        if self._live is None:
            return CurrentLimits(self.standing)
        settings = await self._live.read(session)
        limits = replace(limits_from_settings(settings), policies=self.standing.policies)
        return CurrentLimits(limits, settings.max_sessions_per_user)


# More would only delay each other and running runs.
_STARTS_AT_ONCE = 4
Probes = set[asyncio.Task[ProbeResult]]


@dataclass(frozen=True)
class RunLease:
    """The driving process, and the lease's seconds without renewal."""

    driver: str
    seconds: float


@dataclass(frozen=True)
class RunResources:
    """Resources read for a run; None to read them when the run is built.

    ``skills`` are all that the owner's agents may use.
    """

    model: SelectedModel
    limits: RunLimits
    knowledge_bases: Sequence[KnowledgeBase] = ()
    memory: MemoryChoices | None = None
    skills: Sequence[CatalogCard] | None = None
    connections: Sequence[ConnectionWithTools] | None = None


@dataclass(frozen=True)
class RunPlan:
    """Decisions about a run before it starts.

    Args:
        request: With the policies, skills and connections in force; it is stored.
        thread_key: ``ChatSession.id``; None for a thread that the run creates.
        waits_for: The run whose answers the thread waited for at planning.
        most_sessions: Threads that the owner may have; 0 for no limit.
        resume: The task to continue, if any.
        noop: Set if there is nothing to do; the thread keeps waiting.
        state: The shared state that the waiting run left.
    """

    request: RunRequest
    agent_type: str
    lease: RunLease
    resources: RunResources
    thread_key: str | None = None
    waits_for: str | None = None
    most_sessions: int = 0
    resume: Resume | None = None
    noop: NoOp | None = None
    state: JsonValue = None

    @property
    def own_events(self) -> int:
        """The number of the strategy's events that are replayed before new ones."""
        return self.resume.own_events if self.resume else 0

    @property
    def opening_events(self) -> int:
        """The number of events that are written with the run's row."""
        return 2 if self.resume else 1


class Planner:
    """Plans runs, a few at a time.

    ``slots`` are held while a run is planned, and while its start is written.
    """

    def __init__(
        self, database: Database, models: ModelSelector, limits: LimitsProvider, mcp: McpService | None, lease: RunLease
    ) -> None:
        self._database = database
        self._models = models
        self._limits = limits
        self._mcp = mcp
        self._lease = lease
        self.slots = asyncio.Semaphore(_STARTS_AT_ONCE)

    async def plan(self, principal: Principal, request: RunRequest, reject: RejectPolicy) -> RunPlan:
        """Plan a run, and again once MCP servers without cached tools have listed them."""
        async with self.slots:
            plan, probes = await self._plan(principal, request, reject)
        if not probes:
            return plan
        await asyncio.wait(probes, timeout=FIRST_LOOK_SECONDS)
        async with self.slots:
            plan, _ = await self._plan(principal, request, reject)
        return plan

    async def _plan(self, principal: Principal, request: RunRequest, reject: RejectPolicy) -> tuple[RunPlan, Probes]:
        probes = Probes()
        async with self._database.reading() as session:
            thread = await find_thread(session, principal, request.thread_id)
            if thread is not None and thread.is_archived:
                raise SessionArchived
            decision = await resume.decide(session, thread, request, reject)
            agent_type = choose_agent_type(request, thread)
            current = await self._limits.read(session)
            account = await get_user(session, principal.user_id)
            request = replace(request, profile_timezone=account.time_zone, lacking=principal.lacking)
            memory = MemoryChoices(account.use_memories, account.remember_after_runs)
            state, user_id = None, principal.user_id
            match decision:
                case None:
                    request, resources, probes = await self._for_question(
                        session, principal, request, thread, current.limits
                    )
                case Resume(waiting=waiting):
                    # It keeps the resources of its task.
                    request = await self._with_policies(session, user_id, request)
                    request = replace(request, messages=(), follow_ups=decision.messages)
                    model = await self._models.reopen(session, user_id, waiting.model)
                    resources = RunResources(model, current.limits)
                    agent_type = waiting.run.agent_type
                    state = await _state_after(session, waiting.run.id)
                case NoOp():
                    question = request.question
                    if thread is not None:
                        question = question or await last_question(session, thread.id)
                        decision = replace(decision, question=question)
                    # It asks nothing: its messages belong to earlier runs.
                    request = await self._with_policies(session, user_id, request)
                    request = replace(request, messages=())
                    model = await self._models.select(session, principal, None)
                    resources = RunResources(model, current.limits)
        plan = RunPlan(
            request,
            agent_type,
            self._lease,
            replace(resources, memory=memory),
            thread_key=None if thread is None else thread.id,
            waits_for=None if thread is None else thread.waiting_run_id,
            most_sessions=current.most_sessions,
            resume=decision if isinstance(decision, Resume) else None,
            noop=decision if isinstance(decision, NoOp) else None,
            state=state,
        )
        return plan, probes

    async def _with_policies(self, session: AsyncSession, user_id: str, request: RunRequest) -> RunRequest:
        server = self._limits.standing.policies
        policies = await tool_policies.effective_policies(session, user_id, server)
        return replace(request, tool_policies=policies)

    async def _for_question(
        self,
        session: AsyncSession,
        principal: Principal,
        request: RunRequest,
        thread: ChatSession | None,
        limits: RunLimits,
    ) -> tuple[RunRequest, RunResources, Probes]:
        config = {} if thread is None else thread.config
        rows = await choose_knowledge_bases(session, principal, request, config)
        model = await choose_model(session, self._models, principal, request, config)
        skills = await skill_selection.select_skills(session, principal, request, config.get("skill_ids"))
        request = replace(request, skills=skills.chosen)
        request, connections, probes = await choose_connections(
            session, principal, request, config, self._mcp, self._limits.standing.policies
        )
        request = drop_unloadable_skills(request, config)
        if not request.messages:
            raise InvalidRunInput("messages", "no call of this thread waits for one", "本线程没有等待结果的调用")
        resources = RunResources(model, limits, rows, skills=skills.cards, connections=connections)
        return request, resources, probes


async def _state_after(session: AsyncSession, run_key: str) -> JsonValue:
    reducer = MessageReducer()
    for event in await event_log.read_all(session, run_key):
        reducer.observe(event)
    return reducer.state


def choose_agent_type(request: RunRequest, thread: ChatSession | None) -> str:
    """The strategy of the request, else of its session, else the default."""
    config = {} if thread is None else thread.config
    return require_known(request.options.agent_type or config.get("agent_type") or DEFAULT_AGENT_TYPE)


def drop_unloadable_skills(request: RunRequest, config: dict[str, JsonValue]) -> RunRequest:
    """Drop the chosen skills if ``load_skill`` is switched off; skills named by id are then an error.

    A slug at the beginning of a message is then just text.
    """
    if not request.skills or request.tool_policies.get(load_skill.NAME) != "never":
        return request
    for field, skill_ids in (
        ("forwardedProps.skill_ids", request.options.skill_ids),
        ("session.config.skill_ids", config.get("skill_ids")),
    ):
        if skill_ids:
            name = load_skill.NAME
            raise InvalidRunInput(field, f"the tool {name} is switched off", f"工具 {name} 已停用")
    return replace(request, skills=())


async def choose_knowledge_bases(
    session: AsyncSession, principal: Principal, request: RunRequest, config: dict[str, JsonValue]
) -> Sequence[KnowledgeBase]:
    """The knowledge bases of the request, else of the session, else all that the caller sees."""
    ids = request.options.knowledge_base_ids
    if Permission.KB_VIEW not in principal.permissions:
        if ids:
            principal.require(Permission.KB_VIEW)
        return ()
    configured = config.get("knowledge_base_ids")
    if not ids and isinstance(configured, list):
        ids = tuple(str(value) for value in configured)
    return await knowledge_bases.get_searchable(session, principal, list(ids or ()) or None)


async def choose_model(
    session: AsyncSession,
    models: ModelSelector,
    principal: Principal,
    request: RunRequest,
    config: dict[str, JsonValue],
) -> SelectedModel:
    """The model of the request, else of the session, else the caller's default.

    The error for an unusable model lists the usable ones.
    """
    field, name = "forwardedProps.model_id", request.options.model_id
    if not name:
        field, name = "session.config.model_id", str(config.get("model_id") or "")
    try:
        return await models.select(session, principal, name)
    except ModelNotFound:
        usable = await models.list_usable(session, principal)
        built_in = [selected.model.name for selected in usable.built_in]
        ids = [DEFAULT_MODEL_ID, *built_in, *(row.id for row in usable.registered)]
        raise InvalidRunInput(field, "unknown", "未知", known=ids) from None


async def choose_connections(
    session: AsyncSession,
    principal: Principal,
    request: RunRequest,
    config: dict[str, JsonValue],
    mcp: McpService | None,
    server: ServerPolicies,
) -> tuple[RunRequest, Sequence[ConnectionWithTools], Probes]:
    """The request with its MCP connections and the tool policies now in force.

    Also returns the connections, and probes of servers without cached tools.
    """
    ids = _connection_ids(request, config)
    rows = await mcp_connections.list_rows(session, principal.user_id, ids)
    if ids is not None:
        for connection in rows:
            mcp_connections.require_use(principal, connection.row.id)
    limit = principal.mcp_access
    usable = [row for row in rows if limit is None or row.row.id in limit]
    usable = usable if may_use_connections(principal.lacking) else []
    connections = list[ConnectionWithTools]()
    if mcp is not None:
        # Only those that the run uses: the tool lists of all connections can be long.
        enabled = [connection for connection in usable if connection.row.enabled]
        connections = await mcp_connections.load_tools(session, mcp.tool_lists, enabled)
    policies = await tool_policies.effective_policies(
        session, principal.user_id, add_tool_policies(server, connections)
    )
    withheld: dict[str, ToolPolicy] = dict.fromkeys(withheld_tools(principal.lacking), "never")
    options = replace(request.options, mcp_connection_ids=tuple(connection.row.id for connection in connections))
    request = replace(request, options=options, tool_policies={**policies, **withheld})
    return request, connections, mcp.refresh_stale(connections) if mcp else Probes()


def _connection_ids(request: RunRequest, config: dict[str, JsonValue]) -> list[str] | None:
    """The ids of the request, else of the session, else None for all of the caller's."""
    if request.options.mcp_connection_ids:
        return list(request.options.mcp_connection_ids)
    configured = config.get("mcp_connection_ids")
    if isinstance(configured, list) and configured:
        return [str(value) for value in configured]
    return None
