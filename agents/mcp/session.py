"""Open session with an MCP server, held by its own task."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import mcp_types
from mcp.client._probe import negotiate_auto
from mcp.client._transport import Transport
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue, TypeAdapter, ValidationError

from agents.mcp.change_queue import ListKind
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.dispatcher import TolerantDispatcher
from agents.mcp.elicitation import Elicitation, UnusableQuestion, read_elicitation
from agents.mcp.errors import FaultNote, McpFault, McpRefusal, McpSessionLost, collect_faults, current_note, mcp_error
from agents.mcp.exchange import MOST_ROUNDS, NO_HOOKS, CallHooks, InputRound, McpProgress
from agents.mcp.list_changes import changed_list, subscribe
from agents.mcp.oauth.tokens import AccessTokens
from agents.mcp.open_calls import OpenCalls
from agents.mcp.resource_updates import subscribe_resources
from agents.mcp.server_events import DeclaredEventType, EventHandler, declared_event_types
from agents.mcp.text_lists import TextLists, list_prompts, list_resources
from agents.mcp.texts import TEXT_KINDS, ServerText, read_prompt_texts, read_resource_texts
from agents.mcp.tools import ToolListing, usable_tools
from agents.mcp.transports.http import http_streams
from agents.mcp.transports.websocket import websocket_streams
from agents.tool_names import LeftOutTool
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard

ResultT = TypeVar("ResultT")
_CLOSE_SECONDS = 3
_RESULTS: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)
_MOST_QUESTIONS = 8
_LONGEST_STATE = 65_536
_LONGEST_REFUSAL = 500
# What the library says itself; servers use the same numbers for errors of theirs.
_OWN_WORDS = (
    "Connection closed",
    "Not Found",
    "Redirect to ",
    "SSE stream ",
    "Server returned an error response",
    "Session terminated",
    "Unexpected content type",
    "server answered a request with 202",
)
_NOT_FOUND, _CLIENT_ERROR, _SERVER_ERROR = 404, 400, 500
# With these a server refuses one request, whatever it thinks of the session.
_OF_THE_REQUEST = frozenset({mcp_types.METHOD_NOT_FOUND, mcp_types.INVALID_PARAMS, mcp_types.INTERNAL_ERROR})


class McpSession:
    """A session from handshake to close; ``on_change`` hears which lists the server says have changed.

    Only its own task enters and leaves the library's contexts, whose cancel scopes are bound to a task; requests may
    come from any task, concurrently.
    """

    def __init__(
        self,
        target: McpTarget,
        guard: OutboundGuard,
        limits: McpLimits,
        tokens: AccessTokens | None = None,
        on_change: Callable[[ListKind], None] = lambda _: None,
        on_event: EventHandler | None = None,
    ) -> None:
        self.target = target
        self._tokens = tokens
        self._on_change = on_change
        self._on_event = on_event
        self._limits = limits
        self._guard = guard
        # What a transport notes that can't tell to which request it belongs.
        self._note = FaultNote()
        self._session: ClientSession | None = None
        self._leave = asyncio.Event()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self._pending = 0
        self._calls = OpenCalls()
        self._texts: TextLists | None = None
        # Counted, so that a list that was on its way when it changed is not lists.
        self._text_changes = 0
        self._is_retired = False

    @property
    def is_usable(self) -> bool:
        is_over = self._is_retired or self._task.done()
        return not is_over and self._note.fault is None

    @property
    def event_types(self) -> list[DeclaredEventType]:
        """The types of events that the server declares."""
        offered = self._session.server_capabilities if self._session else None
        return declared_event_types(offered.experimental if offered else None)

    async def wait_closed(self) -> None:
        """Wait until the session is over."""
        await asyncio.wait({self._task})

    async def wait_opened(self) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_seconds + 1):
                await asyncio.shield(self._opened)
        except TimeoutError as error:
            self.retire()
            raise mcp_error(McpFault.NO_ANSWER) from error

    async def list_tools(self) -> ToolListing:
        """The server's tools; may raise ``McpSessionLost``."""
        tools: list[mcp_types.Tool] = []
        left_out: list[LeftOutTool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._limits.list_seconds):
                for _ in range(self._limits.pages):
                    page, unreadable = await self._ask(partial(_list_page, cursor=cursor))
                    tools += page.tools
                    left_out += unreadable
                    cursor = page.next_cursor
                    if not cursor or len(tools) >= self._limits.tools:
                        break
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error
        except McpRefusal as refusal:
            raise mcp_error(McpFault.REFUSED) from refusal
        listing = await asyncio.to_thread(usable_tools, tools, self._limits, left_out)
        return replace(listing, features=self._features())

    def _features(self) -> tuple[str, ...]:
        """What the server says it has besides tools."""
        offered = None if self._session is None else self._session.server_capabilities
        return tuple(kind for kind in TEXT_KINDS if offered is not None and getattr(offered, kind) is not None)

    async def list_texts(self) -> TextLists:
        """The server's resources, templates of resources and prompts; kept until the server says they have changed.

        May raise ``McpSessionLost``.
        """
        lists = self._texts
        if lists is None:
            features = self._features()
            changes = self._text_changes
            try:
                async with asyncio.timeout(self._limits.list_seconds):
                    # Only what the server says it has: others don't know the requests.
                    lists = TextLists(
                        tuple(await self._ask(list_resources)) if "resources" in features else (),
                        tuple(await self._ask(list_prompts)) if "prompts" in features else (),
                    )
            except TimeoutError as error:
                raise mcp_error(McpFault.NO_ANSWER) from error
            except McpRefusal as refusal:
                raise mcp_error(McpFault.REFUSED) from refusal
            if changes == self._text_changes:
                self._texts = lists
        return lists

    async def read_resource(self, uri: str) -> tuple[ServerText, ...]:
        """The parts of a resource; may raise ``McpRefusal`` and ``McpSessionLost``."""

        async def send(session: ClientSession) -> tuple[ServerText, ...]:
            return read_resource_texts(await session.read_resource(uri))

        return await self._read(send)

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> tuple[ServerText, ...]:
        """The messages of a prompt; may raise ``McpRefusal`` and ``McpSessionLost``."""

        async def send(session: ClientSession) -> tuple[ServerText, ...]:
            return read_prompt_texts(await session.get_prompt(name, arguments))

        return await self._read(send)

    async def _read(self, send: Callable[[ClientSession], Awaitable[tuple[ServerText, ...]]]) -> tuple[ServerText, ...]:
        try:
            async with asyncio.timeout(self._limits.call_seconds):
                return await self._ask(send)
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error

    async def call(
        self,
        name: str,
        arguments: dict[str, JsonValue],
        hooks: CallHooks = NO_HOOKS,
        answered: InputRound | None = None,
    ) -> mcp_types.CallToolResult | InputRound:
        """Call a tool, without retries; a failed call may have taken effect.

        Except after ``McpRefusal`` and ``McpSessionLost``, which say that it has not. Servers of the newest version
        give questions instead of a result; the call is then made again, ``answered``.
        """
        params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
        if answered is not None:
            params.input_responses = {
                key: mcp_types.ElicitResult.model_validate(answer.to_json()) for key, answer in answered.answers.items()
            }
            params.request_state = answered.request_state
        request = mcp_types.CallToolRequest(params=params)
        on_progress = None if hooks.on_progress is None else partial(_tell_progress, hooks.on_progress)

        async def send(session: ClientSession) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
            # Not ``call_tool``: it runs the server's own schema over the server's own answer.
            return await session.send_request(request, _RESULTS, progress_callback=on_progress)

        with self._calls.opened(hooks, self._limits.call_seconds) as call:
            try:
                async with call.limit:
                    result = await self._ask(send)
            except TimeoutError as error:
                raise mcp_error(McpFault.NO_ANSWER) from error
        if isinstance(result, mcp_types.InputRequiredResult):
            return read_round(result, 1 if answered is None else answered.number + 1)
        return result

    async def _ask(self, request: Callable[[ClientSession], Awaitable[ResultT]]) -> ResultT:
        session = self._require()
        note = collect_faults()
        self._pending += 1
        try:
            return await request(session)
        except AgentexError:
            raise
        # The library raises whatever the server's answer makes it stumble over.
        except Exception as error:
            raise await self._translated(error, note) from error
        finally:
            self._pending -= 1
            if self._is_retired and self._pending == 0:
                self._leave.set()

    async def _translated(self, error: Exception, note: FaultNote) -> Exception:
        noted = note.fault or self._note.fault
        if not isinstance(error, MCPError):
            if not isinstance(error, ValidationError):
                # It has lost its stream.
                self.retire()
            return mcp_error(noted or McpFault.NOT_MCP)
        is_own = error.code == mcp_types.PARSE_ERROR or error.message.startswith(_OWN_WORDS)
        if noted in (None, McpFault.REFUSED):
            refusal = None if is_own else McpRefusal(error.message[:_LONGEST_REFUSAL])
            if await self._is_lost(error, note, is_own=is_own):
                self.retire()
                if refusal is None or (note.status or 0) >= _CLIENT_ERROR:
                    return McpSessionLost(mcp_error(McpFault.SESSION_LOST))
                return McpSessionLost(refusal)
            if refusal is not None:
                return refusal
        self.retire()
        return mcp_error(noted or McpFault.NOT_MCP)

    async def _is_lost(self, error: MCPError, note: FaultNote, *, is_own: bool) -> bool:
        """Whether the server refused a request because it does not know its session any more.

        Servers say so with any status and words, so the session itself is tried: one that is alive answers a ping.
        """
        status, session = note.status, self._session
        if not note.has_session or status is None or session is None or status >= _SERVER_ERROR:
            return False
        is_general = is_own or error.code not in _OF_THE_REQUEST
        if status == _NOT_FOUND and is_general:
            return True
        if status < _CLIENT_ERROR and (is_own or not is_general):
            return False
        ping = collect_faults()
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                await session.send_request(mcp_types.PingRequest(), mcp_types.EmptyResult)
        except MCPError as refusal:
            return (ping.status, refusal.code) == (status, error.code)
        # Whatever else happens to the ping tells nothing of the session.
        except Exception:  # noqa: BLE001
            return False
        return False

    def _require(self) -> ClientSession:
        if self._session is None or not self.is_usable:
            if self._note.fault is not None:
                raise mcp_error(self._note.fault)
            # Retired between a caller's getting it and using it.
            raise McpSessionLost(mcp_error(McpFault.CLOSED))
        return self._session

    def retire(self) -> None:
        self._is_retired = True
        if self._pending == 0:
            self._leave.set()

    async def close(self) -> None:
        self._is_retired = True
        self._leave.set()
        done, _ = await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)

    async def _hold(self) -> None:
        note = collect_faults()
        try:
            await self._open_and_wait()
        except (AgentexError, TimeoutError) as error:
            self._end(error)
        # Whatever the library raises, also several errors at once: the session is over.
        except Exception:  # noqa: BLE001
            fault = note.fault or self._note.fault or McpFault.NOT_MCP
            self._end(mcp_error(fault))
        finally:
            self._end(mcp_error(McpFault.CLOSED))

    async def _open_and_wait(self) -> None:
        is_websocket = self.target.type is McpType.WEBSOCKET
        async with (
            asyncio.timeout(self._limits.connect_seconds) as connecting,
            self._streams() as streams,
            ClientSession(
                dispatcher=TolerantDispatcher(*streams, self._limits, self._on_event),
                client_info=mcp_types.Implementation(name="agentex", version="1"),
                message_handler=self._hear,
                elicitation_callback=self._elicit,
            ) as session,
        ):
            if is_websocket:
                # Servers from before ``server/discover`` leave it unanswered where nothing says 404.
                await session.initialize()
            elif self._on_event is not None:
                await _negotiate_to_hear(session)
            else:
                await negotiate_auto(session)
            connecting.reschedule(None)
            self._session = session
            if not self._opened.done():
                self._opened.set_result(None)
            listening = asyncio.create_task(self._subscribe(session))
            # Without the stream its lists are asked for by their age.
            listening.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            try:
                await self._leave.wait()
            finally:
                listening.cancel()
                await asyncio.wait({listening})

    async def _subscribe(self, session: ClientSession) -> None:
        if self._on_event is not None:
            await subscribe_resources(session)
        await subscribe(session)

    async def _elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """Pass a server's question on to the call that it belongs to."""
        call = self._calls.asking()
        if call is None:
            why = "Agentex can't tell which of the open calls asks."
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=why)
        try:
            question = read_elicitation(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        except UnusableQuestion as fault:
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=str(fault))
        return mcp_types.ElicitResult.model_validate((await call.ask(question)).to_json())

    async def _hear(self, message: IncomingMessage) -> None:
        kind = changed_list(message)
        if kind is None:
            return
        if kind != "tools":
            self._texts, self._text_changes = None, self._text_changes + 1
        self._on_change(kind)

    def _streams(self) -> Transport:
        # A session that is there to hear what is said unasked is over when nothing can be heard any more.
        on_silence = None if self._on_event is None else self.retire
        if self.target.type is McpType.WEBSOCKET:
            return websocket_streams(self.target, self._guard, self._limits, self._note, on_silence)
        return http_streams(self.target, self._guard, self._limits, self._tokens, on_silence)

    def _end(self, error: Exception) -> None:
        self._is_retired = True
        if self._opened.done():
            return
        if isinstance(error, UrlNotAllowed):
            error = mcp_error(McpFault.NOT_ALLOWED)
        elif isinstance(error, TimeoutError):
            error = mcp_error(McpFault.NO_ANSWER)
        self._opened.set_exception(error)
        # Nobody may be waiting any more.
        with suppress(Exception):
            self._opened.exception()


