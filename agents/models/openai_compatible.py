"""Any endpoint that speaks OpenAI's streaming chat completions."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
from pydantic import SecretStr

from agents.models.openai_wire import ChunkReader, coalesce, request_body
from agents.models.port import Message, ModelEnd, ModelEvent, ToolSpec, ToolsRefused
from core.errors import ModelFailed
from core.sse import EventTooLarge, SseDecoder

_OK = 200
_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
_REFUSED = frozenset({400, 404, 422, 501})
_UNANSWERED = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.RemoteProtocolError,
)
_ERROR_BODY_BYTES = 16_384
_JITTER = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how to talk to it.

    Attributes:
        base_url: Up to and without ``/chat/completions``, e.g. ``https://api.openai.com/v1``.
        api_key: None or empty sends no Authorization header.
        provider: Name for usage records.
        echo_reasoning: Send reasoning back with assistant turns that called tools (DeepSeek).
        read_timeout_seconds: Longest silence before and within the stream.
        attempts: Requests in all, before the first byte.
        longest_wait_seconds: A longer ``Retry-After`` ends the retries.
    """

    base_url: str
    model: str
    api_key: SecretStr | None = None
    provider: str = "openai-compatible"
    echo_reasoning: bool = False
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float = 120
    attempts: int = 3
    backoff_seconds: float = 0.5
    longest_wait_seconds: float = 20


class OpenAICompatible:
    """The adapter; the HTTP client is the caller's, so that connections are shared."""

    is_extractive = False

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient) -> None:
        self.name = endpoint.model
        self.provider = endpoint.provider
        self._endpoint = endpoint
        self._client = client

    async def events(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; deltas of one network read are joined.

        Retries are one layer and end with the first byte of an answer: a stream that breaks is
        surfaced, never repeated, because its text was already shown.

        Raises:
            ToolsRefused: The endpoint refused because of ``tools``.
            ModelFailed: It refused, timed out, sent an error or broke off.
        """
        async with self._open(messages, tools) as response:
            reader = ChunkReader()
            async with aclosing(_payloads(response, reader)) as reads:
                async for payloads in reads:
                    for event in coalesce(reader.read_all(payloads)):
                        yield event
                    if reader.failure is not None:
                        raise reader.failure
                    if reader.is_done:
                        break
        if reader.finish_reason is None and not reader.is_done:
            raise ModelFailed(reason="the stream ended early")
        if reader.usage is not None:
            yield reader.usage
        yield ModelEnd(reader.finish_reason or ("tool_calls" if reader.has_calls else "stop"))

    @asynccontextmanager
    async def _open(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[httpx.Response, None]:
        try:
            request = self._request(messages, tools)
        except httpx.InvalidURL as error:
            raise ModelFailed(reason="the endpoint's address is not valid") from error
        response = await self._send(request)
        try:
            if response.status_code != _OK:
                raise await _refusal(response, with_tools=bool(tools))
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        for attempt in range(1, self._endpoint.attempts + 1):
            is_last = attempt == self._endpoint.attempts
            try:
                response = await self._client.send(request, stream=True)
            except _UNANSWERED as error:
                if is_last:
                    raise ModelFailed(reason="the endpoint can't be reached") from error
                wait = self._backoff(attempt)
            except httpx.HTTPError as error:
                raise ModelFailed(reason=_transport_reason(error)) from error
            else:
                wait = _retry_after(response)
                wait = self._backoff(attempt) if wait is None else wait
                is_too_long = wait > self._endpoint.longest_wait_seconds
                if response.status_code not in _RETRIED or is_last or is_too_long:
                    return response
                await response.aclose()
            await asyncio.sleep(wait)
        raise ModelFailed(reason="no request was allowed")

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> httpx.Request:
        endpoint = self._endpoint
        headers = {"Accept": "text/event-stream"}
        # An empty key would make the illegal header "Bearer ".
        if endpoint.api_key is not None and endpoint.api_key.get_secret_value():
            headers["Authorization"] = f"Bearer {endpoint.api_key.get_secret_value()}"
        return self._client.build_request(
            "POST",
            f"{endpoint.base_url.rstrip('/')}/chat/completions",
            json=request_body(
                endpoint.model, messages, tools, echo_reasoning=endpoint.echo_reasoning
            ),
            headers=headers,
            timeout=httpx.Timeout(
                endpoint.read_timeout_seconds, connect=endpoint.connect_timeout_seconds
            ),
        )

    def _backoff(self, attempt: int) -> float:
        # Spread over the upper half, so that clients cut off together do not return together.
        return self._endpoint.backoff_seconds * 2 ** (attempt - 1) * _JITTER.uniform(0.5, 1)


async def _payloads(
    response: httpx.Response, reader: ChunkReader
) -> AsyncGenerator[list[str], None]:
    decoder = SseDecoder()
    try:
        async for chunk in response.aiter_bytes():
            yield [event.data for event in decoder.feed(chunk)]
    except EventTooLarge as error:
        raise ModelFailed(reason="the endpoint sent an event that is too large") from error
    except httpx.HTTPError as error:
        # After the finish reason only usage is left to lose.
        if reader.finish_reason is None:
            raise ModelFailed(reason=_transport_reason(error)) from error
    yield [event.data for event in decoder.close()]


def _transport_reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "the endpoint did not answer in time"
    return "the connection to the endpoint broke off"


async def _refusal(response: httpx.Response, *, with_tools: bool) -> ModelFailed:
    status = response.status_code
    if with_tools and status in _REFUSED and await _mentions_tools(response):
        return ToolsRefused(reason="the endpoint does not accept tools", status=status)
    return ModelFailed(reason=f"the endpoint answered HTTP {status}", status=status)


async def _mentions_tools(response: httpx.Response) -> bool:
    body = b""
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= _ERROR_BODY_BYTES:
                break
    except httpx.HTTPError:
        return False
    text = body[:_ERROR_BODY_BYTES].lower()
    return b"tool" in text or b"function" in text


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of the ``Retry-After`` header: a number or a date (RFC 9110 section 10.2.3)."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
