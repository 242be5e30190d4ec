"""Factory of encoders and token counters."""

import httpx

from kb_service.embeddings.catalog import DEFAULT, EmbeddingModel
from kb_service.embeddings.engine_encoder import EngineEncoder
from kb_service.embeddings.openai import EndpointEncoder
from kb_service.embeddings.protocol import Encoder
from kb_service.engine_client.client import EngineClient
from kb_service.text.token_counter import TokenCounter, token_counter


def open_encoder(engine: EngineClient, model: EmbeddingModel = DEFAULT) -> Encoder:
    """An encoder in the engine; the caller closes the client."""
    return EngineEncoder(engine, model)


def open_endpoint_encoder(http: httpx.AsyncClient, model: EmbeddingModel, counter: TokenCounter) -> Encoder:
    """An encoder behind an endpoint, called without the engine; ``counter`` as of ``token_counter_for``."""
    return EndpointEncoder(model, http, counter)


def token_counter_for(model: EmbeddingModel) -> TokenCounter:
    """A model's token counter: its own tokenizer where its folder has one.

    Otherwise the built-in model's: close for English, and a token a character for Chinese, which no known tokenizer
    exceeds by much.
    """
    folder = model.source.path if model.source is not None else None
    if folder is not None and (folder.expanduser() / "tokenizer.json").is_file():
        return token_counter(folder.expanduser() / "tokenizer.json")
    return token_counter()