async def _negotiate_to_hear(session: ClientSession) -> None:
    """Take a version with a handshake where the server has one: the newest has no stream of what is said unasked."""
    try:
        await session.initialize()
    except MCPError:
        await negotiate_auto(session)


async def _list_page(
    session: ClientSession, *, cursor: str | None
) -> tuple[mcp_types.ListToolsResult, list[LeftOutTool]]:
    # The library's own: it learns which arguments go into headers.
    page = await session.list_tools(params=mcp_types.PaginatedRequestParams(cursor=cursor))
    return page, current_note().left_out


async def _tell_progress(
    on_progress: Callable[[McpProgress], None], progress: float, total: float | None, message: str | None
) -> None:
    on_progress(McpProgress(progress, total, message or ""))


def read_round(result: mcp_types.InputRequiredResult, number: int) -> InputRound:
    """The questions of a call's answer; raises ``McpRefusal`` where they can't be asked."""
    requests = result.input_requests or {}
    if number > MOST_ROUNDS or len(requests) > _MOST_QUESTIONS:
        raise McpRefusal("it asks too much")
    if len(result.request_state or "") > _LONGEST_STATE:
        raise McpRefusal("what it wants back is too long")
    questions: dict[str, Elicitation] = {}
    for key, request in requests.items():
        if not isinstance(request, mcp_types.ElicitRequest):
            raise McpRefusal(f"it asks for {request.method}, which Agentex does not offer")
        try:
            questions[key] = read_elicitation(request.params.model_dump(mode="json", by_alias=True, exclude_none=True))
        except UnusableQuestion as fault:
            raise McpRefusal(f"its question can't be asked: {fault}") from fault
    return InputRound(questions, result.request_state, number)
