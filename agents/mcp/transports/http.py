"""Streamable HTTP transport: guarded, without compression and redirects but for a slash, and bounded."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.inbound import MCP_METHOD_HEADER

from agents.mcp.config import McpLimits, McpTarget
from agents.mcp.errors import McpFault, current_note, report_fault
from agents.mcp.oauth.faults import OAuthFailure
from agents.mcp.oauth.http import require_secure
from agents.mcp.oauth.tokens import AccessTokens, TokenFailure
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpx2Transport

_MEDIA_TYPES = ("application/json", "text/event-stream")
_ERROR, _REDIRECT, _OK = 400, 300, 200
_NOT_AUTHENTICATED = 401
_UNAUTHORISED = frozenset({_NOT_AUTHENTICATED, 403})
# Not 303, which says that the request was carried out.
_MOVED = frozenset({301, 302, 307, 308})
# Answered in place of the server where none of it may be read.
_NOTHING = 502
_NOT_OFFERED = 405
_LISTEN = "subscriptions/listen"


@asynccontextmanager
async def http_streams(
    target: McpTarget,
    guard: OutboundGuard,
    limits: McpLimits,
    tokens: AccessTokens | None = None,
    on_silence: Callable[[], None] | None = None,
) -> AsyncGenerator[TransportStreams]:
    """The message streams of a server over streamable HTTP; ``tokens`` are those of connections with OAuth.

    Args:
        on_silence: for sessions that are there to hear what the server says unasked: called when nothing can be heard
            any more. What they hear has no limit but that of each message.
    """
    headers = {"Accept-Encoding": "identity", **target.headers}
    # An answer is silent while a person is asked; calls themselves end by their own limit.
    timeout = httpx2.Timeout(limits.call_seconds + limits.hold_seconds, connect=limits.connect_seconds)
    inner: httpx2.AsyncBaseTransport = GuardedHttpx2Transport(guard)
    authorization = None if tokens is None else _Authorization(target, tokens, guard)
    transport = _LimitedTransport(inner, limits, authorization, on_silence)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport, max_redirects=0) as client,
        streamable_http_client(target.url, http_client=client, max_sse_event_size=limits.message_bytes) as streams,
    ):
        yield streams


class _Authorization:
    """The token of a target in its requests, and what refusals of it mean."""

    def __init__(self, target: McpTarget, tokens: AccessTokens, guard: OutboundGuard) -> None:
        self._target = target
        self._tokens = tokens
        self._guard = guard

    async def send(self, inner: httpx2.AsyncBaseTransport, request: httpx2.Request) -> httpx2.Response:
        """The response to a request with the token; once more with another one where the first is refused."""
        if not self._target.grant_id:
            return await inner.handle_async_request(request)
        token = await self._tokens.current(self._target)
        if not token:
            return await inner.handle_async_request(request)
        if request.url.scheme != "https":
            await require_secure(str(request.url), self._guard)
        request.headers["Authorization"] = f"Bearer {token}"
        response = await inner.handle_async_request(request)
        if response.status_code != _NOT_AUTHENTICATED:
            return response
        # Refused before anything was done, so that the request may be repeated.
        other = await self._tokens.after_refusal(self._target, token)
        if not other:
            return response
        await response.aclose()
        request.headers["Authorization"] = f"Bearer {other}"
        return await inner.handle_async_request(request)

    def fault_of(self, response: httpx2.Response) -> McpFault | None:
        """The fault of a refusal that an authorization would mend."""
        return self._tokens.note_challenge(self._target, response)


class _LimitedTransport(httpx2.AsyncBaseTransport):
    """Enforces limits with responses: an exception would end the library's session with all its calls."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        limits: McpLimits,
        authorization: _Authorization | None,
        on_silence: Callable[[], None] | None,
    ) -> None:
        self._inner = inner
        self._on_silence = on_silence
        self._authorization = authorization
        self._limits = limits
        self._slash_target: bytes | None = None
        self._streams = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_unasked = request.method == "GET"
        response = await self._handle(request)
        is_over = self._streams > self._limits.streams or response.status_code not in (_OK, _NOT_OFFERED)
        if is_unasked and is_over and self._on_silence is not None:
            # The library would leave it at that, and the session be deaf.
            self._on_silence()
        return response

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" or request.headers.get(MCP_METHOD_HEADER) == _LISTEN:
            self._streams += 1
            if self._streams > self._limits.streams:
                return httpx2.Response(_NOT_OFFERED, request=request)
            # What a server says unasked may be long in coming.
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": None}
        try:
            response = await self._send(request)
        except (UrlNotAllowed, OAuthFailure):
            return _instead(request, McpFault.NOT_ALLOWED)
        except TokenFailure as failure:
            return _instead(request, failure.fault)
        except AgentexError:
            # Without the database there is no token.
            return _instead(request, McpFault.NOT_RENEWED)
        except httpx2.TimeoutException:
            return _instead(request, McpFault.NO_ANSWER)
        except httpx2.TransportError:
            return _instead(request, McpFault.UNREACHABLE)
        note = current_note()
        note.status, note.has_session = response.status_code, MCP_SESSION_ID in request.headers
        of_authorization = self._authorization.fault_of(response) if self._authorization else None
        fault = of_authorization or _fault_of(response)
        if fault is not None:
            await response.aclose()
            return _instead(request, fault, response.status_code)
        if request.method != "GET" or self._on_silence is None:
            self._limit(response)
        return response

    def _limit(self, response: httpx2.Response) -> None:
        is_stream = "text/event-stream" in response.headers.get("Content-Type", "").lower()
        limit = self._limits.answer_bytes if is_stream else self._limits.message_bytes
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _SizeLimitedStream(stream, limit)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """The response; that of the same address with or without a slash, where the server redirects there."""
        if self._slash_target is not None:
            request.url = request.url.copy_with(raw_path=self._slash_target)
        response = await self._send_authorized(request)
        target = _slash_target(request.url, response)
        if target is None or self._slash_target is not None:
            return response
        await response.aclose()
        # The later requests of a session all go to the same address.
        self._slash_target = target
        request.url = request.url.copy_with(raw_path=target)
        return await self._send_authorized(request)

    async def _send_authorized(self, request: httpx2.Request) -> httpx2.Response:
        if self._authorization is None:
            return await self._inner.handle_async_request(request)
        return await self._authorization.send(self._inner, request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _slash_target(url: httpx2.URL, response: httpx2.Response) -> bytes | None:
    """Path and query to which a redirect leads that only adds or takes away the slash at the end of the path.

    The host is compared only: behind a proxy, servers name a scheme and port of their own. None of them is used.
    """
    if response.status_code not in _MOVED:
        return None
    try:
        place = url.join(response.headers.get("Location", ""))
    except (httpx2.InvalidURL, ValueError):
        return None
    is_here = (place.host, place.query) == (url.host, url.query) and place.raw_path != url.raw_path
    return place.raw_path if is_here and _without_slash(place) == _without_slash(url) else None


def _without_slash(url: httpx2.URL) -> bytes:
    return url.raw_path.partition(b"?")[0].removesuffix(b"/")


def _fault_of(response: httpx2.Response) -> McpFault | None:
    status = response.status_code
    if status in _UNAUTHORISED:
        report_fault(McpFault.UNAUTHORISED)
        return McpFault.UNAUTHORISED
    media_type = response.headers.get("Content-Type", "").lower()
    is_json = media_type.startswith(_MEDIA_TYPES[0])
    if status >= _ERROR:
        # An error of the protocol's own has a body that is read; any other body is not.
        report_fault(McpFault.REFUSED)
        return None if is_json else McpFault.REFUSED
    if status >= _REDIRECT:
        return McpFault.REDIRECTED
    is_empty = status != _OK
    is_encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
    if is_encoded or not (is_empty or media_type.startswith(_MEDIA_TYPES)):
        return McpFault.NOT_MCP
    return None


def _instead(request: httpx2.Request, fault: McpFault, status: int = _NOTHING) -> httpx2.Response:
    report_fault(fault)
    return httpx2.Response(status if status >= _ERROR else _NOTHING, request=request)


class _TooLong(httpx2.StreamError):
    """A response beyond the limit; the library treats it as unreadable."""


class _SizeLimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._left -= len(chunk)
                if self._left < 0:
                    report_fault(McpFault.TOO_LARGE)
                    raise _TooLong("the answer is too large")
                yield chunk
        except httpx2.TimeoutException as error:
            report_fault(McpFault.NO_ANSWER)
            raise _TooLong("the answer took too long") from error
        except httpx2.TransportError as error:
            report_fault(McpFault.BROKE_OFF)
            raise _TooLong("the answer broke off") from error

    async def aclose(self) -> None:
        await self._inner.aclose()
