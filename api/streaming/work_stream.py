"""Server-sent events of long work: progress, then the result."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from fastapi import Request
from pydantic_core import to_json
from starlette.requests import ClientDisconnect

from api.http.errors import error_body
from api.http.responses import ResponseModel
from api.streaming.framing import EVENT_STREAM, stream_response
from api.streaming.response import EventStream
from core.errors.base import AgentexError

ResultT = TypeVar("ResultT")


class Progress(ResponseModel):
    """How much of the work is done, in pieces of it."""

    done: int
    total: int


def sse_event(name: str, value: object) -> bytes:
    """A server-sent event with a model or a dataclass as JSON."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(value))


async def with_error_event(events: AsyncGenerator[bytes], language: str) -> AsyncGenerator[bytes]:
    """The events; an error after the first byte becomes one more event, ``error``."""
    try:
        # Closed at once when the client disconnects: the work ends with its stream.
        async with aclosing(events):
            async for block in events:
                yield block
    except AgentexError as error:
        yield sse_event("error", error_body(type(error), error.details, language=language))


async def run_with_progress(request: Request, pieces: AsyncGenerator[Progress | ResultT]) -> ResultT | EventStream:
    """The result of some work, or a stream of its progress and result if the caller accepts one.

    Closing the connection ends the work. ``pieces`` must yield progress at least once a second, and finally the result.
    """
    if EVENT_STREAM in request.headers.get("accept", ""):
        return stream_response(with_error_event(_events(pieces), request.headers.get("accept-language", "")))
    async with aclosing(pieces):
        async for piece in pieces:
            if not isinstance(piece, Progress):
                return piece
            if await request.is_disconnected():
                break
    raise ClientDisconnect


async def _events(pieces: AsyncGenerator[Progress | ResultT]) -> AsyncGenerator[bytes]:
    last: Progress | None = None
    async with aclosing(pieces):
        async for piece in pieces:
            if piece == last:
                # Nothing new, but the stream checks whether its client is still there.
                yield b""
            elif isinstance(piece, Progress):
                last = piece
                yield sse_event("progress", piece)
            else:
                yield sse_event("result", piece)
