"""WebSocket transport: JSON-RPC messages as text frames, subprotocol ``mcp``."""

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import aiohttp
import anyio
from aiohttp.abc import AbstractResolver, ResolveResult
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from agents.mcp.config import WEBSOCKET_SCHEMES, McpLimits, McpTarget
from agents.mcp.errors import FaultNote, McpFault, mcp_error
from agents.mcp.server_events import is_event
from core.outbound.guard import NameNotResolved, OutboundGuard, read_url
from core.types.network import parse_address

_WAITING = 16
_CLOSE_SECONDS = 2.0
_DRAIN_SECONDS = 0.05
_UNAUTHORISED = frozenset({401, 403})
_REDIRECTS = range(300, 400)
_AddressInfo = tuple[int, int, int, str, tuple[object, ...]]


@asynccontextmanager
async def websocket_streams(
    target: McpTarget,
    guard: OutboundGuard,
    limits: McpLimits,
    note: FaultNote,
    on_silence: Callable[[], None] | None = None,
) -> AsyncGenerator[TransportStreams]:
    """The message streams of a server over a WebSocket.

    Args:
        note: gets the reason when the connection ends.
        on_silence: called when it has ended, after the last message was taken.
    """
    connector = await _connector(target, guard)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_seconds)
    async with (
        aiohttp.ClientSession(
            connector=connector, timeout=timeout, trust_env=False, middlewares=(_refuse_redirect,)
        ) as http,
        _connected(http, target, limits) as connection,
    ):
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](_WAITING)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](_WAITING)
        async with read, write, anyio.create_task_group() as tasks:
            tasks.start_soon(_receive_all, connection, incoming, limits, note, on_silence)
            tasks.start_soon(_send, connection, outgoing)
            yield read, write
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def _connected(
    http: aiohttp.ClientSession, target: McpTarget, limits: McpLimits
) -> AsyncGenerator[aiohttp.ClientWebSocketResponse]:
    try:
        connection = await http.ws_connect(
            target.url,
            headers=target.headers,
            protocols=("mcp",),
            heartbeat=target.heartbeat_seconds,
            max_msg_size=limits.message_bytes,
        )
    except aiohttp.WSServerHandshakeError as error:
        is_known = error.status in _UNAUTHORISED
        raise mcp_error(McpFault.UNAUTHORISED if is_known else McpFault.NOT_MCP) from error
    except (aiohttp.ClientError, OSError) as error:
        raise mcp_error(McpFault.UNREACHABLE) from error
    try:
        yield connection
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await connection.close()


async def _refuse_redirect(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """The response, if it leads nowhere else: the library would follow it, with the credentials of the connection."""
    response = await handler(request)
    if response.status in _REDIRECTS:
        response.close()
        raise mcp_error(McpFault.REDIRECTED)
    return response


async def _receive_all(
    connection: aiohttp.ClientWebSocketResponse,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    limits: McpLimits,
    note: FaultNote,
    on_silence: Callable[[], None] | None,
) -> None:
    async with incoming:
        await _receive(connection, incoming, limits, note)
        # What was received is read before the session ends.
        while incoming.statistics().current_buffer_used:  # noqa: ASYNC110 - the stream tells nobody
            await anyio.sleep(_DRAIN_SECONDS)
    if on_silence is not None:
        on_silence()


async def _receive(
    connection: aiohttp.ClientWebSocketResponse,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    limits: McpLimits,
    note: FaultNote,
) -> None:
    unasked = unasked_bytes = 0
    async for frame in connection:
        if frame.type is aiohttp.WSMsgType.ERROR:
            break
        try:
            message = jsonrpc_message_adapter.validate_json(frame.data, by_name=False)
        except (ValidationError, RecursionError):
            # Which request it belongs to can't be known: what waits would wait in vain.
            note.fault = McpFault.NOT_MCP
            return
        if is_event(message):
            # What takes events slows their server down.
            await incoming.send(SessionMessage(message))
            continue
        is_answer = isinstance(message, JSONRPCResponse | JSONRPCError)
        # The progress of a call may have many messages; of all together, no more than an answer may be long.
        is_progress = isinstance(message, JSONRPCNotification) and message.method == "notifications/progress"
        unasked = 0 if is_answer else unasked + (not is_progress)
        unasked_bytes = 0 if is_answer else unasked_bytes + len(frame.data)
        if unasked > limits.unasked_messages or unasked_bytes > limits.answer_bytes:
            note.fault = McpFault.TOO_LARGE
            return
        await incoming.send(SessionMessage(message))
    is_large = connection.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
    note.fault = McpFault.TOO_LARGE if is_large else McpFault.BROKE_OFF


async def _send(
    connection: aiohttp.ClientWebSocketResponse, outgoing: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    async with outgoing:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await connection.send_str(text)
            except (aiohttp.ClientError, OSError):
                # The reader sees the same end and tells it.
                return


async def _connector(target: McpTarget, guard: OutboundGuard) -> aiohttp.TCPConnector:
    where = read_url(target.url, WEBSOCKET_SCHEMES)
    try:
        addresses = await guard.resolve(where.host, where.port)
    except NameNotResolved as error:
        raise mcp_error(McpFault.UNREACHABLE) from error
    return aiohttp.TCPConnector(
        resolver=_Pinned(addresses), socket_factory=_only(addresses, where.port), use_dns_cache=False, force_close=True
    )


class _Pinned(AbstractResolver):
    """Resolver that returns only the addresses that the guard allowed."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _only(addresses: list[str], port: int) -> Callable[[_AddressInfo], socket.socket]:
    """Socket factory for allowed addresses only, since redirects to addresses skip the resolver."""
    allowed = {(parse_address(address), port) for address in addresses}

    def make(info: _AddressInfo) -> socket.socket:
        family, kind, protocol, _, place = info
        if (parse_address(str(place[0])), place[1]) not in allowed:
            raise OSError("this address was not let through")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    return make
