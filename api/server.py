"""The server of the API process."""

import asyncio
import resource
import socket
import sys
from typing import cast

import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.container import AppContext
from core.logging import configure_logging, get_logger
from core.settings import Settings, get_settings

log = get_logger(__name__)

_CANNOT_START = 3
# Where the system sets no limit, or one that only costs tables.
_MOST_FILES = 65_536
# Longer than load balancers and clients keep one that is idle (60 s is usual): who hangs up first
# must not be the server, or a request may be under way to it at that moment.
_KEEP_ALIVE_SECONDS = 75


class DrainingServer(uvicorn.Server):
    """Ends the agents' runs while those who follow them are still connected.

    Uvicorn alone would wait for their endless responses, cut them off and only then end the runs.
    """

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._app = app
        self._drain_seconds = settings.drain_seconds
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                loop="uvloop",
                http="httptools",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                forwarded_allow_ips=settings.trusted_proxies,
                # Before the supervisor's patience ends, so that connections are closed in order.
                timeout_graceful_shutdown=max(1, int(settings.drain_seconds * 3 / 4)),
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain runs and connections side by side, then close the context."""
        context = cast(AppContext, self._app.state.context)
        context.streams.feeds.close()
        draining = asyncio.create_task(context.agents.runs.drain(self._drain_seconds / 2))
        await super().shutdown(sockets)
        await asyncio.wait({draining})


def raise_open_files() -> None:
    """Raise the limit of open files.

    A run has a connection of its reader and one of its model: the usual soft limit of 1,024, made for ``select``, would
    end at some 500 runs.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError) as error:
        # Some systems have a limit that they do not tell: fewer runs fit, but these are served.
        log.warning("api.few_files", most=soft, error=type(error).__name__)


def main() -> None:
    """Serve until SIGTERM, then let requests and runs finish."""
    settings = get_settings()
    configure_logging(settings, part="api")
    raise_open_files()
    server = DrainingServer(create_app(settings), settings)
    server.run()
    if not server.started:
        sys.exit(_CANNOT_START)
