"""The engine, from its settings to its exit code."""

import signal

import uvloop

from core.logging import configure_logging
from core.settings import get_settings
from kb_service.engine.main import serve
from kb_service.engine.resources import load
from kb_service.engine.server import Engine


def main() -> int:
    """Run the engine; returns the process's exit code."""
    settings = get_settings()
    configure_logging(settings, part="engine")
    engine = Engine(settings, lambda: load(settings))
    stop_on = (signal.SIGTERM, signal.SIGINT)
    return uvloop.run(serve(settings.effective_engine_socket, engine, stop_on=stop_on))
