"""Factory of vector indexes."""

from core.settings import Settings
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import VectorIndex

_TIMEOUT_SECONDS = 10


def open_vector_index(settings: Settings, engine: EngineClient, *, model: str, dimension: int) -> VectorIndex:
    """The index of one model, on a Qdrant server if a URL is set, else in the engine; the caller closes its client."""
    if settings.qdrant_url is None:
        return EngineVectorIndex(engine, model, dimension)
    # Loading gRPC takes half a second: not in embedded mode.
    from qdrant_client import AsyncQdrantClient  # noqa: PLC0415

    from kb_service.vector_index.qdrant_server import QdrantVectorIndex  # noqa: PLC0415

    key = settings.qdrant_api_key
    client = AsyncQdrantClient(
        url=settings.qdrant_url,
        api_key=key.get_secret_value() if key else None,
        timeout=_TIMEOUT_SECONDS,
        # It would request the server's version here, blocking the event loop.
        check_compatibility=False,
    )
    return QdrantVectorIndex(client, model, dimension)
