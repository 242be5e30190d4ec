"""The engine's listening socket and its clients' connections."""

import asyncio
import contextlib
import fcntl
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from core.errors.base import AgentexError
from core.errors.server import EngineUnavailable
from core.logging import get_logger
from kb_service.engine.server import Engine
from kb_service.engine_client.protocol import (
    EngineRequest,
    EngineResponse,
    MalformedFrame,
    pack_answer,
    pack_frame,
    read_frame,
)

_log = get_logger(__name__)

# Concurrent requests per connection; further ones stay in the socket's buffer.
_MOST_AT_ONCE = 256


class Connection:
    """One client's connection; its requests end with it."""

    def __init__(self, engine: Engine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._engine = engine
        self._reader = reader
        self._writer = writer
        self._running: dict[int, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def serve(self) -> None:
        """Read requests until the client disconnects or sends a malformed frame."""
        try:
            while True:
                await self._accept(await read_frame(self._reader, EngineRequest))
        except MalformedFrame:
            _log.warning("engine.malformed_frame")
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for task in self._running.values():
                task.cancel()
            self._writer.close()

    async def finish(self) -> None:
        if self._running:
            await asyncio.wait(list(self._running.values()))

    async def _accept(self, request: EngineRequest) -> None:
        if request.op == "cancel":
            if request.id in self._running:
                self._running[request.id].cancel()
            return
        if request.id in self._running:
            raise MalformedFrame
        await self._room.acquire()
        task = asyncio.create_task(self._respond(request))
        self._running[request.id] = task
        task.add_done_callback(lambda _task: self._forget(request.id))

    def _forget(self, number: int) -> None:
        del self._running[number]
        self._room.release()

    async def _respond(self, request: EngineRequest) -> None:
        frame = await self._answer(request)
        with contextlib.suppress(OSError):
            self._writer.write(frame)
            await self._writer.drain()

    async def _answer(self, request: EngineRequest) -> bytes:
        try:
            body = await self._engine.answer(request)
            return pack_answer(request.id, body)
        except AgentexError as error:
            if error.status >= AgentexError.status:
                _log.warning("engine.request_failed", op=request.op, exc_info=error)
            return pack_frame(_refused(request, error))
        # A process edge: one broken request must not end the others.
        except Exception:  # noqa: BLE001
            _log.exception("engine.request_broke", op=request.op)
            return pack_frame(_refused(request, AgentexError()))


class Connections:
    """All open connections, which a shutdown drains."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[Connection, asyncio.StreamWriter] = {}

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        return await asyncio.start_unix_server(self._serve, sock=listener)

    async def finish(self) -> None:
        """Answer every accepted request, then disconnect."""
        for connection, writer in list(self._open.items()):
            await connection.finish()
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(self._engine, reader, writer)
        self._open[connection] = writer
        try:
            await connection.serve()
        finally:
            del self._open[connection]


def _refused(request: EngineRequest, error: AgentexError) -> EngineResponse:
    details: dict[str, object] = {key: value for key, value in error.details.items() if isinstance(value, str | int)}
    return EngineResponse(id=request.id, ok=False, body=details, code=error.code)


_BACKLOG = 128


@contextmanager
def listening_socket(path: Path) -> Generator[socket.socket]:
    """A bound, listening socket of mode 0600, removed on leaving.

    Its folder is created with mode 0700 when missing. A lock file beside the socket decides between engines that start
    at once; the kernel releases it when its holder dies.

    Raises:
        EngineUnavailable: Another engine holds the lock or answers on the socket.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineUnavailable(reason="another engine owns this socket") from error
        if _answers(path):
            raise EngineUnavailable(reason="another process answers on this socket")
        path.unlink(missing_ok=True)
        try:
            with _bound(path) as listener:
                yield listener
        finally:
            path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    # The file must never be open to others, not even between bind and chmod.
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener
