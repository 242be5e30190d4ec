"""One streamed model call over HTTP: retries, deadlines, and reading the stream to its end."""

import asyncio
import json
import math
import random
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
from pydantic import JsonValue

from agents.llm.base import (
    FinishReason,
    ModelEnd,
    ModelEvent,
    ModelImage,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
    ToolSchemaRefused,
    ToolsRefused,
)
from agents.llm.config import ModelEndpoint
from agents.llm.delta_text import DeltaCleaner, parse_chunk
from agents.llm.errors import (
    ModelFault,
    StreamOptionsRefused,
    address_refused,
    classify_error,
    fault_details,
    model_failed,
    refuses_images,
    refuses_stream_options,
    refuses_tool_schema,
    refuses_tools,
)
from core.errors.requests import UrlNotAllowed
from core.errors.server import ModelFailed
from core.json_access import as_object
from core.sse import EventTooLarge, SseDecoder

_VAGUE = (ModelFault.SERVER_ERROR, ModelFault.REFUSED, ModelFault.UNKNOWN_PATH)

_OK = 200
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIELD_REFUSALS = frozenset({400, 422})
# 1,568 pixels on a side, in patches as Anthropic counts them.
_IMAGE_TOKENS = 1600
_TOOL_REFUSALS = frozenset({400, 404, 422, 500, 501})
_UNANSWERED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ReadError, httpx.RemoteProtocolError)
_ERROR_BODY_BYTES = 16_384
_WHOLE_BODY_BYTES = 16 * 2**20
_BYTES_PER_TOKEN = 4
_JITTER = random.SystemRandom()


