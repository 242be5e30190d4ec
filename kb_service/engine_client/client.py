"""Client of the engine: one shared connection, and early errors when the engine hangs."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, RequestTooLarge
from core.errors.server import (
    EmbeddingModelUnusable,
    EngineUnavailable,
    InvalidVector,
    ShuttingDown,
    StorageFull,
    VectorIndexUnavailable,
)
from kb_service.engine_client.protocol import (
    QUERY_SECONDS,
    EmptyBody,
    EngineHealth,
    EngineResponse,
    MalformedFrame,
    WireMessage,
    pack_request,
    read_frame,
)

_HEALTH_SECONDS = 2.0
# How long a call waits for a socket: a supervisor restarts a dead engine faster.
_CONNECT_SECONDS = 2.5
# A busy or loading engine reports its health at once. A question without an answer for so long asks for it, and gives
# up on a silent engine: within three seconds in all.
_DOUBT_SECONDS = 1.5
_LIFE_SECONDS = 1.0
_RETRY_SECONDS = 0.05

_ERRORS: tuple[type[AgentexError], ...] = (
    EmbeddingModelUnusable,
    EngineUnavailable,
    InvalidVector,
    RequestTooLarge,
    ShuttingDown,
    StorageFull,
    VectorIndexUnavailable,
)
_ERROR_OF_CODE = {error.code: error for error in _ERRORS}

_Reply = TypeVar("_Reply", bound=WireMessage)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[EngineResponse]] = {}
        self._doubts: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    @property
    def broken(self) -> bool:
        return self._writer.is_closing() or self._reading.done()

    async def exchange(self, op: str, body: WireMessage, *, doubted: bool = False) -> EngineResponse:
        """Send a request, withdrawn on cancellation; ``doubted`` gives up early on an engine that doesn't answer
        ``health``.
        """
        request_id = next(self._ids)
        frame = pack_request(request_id, op, body)
        if self.broken:
            raise ConnectionResetError
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[EngineResponse] = loop.create_future()
        self._waiting[request_id] = answer
        doubt = loop.call_later(_DOUBT_SECONDS, self._doubt, answer) if doubted else None
        try:
            self._writer.write(frame)
            await self._writer.drain()
            return await answer
        except (asyncio.CancelledError, TimeoutError):
            if not self.broken:
                self._writer.write(pack_request(request_id, "cancel", EmptyBody()))
            raise
        except OSError:
            self._writer.close()
            raise
        finally:
            self._waiting.pop(request_id, None)
            if doubt is not None:
                doubt.cancel()

    def _doubt(self, answer: asyncio.Future[EngineResponse]) -> None:
        task = asyncio.create_task(self._look_for_life(answer))
        self._doubts.add(task)
        task.add_done_callback(self._doubts.discard)

    async def _look_for_life(self, answer: asyncio.Future[EngineResponse]) -> None:
        # The cause of the break is passed on to all waiting requests.
        with suppress(OSError):
            while not answer.done():
                try:
                    async with asyncio.timeout(_LIFE_SECONDS):
                        await self.exchange("health", EmptyBody())
                except TimeoutError as silence:
                    if not answer.done():
                        answer.set_exception(silence)
                    return
                await asyncio.wait([answer], timeout=_DOUBT_SECONDS)

    async def close(self) -> None:
        tasks = [self._reading, *self._doubts]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _read(self) -> None:
        try:
            while True:
                response = await read_frame(self._reader, EngineResponse)
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

    It connects at the first call and again after a restart of the engine. A request whose connection broke is sent
    once more: every operation of the engine is idempotent.
    """

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path
        self._connecting = asyncio.Lock()
        self._link: _Connection | None = None

    async def health(self) -> EngineHealth:
        """The engine's state, at once also during its start; EngineUnavailable when nothing answers."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                return await self._exchange(await self._connect(), "health", EmptyBody(), EngineHealth)
        except (OSError, TimeoutError) as error:
            raise EngineUnavailable(reason="the engine does not answer") from error

    async def call(self, op: str, body: WireMessage, reply: type[_Reply], *, timeout_seconds: float) -> _Reply:
        """Send one request and wait for its answer.

        Calls of at most ``QUERY_SECONDS`` are interactive: they fail early when the engine hangs.

        Raises:
            EngineUnavailable: No answer in time, or the connection broke twice.
            AgentexError: The engine's own error.
        """
        doubted = timeout_seconds <= QUERY_SECONDS
        try:
            async with asyncio.timeout(timeout_seconds):
                link = await self._connect_patiently()
                try:
                    return await self._exchange(link, op, body, reply, doubted=doubted)
                # TimeoutError is an OSError, but the connection is intact.
                except TimeoutError:
                    raise
                except OSError:
                    link = await self._connect_patiently()
                    return await self._exchange(link, op, body, reply, doubted=doubted)
        except TimeoutError as error:
            raise EngineUnavailable(reason="the engine did not answer in time") from error
        except OSError as error:
            raise EngineUnavailable(reason="the engine does not answer") from error

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _connect_patiently(self) -> _Connection:
        deadline = asyncio.get_running_loop().time() + _CONNECT_SECONDS
        while True:
            try:
                return await self._connect()
            except OSError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def _connect(self) -> _Connection:
        async with self._connecting:
            if self._link is None or self._link.broken:
                self._link = _Connection(*await asyncio.open_unix_connection(self._path))
            return self._link

    async def _exchange(
        self, link: _Connection, op: str, body: WireMessage, reply: type[_Reply], *, doubted: bool = False
    ) -> _Reply:
        response = await link.exchange(op, body, doubted=doubted)
        if not response.ok:
            raise _error(response)
        return _validated(reply, response.body)


def _validated(reply: type[_Reply], body: Mapping[str, object]) -> _Reply:
    try:
        return reply.model_validate(body)
    except ValidationError as error:
        raise EngineUnavailable(reason="the engine speaks another version") from error


def _error(response: EngineResponse) -> AgentexError:
    kind = _ERROR_OF_CODE.get(response.code)
    if kind is not None:
        return kind(**response.body)
    if response.code == InvalidRequest.code:
        return InvalidRequest(str(response.body.get("field")), str(response.body.get("error")))
    return EngineUnavailable(reason="the engine failed")
