"""Server-sent events of work that takes a while: how far it is, and what came of it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import BaseModel
from pydantic_core import to_json

from api.errors import error_body
from core.errors import AgentexError


class Progress(BaseModel):
    """How much of the work is done, in pieces of it."""

    done: int
    total: int


def event(name: str, value: object) -> bytes:
    """A server-sent event with a model or a dataclass as JSON."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(value))


async def told(events: AsyncGenerator[bytes], language: str) -> AsyncGenerator[bytes]:
    """The events; what goes wrong after the first byte can only be told as one more, ``error``.

    Args:
        events: of the work.
        language: the request's ``Accept-Language``.
    """
    try:
        # Closed at once where the reader has left: the work ends with its stream.
        async with aclosing(events):
            async for one in events:
                yield one
    except AgentexError as error:
        yield event("error", error_body(error.code, error.details, language=language))
