"""``agentex worker|engine|api|migrate``: one part in the foreground, for scaled-out shapes."""

from cli.server.exec import become


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
