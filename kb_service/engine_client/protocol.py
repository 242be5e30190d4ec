"""The engine's protocol: length-prefixed msgpack frames over a Unix socket."""

# msgpack has no types; what it reads is validated by pydantic at once.
# pyright: reportUnknownMemberType=false

import asyncio
import struct
from typing import BinaryIO, Literal, TypeVar, cast

import msgpack
from pydantic import BaseModel, ConfigDict

from core.errors.requests import RequestTooLarge

# Arrays travel as little-endian bytes of these types.
FLOAT32, UINT32 = "<f4", "<u4"

MAX_FRAME_BYTES = 64 * 2**20
QUERY_SECONDS = 10.0
INGEST_SECONDS = 120.0

# Maximum input of the encoders.
_MAX_CHARACTERS = 100_000

UpkeepState = Literal["none", "copying", "optimising", "replaying", "swapping"]

_LENGTH = struct.Struct(">I")


class MalformedFrame(Exception):
    """A malformed frame; its connection is closed."""


class WireMessage(BaseModel):
    """Base of every body on the wire: unknown fields are ignored, types are not converted."""

    model_config = ConfigDict(frozen=True, strict=True)


class EmptyBody(WireMessage):
    """A body without fields."""


class RawBody(WireMessage):
    """A body passed on unparsed."""

    model_config = ConfigDict(extra="allow")


class EngineRequest(WireMessage):
    """One request; ``op`` ``cancel`` withdraws the request of the same id, without an answer."""

    id: int
    op: str
    body: dict[str, object]


class EngineResponse(WireMessage):
    """The answer to the request of this id: a body, or an error code with its details."""

    id: int
    ok: bool
    body: dict[str, object]
    code: int = 0


class EncoderHealth(WireMessage):
    """An encoder in the engine: ``backend`` is runtime and number format, or None."""

    model: str
    backend: str | None
    problem: str | None


class IndexHealth(WireMessage):
    """A model's shard.

    ``upkeep``: the maintenance in progress. ``optimised``: whether it ever was. ``written``, ``deleted``: points since
    then. ``own_process``: another process serves it. ``vectors_by``: the backend of its first vectors. ``problem``:
    the last error.
    """

    model: str
    points: int
    upkeep: UpkeepState
    written: int
    deleted: int
    optimised: bool
    own_process: bool
    vectors_by: str | None
    problem: str | None


class EngineHealth(WireMessage):
    """The engine's state.

    ``model`` to ``dtype`` describe the default encoder. ``points`` is None in server mode, ``waiting`` the number of
    unanswered requests.
    """

    state: Literal["starting", "ready", "draining"]
    pid: int
    model: str
    dimension: int
    backend: str | None
    dtype: str | None
    points: int | None
    waiting: int
    encoders: list[EncoderHealth] = []
    indexes: list[IndexHealth] = []


_Reply = TypeVar("_Reply", bound=WireMessage)


def pack_frame(message: WireMessage) -> bytes:
    """A frame: four bytes of length (big endian), then msgpack; RequestTooLarge above ``MAX_FRAME_BYTES``."""
    return _framed(message)


def pack_request(request_id: int, op: str, body: WireMessage) -> bytes:
    """The frame of an ``EngineRequest``, without a copy of its body."""
    return _framed({"id": request_id, "op": op, "body": body})


def pack_answer(request_id: int, body: WireMessage) -> bytes:
    """The frame of an ``EngineResponse``, without a copy of its body."""
    return _framed({"id": request_id, "ok": True, "body": body, "code": 0})


def _framed(content: object) -> bytes:
    packed = cast(bytes, msgpack.packb(content, default=_fields))
    if len(packed) > MAX_FRAME_BYTES:
        raise RequestTooLarge(limit=MAX_FRAME_BYTES)
    return _LENGTH.pack(len(packed)) + packed


def _fields(message: WireMessage) -> dict[str, object]:
    return message.__dict__ | (message.__pydantic_extra__ or {})


def encodable(text: str) -> str:
    """The text without lone surrogates, which can't be encoded as UTF-8."""
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


async def read_frame(reader: asyncio.StreamReader, shape: type[_Reply]) -> _Reply:
    """Read one frame of a known shape; MalformedFrame for anything else, IncompleteReadError at the end."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MAX_FRAME_BYTES:
        raise MalformedFrame
    return _unpacked(await reader.readexactly(length), shape)


def unpack_frame(file: BinaryIO, shape: type[_Reply]) -> _Reply:
    """Read one frame of a known shape from a file; MalformedFrame for anything else."""
    header = file.read(_LENGTH.size)
    if len(header) != _LENGTH.size:
        raise MalformedFrame
    return _unpacked(file.read(*_LENGTH.unpack(header)), shape)


def _unpacked(content: bytes, shape: type[_Reply]) -> _Reply:
    try:
        return shape.model_validate(msgpack.unpackb(content))
    # ValueError: msgpack's own errors and pydantic's; RecursionError: nesting bombs.
    except (ValueError, RecursionError) as error:
        raise MalformedFrame from error
