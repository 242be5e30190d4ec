"""Contact with MCP servers: probing, tool lists and calls."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.change_queue import ChangeQueue
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.connections import ConnectionRow, ToolListCache
from agents.mcp.elicitation import ElicitationAnswer
from agents.mcp.errors import OF_AUTHORIZATION, McpFault, McpRefusal, McpSessionLost, is_of_server
from agents.mcp.exchange import NO_HOOKS, CallFeed, CallHooks, InputNeeded, InputRound
from agents.mcp.held_calls import HeldCalls
from agents.mcp.models import OAUTH, McpConnection, McpStatus
from agents.mcp.oauth.authorizations import read_grant_id
from agents.mcp.pool import McpPool
from agents.mcp.results import McpResult, read_call_result
from agents.mcp.texts import ServerText
from agents.mcp.tools import McpTool, ToolListing
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, InvalidToken
from core.errors.base import AgentexError
from core.errors.conflicts import McpSwitchedOff
from core.logging import get_logger
from core.outbound.guard import OutboundGuard, OutboundGuards
from core.security.vault import Vault
from core.threads import import_in_thread

if TYPE_CHECKING:
    import mcp_types

    from agents.mcp.oauth.tokens import AccessTokens
    from agents.mcp.server_events import EventHandler
    from agents.mcp.session import McpSession
    from agents.mcp.text_lists import TextLists

AnswerT = TypeVar("AnswerT")
log = get_logger(__name__)

PURPOSE = "MCP tokens"
_MILLISECONDS = 1000
FIRST_LOOK_SECONDS = 2
"""How long a run waits for a server that was never seen."""


@dataclass(frozen=True)
class ProbeResult:
    """Outcome of a contact; ``failure`` is None on success."""

    listing: ToolListing = field(default_factory=ToolListing)
    failure: AgentexError | None = None

    @property
    def tools(self) -> tuple[McpTool, ...]:
        return self.listing.tools


@dataclass(frozen=True)
class McpCall:
    """A call of a tool, ``answered`` where its server gave questions instead of a result."""

    tool: str
    arguments: dict[str, JsonValue]
    hooks: CallHooks = NO_HOOKS
    answered: InputRound | None = None


class McpService:
    """Talks to the servers of people's connections.

    Where a connection may lead is decided at each contact by what its owner is then.
    """

    def __init__(self, database: Database, vault: Vault, guards: OutboundGuards, limits: McpLimits) -> None:
        self._database = database
        self._limits = limits
        self._held = HeldCalls(limits.hold_seconds)
        self._changes = ChangeQueue(self._follow_change, limits.change_pause_seconds)
        self._tokens: AccessTokens | None = None
        self._pool = McpPool(guards, limits, self.tokens, self._changes.note)
        self._refreshing: dict[tuple[str, int], asyncio.Task[ProbeResult]] = {}
        self._sweeping = asyncio.create_task(self._pool.sweep())
        self.tool_lists = ToolListCache()
        """The tool lists that this process has parsed."""
        self.vault = vault
        self._guards = guards

    @property
    def call_seconds(self) -> float:
        """How long a call may take, with what opens a session for it and for its repetition."""
        limits = self._limits
        return 2 * (limits.connect_seconds + limits.list_seconds + limits.call_seconds)

    async def tokens(self) -> "AccessTokens":
        """The access tokens of connections with OAuth."""
        if self._tokens is None:
            # With the protocol's library, which takes half a second to load.
            module = await import_in_thread("agents.mcp.oauth.tokens")
            opened: AccessTokens = module.AccessTokens(self._database, self.vault, self._guards)
            # Somebody else may have opened them meanwhile.
            self._tokens = self._tokens or opened
        return self._tokens

    async def guard_of(self, owner_id: str) -> OutboundGuard:
        """The guard of a person's connections."""
        return self._guards.of(is_administrator=await self._is_administrator(owner_id))

    async def _is_administrator(self, owner_id: str) -> bool:
        try:
            async with self._database.reading() as session:
                owner = await principal_for_user(session, owner_id)
        except (AccountDisabled, InvalidToken):
            return False
        return Permission.SYSTEM_MANAGE in owner.permissions

    async def refresh(self, row: McpConnection, *, insists: bool = True) -> ProbeResult:
        return await self._record(row, await self._look(row, insists=insists))

    async def probe(self, row: McpConnection) -> ProbeResult:
        """Connect in a new session, list the tools, and store the outcome; calls in progress continue."""
        try:
            outcome = ProbeResult(await self._pool.list_tools_once(await self.target(row)))
        except AgentexError as failure:
            outcome = ProbeResult(failure=failure)
        return await self._record(row, outcome)

    async def _look(self, row: McpConnection, *, insists: bool) -> ProbeResult:
        target = await self.target(row)
        try:
            opened = await self._pool.session(target, insists=insists)
            listing = opened.listing if opened.is_new else await self._list_again(opened.session, target, insists)
        except AgentexError as failure:
            return ProbeResult(failure=failure)
        self._pool.record_success(target)
        return ProbeResult(listing)

    async def _list_again(self, session: "McpSession", target: McpTarget, insists: bool) -> ToolListing:
        try:
            return await session.list_tools()
        except McpSessionLost:
            # A new session lists the tools as it opens.
            return (await self._pool.session(target, insists=insists)).listing

    async def _follow_change(self, target: McpTarget) -> None:
        """Store the tools that a server has now, while a session with it is open; others are asked by the list's age."""
        session = self._pool.present(target.connection_id)
        if session is None or session.target != target:
            return
        async with self._database.reading() as reading:
            row = await connections.get(reading, target.owner_id, target.connection_id)
        try:
            await self._record(row, ProbeResult(await session.list_tools()))
        except McpSessionLost:
            # The next use opens another session, which lists the tools.
            return

    def refresh_soon(self, row: McpConnection) -> asyncio.Task[ProbeResult]:
        """Refresh in the background; one task at a time for each connection."""
        key = (row.id, row.version)
        if key not in self._refreshing:
            task = asyncio.create_task(self.refresh(row, insists=False))
            self._refreshing[key] = task
            task.add_done_callback(lambda done: self._refreshed(key, done))
        return self._refreshing[key]

    def _refreshed(self, key: tuple[str, int], task: asyncio.Task[ProbeResult]) -> None:
        del self._refreshing[key]
        # Nobody need be waiting for it; the next look finds the same and says it.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("mcp.not_looked", error=type(error).__name__)

    def refresh_stale(self, connection_rows: Sequence[ConnectionRow]) -> set[asyncio.Task[ProbeResult]]:
        """Refresh outdated tool lists in the background; returns tasks of never-reached servers, worth waiting for."""
        enabled = [connection for connection in connection_rows if connection.row.enabled]
        before = utc_now() - timedelta(seconds=self._limits.fresh_seconds)
        stale = [connection for connection in enabled if connection.listed_at is None or connection.listed_at < before]
        refreshes = {connection.row.id: self.refresh_soon(connection.row) for connection in stale}
        return {
            refreshes[connection.row.id] for connection in stale if connection.row.status == McpStatus.UNKNOWN.value
        }

    async def call_in_run(
        self, row: McpConnection, tool: str, arguments: dict[str, JsonValue], feed: CallFeed
    ) -> McpResult:
        """Call a tool for a run, or go on with its call; raises ``InputNeeded`` where its server asks a person.

        A call whose questions came instead of a result is made again with the answers. One that asked while it was
        open goes on if it still is; else ``AnswerTooLate`` is raised.
        """
        if not row.enabled:
            raise McpSwitchedOff
        reply = feed.reply
        if reply is not None and reply.state is None:
            return await self._held.go_on(feed, reply)
        answered = None if reply is None else InputRound.from_json(reply.state).answered(reply.answer)

        async def make(hooks: CallHooks) -> McpResult:
            return await self.call(row, McpCall(tool, arguments, hooks, answered))

        return await self._held.begin(row.owner_id, feed, make)

    async def call(self, row: McpConnection, call: McpCall) -> McpResult:
        """Call a tool once; a failed call may have taken effect, except after ``McpRefusal``.

        One that a server refuses because it does not know the session any more has not: it is made in a new one.
        """
        while True:
            if call.answered is not None and (question := call.answered.next_question) is not None:
                if call.hooks.ask is not None:
                    raise InputNeeded(question, call.answered.to_json())
                call = replace(call, answered=call.answered.answered(ElicitationAnswer("decline")))
                continue
            result = await self._call(row, call)
            if not isinstance(result, InputRound):
                return await asyncio.to_thread(read_call_result, result)
            call = replace(call, answered=result)

    async def list_texts(self, row: McpConnection) -> "TextLists":
        """The resources and prompts of a server."""
        return await self._in_session(row, lambda session: session.list_texts())

    async def read_resource(self, row: McpConnection, uri: str) -> tuple[ServerText, ...]:
        """The parts of a resource; may raise ``McpRefusal``."""
        return await self._in_session(row, lambda session: session.read_resource(uri))

    async def get_prompt(self, row: McpConnection, name: str, arguments: dict[str, str]) -> tuple[ServerText, ...]:
        """The messages of a prompt; may raise ``McpRefusal``."""
        return await self._in_session(row, lambda session: session.get_prompt(name, arguments))

    async def _in_session(self, row: McpConnection, ask: Callable[["McpSession"], Awaitable[AnswerT]]) -> AnswerT:
        """Ask for something that changes nothing, once more in a new session where the server knows the old one no more."""
        if not row.enabled:
            raise McpSwitchedOff
        target = await self.target(row)
        try:
            try:
                return await self._ask_once(row, target, ask)
            except McpSessionLost:
                return await self._ask_once(row, target, ask)
        except McpSessionLost as lost:
            raise lost.failure from lost

    async def _ask_once(
        self, row: McpConnection, target: McpTarget, ask: Callable[["McpSession"], Awaitable[AnswerT]]
    ) -> AnswerT:
        try:
            opened = await self._pool.session(target)
        except AgentexError as failure:
            await self._record(row, ProbeResult(failure=failure))
            raise
        if opened.is_new:
            await self._record(row, ProbeResult(opened.listing))
        try:
            answer = await ask(opened.session)
        except AgentexError as failure:
            await self._record_failed_call(row, target, failure)
            raise
        self._pool.record_success(target)
        return answer

    async def _call(self, row: McpConnection, call: McpCall) -> "mcp_types.CallToolResult | InputRound":
        if not row.enabled:
            raise McpSwitchedOff
        target = await self.target(row)
        try:
            try:
                result = await self._try_call(row, target, call)
            except McpSessionLost:
                result = await self._repeat_call(row, target, call)
        except McpRefusal:
            self._pool.record_success(target)
            raise
        self._pool.record_success(target)
        return result

    async def _try_call(
        self, row: McpConnection, target: McpTarget, call: McpCall
    ) -> "mcp_types.CallToolResult | InputRound":
        try:
            opened = await self._pool.session(target)
        except AgentexError as failure:
            await self._record(row, ProbeResult(failure=failure))
            raise
        if opened.is_new:
            await self._record(row, ProbeResult(opened.listing))
        try:
            return await opened.session.call(call.tool, call.arguments, call.hooks, call.answered)
        except AgentexError as failure:
            await self._record_failed_call(row, target, failure)
            raise

    async def _repeat_call(
        self, row: McpConnection, target: McpTarget, call: McpCall
    ) -> "mcp_types.CallToolResult | InputRound":
        try:
            return await self._try_call(row, target, call)
        except McpSessionLost as lost:
            if isinstance(lost.failure, AgentexError):
                await self._record_failed_call(row, target, lost.failure)
            raise lost.failure from lost

    async def _record_failed_call(self, row: McpConnection, target: McpTarget, failure: AgentexError) -> None:
        if is_of_server(failure):
            self._pool.record_failure(target)
        await self._record(row, ProbeResult(failure=failure))

    async def listen(self, row: McpConnection, on_event: "EventHandler") -> "McpSession":
        """A session of its own that hears what a server sends unasked; the caller closes it.

        Raises:
            McpUnavailable: the server can't be reached, or refuses the connection.
        """
        if not row.enabled:
            raise McpSwitchedOff
        try:
            session = await self._pool.open_listener(await self.target(row), on_event)
        except AgentexError as failure:
            # Who listens notices first that a server is gone.
            await self._record(row, ProbeResult(failure=failure))
            raise
        await self._record_return(row, session)
        return session

    async def _record_return(self, row: McpConnection, session: "McpSession") -> None:
        """Store that a server that could not be used can be used again."""
        async with self._database.reading() as reading:
            present = await reading.get(McpConnection, row.id)
        if present is None or present.status == McpStatus.CONNECTED.value:
            return
        try:
            await self._record(row, ProbeResult(await session.list_tools()))
        except (AgentexError, McpSessionLost) as error:
            # Its next use finds out.
            log.info("mcp.not_listed", error=type(error).__name__)

    async def discard(self, connection_id: str) -> None:
        await self._pool.discard(connection_id)

    async def close(self) -> None:
        beside = {self._sweeping, *self._refreshing.values()}
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        await self._changes.close()
        await self._held.close()
        await self._pool.close()
        if self._tokens is not None:
            await self._tokens.close()

    async def _record(self, row: McpConnection, outcome: ProbeResult) -> ProbeResult:
        """Store the outcome of a contact; its tools are cut to the owner's quota."""
        if outcome.failure is None:
            async with unit_of_work(self._database) as work:
                listing = await connections.record_tools(work, row, outcome.listing, self._limits)
            return ProbeResult(listing)
        fault = McpFault[str(outcome.failure.details.get("fault", "too_large")).upper()]
        if fault not in (McpFault.PAUSED, McpFault.CLOSED):
            async with unit_of_work(self._database) as work:
                await connections.record_fault(work, row, fault, self._challenge(row, fault))
        return outcome

    def _challenge(self, row: McpConnection, fault: McpFault) -> str | None:
        """What the server asked to be authorised for, if that is what is amiss."""
        if fault not in OF_AUTHORIZATION or self._tokens is None:
            return None
        return self._tokens.challenge(row.id)

    async def target(self, row: McpConnection) -> McpTarget:
        """Where a connection leads now, and by which rights."""
        kind = McpType(row.type)
        is_oauth = row.auth_type == OAUTH
        grant_id = ""
        if is_oauth:
            async with self._database.reading() as session:
                grant_id = await read_grant_id(session, row.id)
        heartbeat = _number(row.config, "heartbeat_interval", 30_000) / _MILLISECONDS
        return McpTarget(
            row.id,
            kind,
            row.url,
            self.vault.decrypt(row.sealed_token) if row.sealed_token else "",
            heartbeat_seconds=heartbeat if kind is McpType.WEBSOCKET else None,
            pause_seconds=_number(row.config, "reconnect_delay", 5000) / _MILLISECONDS,
            max_retries=int(_number(row.config, "max_retries", 3)),
            is_administrators=await self._is_administrator(row.owner_id),
            is_oauth=is_oauth,
            grant_id=grant_id,
            owner_id=row.owner_id,
        )


def _number(config: dict[str, JsonValue], name: str, default: float) -> float:
    value = config.get(name)
    return float(value) if isinstance(value, int | float) else default
