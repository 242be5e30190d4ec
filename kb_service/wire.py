"""The engine's wire: length-prefixed msgpack frames over a unix socket, and its client."""

# msgpack has no types; what it reads is validated by pydantic at once.
# pyright: reportUnknownMemberType=false

import asyncio
import struct
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar, cast

import msgpack
from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import (
    AgentexError,
    EngineUnavailable,
    ErrorCode,
    InvalidRequest,
    InvalidVector,
    RequestTooLarge,
    ShuttingDown,
    StorageFull,
    VectorIndexUnavailable,
)

# Arrays travel as little-endian bytes of these types.
FLOAT32, UINT32 = "<f4", "<u4"

MAX_FRAME_BYTES = 64 * 2**20
QUERY_SECONDS = 10.0
INGEST_SECONDS = 120.0
_HEALTH_SECONDS = 2.0
# How long a call waits for a socket to appear: a supervisor restarts a dead engine in less.
_CONNECT_SECONDS = 3.0
_RETRY_SECONDS = 0.05

# Encoders read no more of one text.
_MAX_CHARACTERS = 100_000

UpkeepState = Literal["none", "copying", "optimising", "replaying", "swapping"]

_LENGTH = struct.Struct(">I")
_ERRORS: tuple[type[AgentexError], ...] = (
    EngineUnavailable,
    InvalidVector,
    RequestTooLarge,
    ShuttingDown,
    StorageFull,
    VectorIndexUnavailable,
)
_ERROR_OF_CODE = {int(error.code): error for error in _ERRORS}


class MalformedFrame(Exception):
    """Bytes that are no frame of ours; the connection they came on is closed."""


class Message(BaseModel):
    """Base of every body on the wire: unknown fields are ignored, types are not converted."""

    model_config = ConfigDict(frozen=True, strict=True)


class Empty(Message):
    """A body without fields."""


class AnyFields(Message):
    """A body that is handed on as it came."""

    model_config = ConfigDict(extra="allow")


class Request(Message):
    """One request; ``op`` ``cancel`` takes back the request of the same id, without an answer."""

    id: int
    op: str
    body: dict[str, object]


class Response(Message):
    """The answer to the request of this id: a body, or an error code with its details."""

    id: int
    ok: bool
    body: dict[str, object]
    code: int = 0


class EncoderHealth(Message):
    """An encoder that runs in the engine: ``backend`` is runtime and number format, or None."""

    model: str
    backend: str | None
    problem: str | None


class IndexHealth(Message):
    """A model's shard.

    ``upkeep`` is what is being done for it; ``optimised`` says whether it ever was, ``written``
    and ``deleted`` count points since then; ``own_process`` says that a process of its own serves it; ``vectors_by`` names
    the backend that made its first vectors; ``problem`` is what went wrong last.
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


class EngineHealth(Message):
    """What the engine is and how far it has come.

    ``model`` to ``dtype`` speak of the default encoder. ``points`` is None in server mode,
    ``waiting`` the number of requests not yet answered.
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


_Reply = TypeVar("_Reply", bound=Message)


def pack_frame(message: Message) -> bytes:
    """A frame: four bytes of length (big endian), then msgpack.

    Raises:
        RequestTooLarge: The message is larger than ``MAX_FRAME_BYTES``.
    """
    return _framed(message)


def pack_request(request_id: int, op: str, body: Message) -> bytes:
    """The frame of a ``Request`` with this body, which is not copied on the way.

    Raises:
        RequestTooLarge: as above.
    """
    return _framed({"id": request_id, "op": op, "body": body})


def pack_answer(request_id: int, body: Message) -> bytes:
    """The frame of a ``Response`` with this body, which is not copied on the way.

    Raises:
        RequestTooLarge: as above.
    """
    return _framed({"id": request_id, "ok": True, "body": body, "code": 0})


def _framed(content: object) -> bytes:
    packed = cast(bytes, msgpack.packb(content, default=_fields))
    if len(packed) > MAX_FRAME_BYTES:
        raise RequestTooLarge(limit=MAX_FRAME_BYTES)
    return _LENGTH.pack(len(packed)) + packed


def _fields(message: Message) -> dict[str, object]:
    return message.__dict__ | (message.__pydantic_extra__ or {})


def readable(text: str) -> str:
    """A text as encoders are sent it: lone surrogates can't be written to the wire."""
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


