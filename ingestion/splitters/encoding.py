"""The knowledge base's encoder as splitters see it, from their threads."""

from functools import partial

from core.threads import StopFlag
from ingestion.splitters.base import PassageEmbedder
from kb_service.embeddings.protocol import Encoder


def blocking_embed(encoder: Encoder, stop: StopFlag, *, account: str) -> PassageEmbedder:
    """What encodes texts for a splitter's thread; account as in ``Encoder.embed_passages``."""
    return lambda texts: stop.wait_for(partial(encoder.embed_passages, texts, account=account))
