"""Embedding spaces: the encoder, the index and the token counter of each model."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx

from core.errors.server import EmbeddingModelNotServed, EmbeddingModelUnusable
from core.settings import Settings
from kb_service.embeddings.catalog import EmbeddingModel, served_models
from kb_service.embeddings.engine_encoder import EngineEncoder
from kb_service.embeddings.factory import open_encoder, open_endpoint_encoder, token_counter_for
from kb_service.embeddings.protocol import Encoder
from kb_service.engine_client.client import EngineClient
from kb_service.failures import describe_model_outage
from kb_service.text.token_counter import TokenCounter
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.factory import open_vector_index
from kb_service.vector_index.protocol import EncodingIndex, VectorIndex


@dataclass(frozen=True)
class EmbeddingSpace:
    """One embedding model in use.

    Args:
        index: holds the points of every knowledge base that uses it.
        counter: counts tokens as its tokenizer does, for splitters.
    """

    model: EmbeddingModel
    encoder: Encoder
    index: VectorIndex
    counter: TokenCounter

    @property
    def encoding_index(self) -> EncodingIndex | None:
        """The index, if it can encode and search in one request; else None."""
        if isinstance(self.index, EngineVectorIndex) and isinstance(self.encoder, EngineEncoder):
            return self.index
        return None


class EmbeddingSpaces(Mapping[str, EmbeddingSpace]):
    """The spaces of all served models by name, the default model's first."""

    def __init__(self, spaces: Sequence[EmbeddingSpace], http: httpx.AsyncClient | None = None) -> None:
        self._http = http
        self._by_name = {space.model.name: space for space in spaces}

    @property
    def default(self) -> EmbeddingSpace:
        return next(iter(self._by_name.values()))

    def __getitem__(self, model: str) -> EmbeddingSpace:
        return self._by_name[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def of(self, model: str) -> EmbeddingSpace:
        """The space of a knowledge base's model.

        Raises:
            EmbeddingModelNotServed: the operator has removed the model from the settings.
        """
        space = self._by_name.get(model)
        if space is None:
            words = describe_model_outage(EmbeddingModelNotServed(), model)
            remedy = {"next_action": words.next_action, "next_action_zh": words.next_action_zh}
            raise EmbeddingModelNotServed(model=model, served=list(self), **remedy)
        return space

    async def count(self) -> int:
        """The points of all indexes except those that the engine could not open."""
        total = 0
        for space in self._by_name.values():
            with suppress(EmbeddingModelUnusable):
                total += await space.index.count()
        return total

    async def delete_documents(self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None) -> None:
        """Delete points of documents in every index; see ``VectorIndex.delete_documents``.

        An index that the engine could not open must not prevent deletions: once it can be opened again, the sweep
        removes its orphaned points.
        """
        for space in self._by_name.values():
            with suppress(EmbeddingModelUnusable):
                await space.index.delete_documents(document_ids, revisions=revisions)

    async def delete_knowledge_base(self, scope: str) -> None:
        """Delete all points of an index scope in every index that can be opened."""
        for space in self._by_name.values():
            with suppress(EmbeddingModelUnusable):
                await space.index.delete_knowledge_base(scope)

    async def close(self) -> None:
        """Close every index and the HTTP client; the engine's client belongs to the caller."""
        for space in self._by_name.values():
            await space.index.close()
        if self._http is not None:
            await self._http.aclose()


def open_spaces(settings: Settings, engine: EngineClient) -> EmbeddingSpaces:
    """The spaces of all models that this installation serves; connects to nothing yet.

    Raises:
        UnusableSetting: a model's capabilities are not known.
    """
    models = served_models(settings)
    # An endpoint's key must not follow a redirect to another host.
    http = httpx.AsyncClient(follow_redirects=False) if any(map(_is_endpoint, models)) else None

    def open_space(model: EmbeddingModel) -> EmbeddingSpace:
        counter = token_counter_for(model)
        if http is not None and _is_endpoint(model):
            encoder = open_endpoint_encoder(http, model, counter)
        else:
            encoder = open_encoder(engine, model)
        index = open_vector_index(settings, engine, model=model.name, dimension=model.dimension)
        return EmbeddingSpace(model, encoder, index, counter)

    return EmbeddingSpaces([open_space(model) for model in models], http)


def _is_endpoint(model: EmbeddingModel) -> bool:
    return model.source is not None and model.source.kind == "endpoint"