async def read_frame(reader: asyncio.StreamReader, shape: type[_Reply]) -> _Reply:
    """Read one frame of a known shape.

    Raises:
        MalformedFrame: Not a frame, too large, or of another shape.
        asyncio.IncompleteReadError: The other side closed the connection.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MAX_FRAME_BYTES:
        raise MalformedFrame
    return _unpacked(await reader.readexactly(length), shape)


def unpack_frame(file: BinaryIO, shape: type[_Reply]) -> _Reply:
    """Read one frame of a known shape from a file.

    Raises:
        MalformedFrame: Not a whole frame, or of another shape.
    """
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


class _Link:
    """One connection and the requests that wait for an answer on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Response]] = {}
        self._reading = asyncio.create_task(self._read())

    @property
    def broken(self) -> bool:
        """Whether nothing more will come."""
        return self._writer.is_closing() or self._reading.done()

    async def exchange(self, request_id: int, op: str, body: Message) -> Response:
        """Send a request and wait for its answer; taken back when the caller is cancelled.

        Raises:
            OSError: The connection broke.
        """
        frame = pack_request(request_id, op, body)
        if self.broken:
            raise ConnectionResetError
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            self._writer.write(frame)
            await self._writer.drain()
            return await answer
        except OSError:
            self._writer.close()
            raise
        except asyncio.CancelledError:
            if not self.broken:
                self._writer.write(pack_request(request_id, "cancel", Empty()))
            raise
        finally:
            self._waiting.pop(request_id, None)

    async def close(self) -> None:
        """Hang up; requests under way fail."""
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        try:
            while True:
                response = await read_frame(self._reader, Response)
                answer = self._waiting.get(response.id)
                if answer is not None and not answer.done():
                    answer.set_result(response)
        except (MalformedFrame, asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ConnectionResetError())


class EngineClient:
    """One multiplexed connection to the engine, shared by any number of tasks of one event loop.

    It connects at the first call and again after the engine was restarted. A request whose
    connection broke is sent once more: every operation of the engine may be repeated.

    Args:
        socket_path: ``settings.effective_engine_socket``.
    """

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path
        self._ids = count(1)
        self._connecting = asyncio.Lock()
        self._link: _Link | None = None

    async def health(self) -> EngineHealth:
        """The engine's state, at once also while it starts.

        Raises:
            EngineUnavailable: Nobody answers on the socket.
        """
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                return await self._exchange(await self._connect(), "health", Empty(), EngineHealth)
        except (OSError, TimeoutError) as error:
            raise EngineUnavailable(reason="the engine does not answer") from error

    async def call(
        self, op: str, body: Message, reply: type[_Reply], *, timeout_seconds: float
    ) -> _Reply:
        """Send one request and wait for its answer.

        Raises:
            EngineUnavailable: No answer in time, or the connection broke twice.
            AgentexError: What the engine answered with.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                link = await self._connect_patiently()
                try:
                    return await self._exchange(link, op, body, reply)
                except OSError:
                    link = await self._connect_patiently()
                    return await self._exchange(link, op, body, reply)
        except TimeoutError as error:
            raise EngineUnavailable(reason="the engine did not answer in time") from error
        except OSError as error:
            raise EngineUnavailable(reason="the engine does not answer") from error

    async def close(self) -> None:
        """Close the connection; calls under way fail or connect again."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _connect_patiently(self) -> _Link:
        deadline = asyncio.get_running_loop().time() + _CONNECT_SECONDS
        while True:
            try:
                return await self._connect()
            except OSError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def _connect(self) -> _Link:
        async with self._connecting:
            if self._link is None or self._link.broken:
                self._link = _Link(*await asyncio.open_unix_connection(self._path))
            return self._link

    async def _exchange(self, link: _Link, op: str, body: Message, reply: type[_Reply]) -> _Reply:
        response = await link.exchange(next(self._ids), op, body)
        if not response.ok:
            raise _error(response)
        return _validated(reply, response.body)


def _validated(reply: type[_Reply], body: Mapping[str, object]) -> _Reply:
    try:
        return reply.model_validate(body)
    except ValidationError as error:
        raise EngineUnavailable(reason="the engine speaks another version") from error


def _error(response: Response) -> AgentexError:
    kind = _ERROR_OF_CODE.get(response.code)
    if kind is not None:
        return kind(**response.body)
    if response.code == int(ErrorCode.INVALID_REQUEST):
        return InvalidRequest(str(response.body.get("field")), str(response.body.get("error")))
    return EngineUnavailable(reason="the engine failed")
