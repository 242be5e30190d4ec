"""``agentex serve``, ``worker``, ``engine``, ``api`` and ``migrate``: the processes."""

from pathlib import Path
from typing import Annotated

import typer

from cli.server.exec import become
from core.settings import override_settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address the API listens on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port of the API; 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of all data.")] = None,
    verbose: Annotated[bool, typer.Option(help="Show every log line of every part.")] = False,
) -> None:
    """Start Agentex and keep it running until Ctrl-C.

    Exit codes: 0 after a stop, 1 when it can't start, 3 when the data folder is in use, 4 when
    the address is.
    """
    folder = data_dir.expanduser().resolve() if data_dir else None
    override_settings(host=host, port=port, data_dir=folder)
    become("cli.supervisor", *(["--verbose"] if verbose else []))


def worker() -> None:
    """Run one worker, which ingests documents."""
    become("ingestion.worker")


def engine() -> None:
    """Run the engine: the encoder, and the embedded vector index where no server is set."""
    become("kb_service.engine")


def api() -> None:
    """Run the HTTP API."""
    become("api")


def migrate() -> None:
    """Bring the database to this version and create what a first start needs."""
    become("cli.server.migrate")