class PayloadReader(ABC):
    """Reader of one turn's stream of JSON objects; ``failure`` says why it stopped before the end."""

    def __init__(self) -> None:
        self.finish_reason: FinishReason | None = None
        self.is_done = False
        self.usage: TokenUsage | None = None
        self.has_calls = False
        self.failure: ModelFailed | None = None
        self._cleaner = DeltaCleaner()

    def read_all(self, payloads: Iterable[str]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for payload in payloads:
            try:
                events += self._read(payload)
            except ModelFailed as failure:
                self.failure = failure
            if self.is_done or self.failure is not None:
                break
        return self._cleaner.feed(merge_deltas(events))

    def read_rest(self) -> list[ModelEvent]:
        """What is left at the end of the stream."""
        return [*self._cleaner.feed(self.close()), *self._cleaner.close()]

    def close(self) -> list[ModelEvent]:
        return []

    def _read(self, payload: str) -> Iterable[ModelEvent]:
        try:
            chunk = as_object(parse_chunk(payload))
        except ValueError as error:
            raise model_failed(ModelFault.NOT_JSON) from error
        return self._read_object(chunk)

    @abstractmethod
    def _read_object(self, chunk: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        """The events of one object."""


def stream_error(status: int, text: str) -> ModelFailed:
    """The failure for an error object inside the stream."""
    fault = classify_error(status, text)
    return model_failed(ModelFault.ERROR_IN_STREAM if fault in _VAGUE else fault, status)


def merge_deltas(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Merge neighbouring deltas, so that one network read gives few events."""
    joined: list[ModelEvent] = []
    more: list[str] = []
    for event in events:
        piece = _continues(joined[-1], event) if joined else None
        if piece is None:
            _extend(joined, more)
            joined.append(event)
        else:
            more.append(piece)
    _extend(joined, more)
    return joined


def _continues(last: ModelEvent, event: ModelEvent) -> str | None:
    match last, event:
        case (ModelText(), ModelText(delta)) | (ModelThought(), ModelThought(delta)):
            return delta
        case ModelToolCall(), ModelToolCall(opens=False) if last.call_id == event.call_id:
            return event.arguments_delta
        case _:
            return None


def _extend(joined: list[ModelEvent], more: list[str]) -> None:
    if not more:
        return
    match joined[-1]:
        case ModelText(delta) | ModelThought(delta):
            joined[-1] = replace(joined[-1], delta="".join((delta, *more)))
        case ModelToolCall(arguments_delta=delta):
            joined[-1] = replace(joined[-1], arguments_delta="".join((delta, *more)))
        case _:
            pass
    more.clear()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The HTTP request of one turn."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, JsonValue]
    offers_tools: bool
    images: tuple[ModelImage, ...] = ()


async def stream_turn(
    client: httpx.AsyncClient, endpoint: ModelEndpoint, call: ModelRequest, reader: PayloadReader
) -> AsyncGenerator[ModelEvent, None]:
    """Stream one turn; ``TokenUsage`` and ``ModelEnd`` come last.

    Retries happen here only and end with the first byte of an answer: a broken stream is never repeated, because its
    text was already shown.
    """
    request = _request(client, endpoint, call)
    written = 0
    async with aclosing(_events(client, endpoint, (request, call), reader)) as events:
        async for event in events:
            written += _size(event)
            yield event
    if reader.usage is not None:
        yield reader.usage
    if reader.failure is not None:
        raise reader.failure
    if reader.finish_reason is None and not reader.is_done:
        raise model_failed(ModelFault.ENDED_EARLY)
    if reader.usage is None:
        # Without counts of the endpoint, tokens are estimated from the request's size.
        yield TokenUsage(_estimate_prompt_tokens(request, call), _tokens(written), is_estimated=True)
    if reader.finish_reason == "content_filter":
        raise model_failed(ModelFault.FILTERED)
    yield ModelEnd(_finish_reason(reader))


async def _events(
    client: httpx.AsyncClient, endpoint: ModelEndpoint, sent: tuple[httpx.Request, ModelRequest], reader: PayloadReader
) -> AsyncGenerator[ModelEvent, None]:
    deadline = asyncio.get_running_loop().time() + endpoint.call_seconds
    request, call = sent
    async with (
        _open(client, endpoint, request, deadline, call) as response,
        aclosing(_payloads(response, reader, deadline)) as reads,
    ):
        async for payloads in reads:
            for event in reader.read_all(payloads):
                yield event
            if reader.is_done or reader.failure is not None:
                break
    if reader.failure is None:
        for event in reader.read_rest():
            yield event


def _finish_reason(reader: PayloadReader) -> FinishReason:
    # Several local servers say "stop" after tool calls.
    if reader.has_calls and reader.finish_reason in (None, "stop"):
        return "tool_calls"
    return reader.finish_reason or "stop"


def _size(event: ModelEvent) -> int:
    match event:
        case ModelText(delta) | ModelThought(delta):
            return len(delta.encode("utf-8", "replace"))
        case ModelToolCall():
            name = event.name if event.opens else ""
            return len((name + event.arguments_delta).encode("utf-8", "replace"))
        case _:
            return 0


def _estimate_prompt_tokens(request: httpx.Request, call: ModelRequest) -> int:
    """Estimated tokens of a request: its text, and a flat cost for each image."""
    drawn = sum(len(image.base64) for image in call.images)
    return _tokens(len(request.content) - drawn) + _IMAGE_TOKENS * len(call.images)


def _tokens(size: int) -> int:
    """An estimate from UTF-8 bytes, about right for both English and Chinese."""
    return math.ceil(size / _BYTES_PER_TOKEN)


@asynccontextmanager
async def _open(
    client: httpx.AsyncClient, endpoint: ModelEndpoint, request: httpx.Request, deadline: float, call: ModelRequest
) -> AsyncGenerator[httpx.Response, None]:
    try:
        async with asyncio.timeout_at(deadline):
            response = await _send(client, endpoint, request, call)
    except TimeoutError as error:
        raise model_failed(ModelFault.TOO_LONG) from error
    try:
        yield response
    finally:
        await response.aclose()


def _request(client: httpx.AsyncClient, endpoint: ModelEndpoint, call: ModelRequest) -> httpx.Request:
    if not (endpoint.key.isascii() and endpoint.key.isprintable()):
        raise model_failed(ModelFault.BAD_KEY)
    timeout = httpx.Timeout(endpoint.read_timeout_seconds, connect=endpoint.connect_timeout_seconds)
    headers = {"Accept": "text/event-stream", "Content-Type": "application/json", **call.headers}
    # JSON may bring in lone surrogates, which have no UTF-8 form.
    content = json.dumps(call.body, ensure_ascii=False).encode("utf-8", "replace")
    try:
        return client.build_request("POST", call.url, content=content, headers=headers, timeout=timeout)
    except httpx.InvalidURL as error:
        raise model_failed(ModelFault.BAD_ADDRESS) from error


async def _send(
    client: httpx.AsyncClient, endpoint: ModelEndpoint, request: httpx.Request, call: ModelRequest
) -> httpx.Response:
    attempt = 1
    while True:
        answer = await _try(client, request, call)
        if isinstance(answer, httpx.Response):
            return answer
        wait = answer.wait_seconds
        if wait is None:
            # Jitter: clients cut off together must not return together.
            wait = endpoint.backoff_seconds * 2 ** (attempt - 1) * _JITTER.uniform(0.5, 1)
        is_last = attempt >= endpoint.attempts or wait > endpoint.longest_wait_seconds
        if is_last or not answer.is_transient:
            raise answer.failure
        await asyncio.sleep(wait)
        attempt += 1


@dataclass(frozen=True, slots=True)
class _Refusal:
    failure: ModelFailed
    is_transient: bool
    wait_seconds: float | None = None


async def _try(client: httpx.AsyncClient, request: httpx.Request, call: ModelRequest) -> httpx.Response | _Refusal:
    try:
        response = await client.send(request, stream=True)
    except UrlNotAllowed as error:
        raise address_refused(error) from error
    except _UNANSWERED as error:
        if _is_about_tls(error):
            raise model_failed(ModelFault.TLS_FAILED) from error
        return _Refusal(model_failed(ModelFault.UNREACHABLE), is_transient=True)
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise model_failed(ModelFault.BAD_ADDRESS) from error
    except httpx.HTTPError as error:
        raise model_failed(_transport_fault(error)) from error
    if response.status_code == _OK and "text/html" not in response.headers.get("Content-Type", ""):
        return response
    try:
        return await _refusal(response, call)
    finally:
        await response.aclose()


async def _refusal(response: httpx.Response, call: ModelRequest) -> _Refusal:
    status = response.status_code
    if status == _OK:
        return _Refusal(model_failed(ModelFault.NOT_A_MODEL), is_transient=False)
    text = await _text(response)
    asks_usage = "stream_options" in call.body and status in _FIELD_REFUSALS
    if asks_usage and refuses_stream_options(text):
        without = StreamOptionsRefused(**fault_details(ModelFault.REFUSED, status))
        return _Refusal(without, is_transient=False)
    if "tools" in call.body and status in _FIELD_REFUSALS and refuses_tool_schema(text):
        complaint = ToolSchemaRefused(**fault_details(ModelFault.TOOL_SCHEMA_REFUSED, status))
        return _Refusal(complaint, is_transient=False)
    if call.offers_tools and status in _TOOL_REFUSALS and refuses_tools(text):
        refused = ToolsRefused(**fault_details(ModelFault.TOOLS_REFUSED, status))
        return _Refusal(refused, is_transient=False)
    if call.images and status in _TOOL_REFUSALS and refuses_images(text):
        return _Refusal(model_failed(ModelFault.IMAGES_REFUSED, status), is_transient=False)
    fault = classify_error(status, text)
    return _Refusal(
        model_failed(fault, status),
        is_transient=status in _RETRIED and fault is not ModelFault.NO_CREDIT,
        wait_seconds=_retry_after(response),
    )


async def _text(response: httpx.Response) -> str:
    body = b""
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= _ERROR_BODY_BYTES:
                break
    except httpx.HTTPError:
        return ""
    return body[:_ERROR_BODY_BYTES].decode("utf-8", "replace")


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


async def _payloads(
    response: httpx.Response, reader: PayloadReader, deadline: float
) -> AsyncGenerator[list[str], None]:
    """The ``data`` payloads of each network read; a non-streamed body is one payload."""
    decoder = SseDecoder()
    is_whole = "application/json" in response.headers.get("Content-Type", "")
    body = b""
    chunks = response.aiter_bytes()
    try:
        while (chunk := await _next(chunks, deadline)) is not None:
            if not is_whole:
                yield [event.data for event in decoder.feed(chunk)]
                continue
            body += chunk
            if len(body) > _WHOLE_BODY_BYTES:
                raise EventTooLarge
    except EventTooLarge as error:
        raise model_failed(ModelFault.EVENT_TOO_LARGE) from error
    except httpx.HTTPError as error:
        # After the finish reason, only usage can be lost.
        if reader.finish_reason is None:
            raise model_failed(_transport_fault(error)) from error
    yield [body.decode("utf-8", "replace")] if is_whole else [e.data for e in decoder.close()]


async def _next(chunks: AsyncIterator[bytes], deadline: float) -> bytes | None:
    """The next read, or a failure at the deadline, which keep-alive bytes don't extend."""
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(chunks, None)
    except TimeoutError as error:
        raise model_failed(ModelFault.TOO_LONG) from error


def _is_about_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _transport_fault(error: httpx.HTTPError) -> ModelFault:
    if isinstance(error, httpx.TimeoutException):
        return ModelFault.NO_ANSWER_IN_TIME
    return ModelFault.BROKE_OFF
