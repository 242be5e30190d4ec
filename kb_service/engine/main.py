"""Entry point of the engine: serve a socket until a signal, then drain."""

import asyncio
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import uvloop

from core.errors.base import AgentexError
from core.logging import configure_logging, get_logger
from core.settings import get_settings
from kb_service.engine.connections import Connections, listening_socket
from kb_service.engine.resources import load_resources
from kb_service.engine.server import Engine

_log = get_logger(__name__)


async def serve(path: Path, engine: Engine, *, stop_on: Sequence[signal.Signals]) -> int:
    """Listen at once, load, work until a signal, then drain; the exit code is 1 where the engine could not go on."""
    stop = asyncio.Event()
    for number in stop_on:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        with listening_socket(path) as listener:
            await _work(engine, listener, stop)
    except AgentexError as error:
        _log.error("engine.failed", reason=error.details.get("reason"), exc_info=error.__cause__)
        return 1
    except OSError as error:
        _log.error("engine.failed", reason=error.strerror, exc_info=error)
        return 1
    _log.info("engine.stopped")
    return 0


async def _work(engine: Engine, listener: socket.socket, stop: asyncio.Event) -> None:
    connections = Connections(engine)
    server = await connections.listen(listener)
    working = asyncio.create_task(engine.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        _log.info("engine.draining")
        server.close()
        await engine.drain()
    finally:
        working.cancel()
        stopping.cancel()
        await engine.close()
        await connections.finish()


def main() -> int:
    """Run the engine; returns the process's exit code."""
    settings = get_settings()
    configure_logging(settings, part="engine")
    engine = Engine(settings, lambda: load_resources(settings))
    stop_on = (signal.SIGTERM, signal.SIGINT)
    return uvloop.run(serve(settings.effective_engine_socket, engine, stop_on=stop_on))
