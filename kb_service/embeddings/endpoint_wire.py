"""What goes to an OpenAI-compatible ``/embeddings`` endpoint, and what comes back."""

import base64
import binascii
from collections.abc import Sequence

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from core.errors import EmbeddingsUnavailable, InvalidVector
from kb_service.embeddings.catalog import EmbeddingModel
from kb_service.embeddings.protocol import Vectors
from kb_service.engine.protocol import FLOAT32


class BadAnswer(Exception):
    """Bytes that are no whole answer: worth asking again."""


class _Embedding(BaseModel):
    embedding: list[float] | str
    index: int | None = None


class _Answer(BaseModel):
    data: list[_Embedding]


def request_body(model: EmbeddingModel, asked_for: str, texts: Sequence[str]) -> dict[str, object]:
    """The body of a request.

    Args:
        model: its source may ask for shorter vectors than the model's own.
        asked_for: the model's name at the endpoint.
        texts: what to encode.
    """
    body: dict[str, object] = {"model": asked_for, "input": list(texts), "encoding_format": "float"}
    if model.shortened:
        body["dimensions"] = model.dimension
    return body


def read_vectors(response: httpx.Response, model: EmbeddingModel, count: int) -> Vectors:
    """The vectors of an answer, in the order of the texts, each of length 1.

    Raises:
        BadAnswer: no JSON of this shape, or not one vector for each text.
        InvalidVector: vectors of another length, or numbers that are none.
    """
    try:
        rows = _Answer.model_validate_json(response.content).data
        vectors = [_numbers(row.embedding) for row in rows]
    except (ValidationError, binascii.Error, ValueError) as error:
        raise BadAnswer("the answer is not what an embedding endpoint sends") from error
    order = [position if row.index is None else row.index for position, row in enumerate(rows)]
    if sorted(order) != list(range(count)):
        raise BadAnswer(f"the answer has {len(rows)} vectors for {count} texts")
    for vector in vectors:
        if vector.shape != (model.dimension,):
            raise InvalidVector(
                model=model.name,
                error=f"the endpoint sends {vector.size} numbers, the settings say "
                f"{model.dimension}",
            )
    matrix = np.empty((count, model.dimension))
    for position, vector in zip(order, vectors, strict=True):
        matrix[position] = vector
    return unit(matrix, model)


def unit(matrix: NDArray[np.float64], model: EmbeddingModel) -> Vectors:
    """The rows scaled to length 1.

    Raises:
        InvalidVector: a row is all zeros or has a number that is not finite.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise InvalidVector(model=model.name, error="a vector is zero or not finite")
    return (matrix / lengths).astype(np.float32)


def unavailable(model: EmbeddingModel, reason: str) -> EmbeddingsUnavailable:
    """The error of an endpoint that gives no usable answer."""
    return EmbeddingsUnavailable(model=model.name, reason=reason)


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if isinstance(embedding, str):
        embedded = base64.b64decode(embedding, validate=True)
        return np.frombuffer(embedded, dtype=FLOAT32).astype(np.float64)
    # In double precision: a number beyond single precision is refused, not made infinite.
    return np.asarray(embedding, dtype=np.float64)
