"""An encoder behind an OpenAI-compatible ``/embeddings`` endpoint."""

import asyncio
import base64
import binascii
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from core.errors.server import EmbeddingsRefused, EmbeddingsUnavailable, InvalidVector
from core.settings.embeddings import EmbeddingModelSetting
from kb_service.embeddings.catalog import EmbeddingModel
from kb_service.embeddings.protocol import Vectors
from kb_service.engine_client.protocol import FLOAT32
from kb_service.text.token_counter import TokenCounter, Word, characters

_OK = 200
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# The request itself is refused: sending it again can't help.
_HOPELESS = frozenset({400, 413, 422})
# Endpoints refuse or fail on much larger requests.
_TOKENS_PER_REQUEST = 16_384
_MAX_CHARACTERS = 100_000
# Numbers as decimal text, and room for the JSON around them.
_BYTES_PER_NUMBER = 32
_BYTES_AROUND = 2**16
_LONGEST_PAUSE = 30.0
_JITTER = random.SystemRandom()


@dataclass(frozen=True)
class RetryPolicy:
    """Timeouts of one request and of all its tries, and their number."""

    request_seconds: float
    total_seconds: float
    attempts: int
    backoff_seconds: float = 0.5


QUERY_RETRIES = RetryPolicy(request_seconds=8, total_seconds=10, attempts=3, backoff_seconds=0.2)
PASSAGE_RETRIES = RetryPolicy(request_seconds=60, total_seconds=180, attempts=6)


@dataclass(frozen=True)
class _Piece:
    text: int
    content: str
    tokens: int


class EndpointEncoder:
    """An ``Encoder`` behind an endpoint; the caller owns the HTTP client.

    Args:
        model: with a source of the kind ``endpoint``.
        client: follows no redirects, so that the key goes nowhere else.
        counter: keeps texts within the window; it may be another model's, so a quarter of the window is left free.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        client: httpx.AsyncClient,
        counter: TokenCounter,
        *,
        queries: RetryPolicy = QUERY_RETRIES,
        passages: RetryPolicy = PASSAGE_RETRIES,
    ) -> None:
        if model.source is None or model.source.base_url is None:
            raise ValueError(f"{model.name} is behind no endpoint")
        self._model = model
        self._source: EmbeddingModelSetting = model.source
        self._url = f"{model.source.base_url.rstrip('/')}/embeddings"
        self._client = client
        self._counter = counter
        self._queries, self._passages = queries, passages

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def languages(self) -> frozenset[str]:
        return self._model.languages

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode questions; cut at the model's window."""
        pieces = await to_thread.run_sync(self._query_pieces, texts)
        return await self._embed(pieces, len(texts), self._queries)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        """Encode passages; one longer than the model's window becomes the mean of equal pieces."""
        pieces = await to_thread.run_sync(self._passage_pieces, texts)
        return await self._embed(pieces, len(texts), self._passages)

    def _query_pieces(self, texts: Sequence[str]) -> list[_Piece]:
        prefix = self._model.query_prefix
        room = room_for_text(self._model.window_tokens, prefix, self._counter)
        cut = [first_piece(_utf8(text), room, self._counter) for text in texts]
        return [self._piece(position, prefix, text) for position, text in enumerate(cut)]

    def _passage_pieces(self, texts: Sequence[str]) -> list[_Piece]:
        prefix = self._model.passage_prefix
        room = room_for_text(self._model.window_tokens, prefix, self._counter)
        return [
            self._piece(position, prefix, part)
            for position, text in enumerate(texts)
            for part in equal_pieces(_utf8(text), room, self._counter)
        ]

    def _piece(self, position: int, prefix: str, text: str) -> _Piece:
        # Most endpoints refuse the empty string.
        content = prefix + text if (prefix + text).strip() else " ."
        return _Piece(position, content, self._counter.count(content))

    async def _embed(self, pieces: Sequence[_Piece], texts: int, patience: RetryPolicy) -> Vectors:
        sums = np.zeros((texts, self.dimension))
        for batch in self._batches(pieces):
            vectors = await self._ask_patiently([piece.content for piece in batch], patience)
            np.add.at(sums, [piece.text for piece in batch], vectors)
        return normalise_rows(sums, self._model)

    def _batches(self, pieces: Sequence[_Piece]) -> list[list[_Piece]]:
        batches: list[list[_Piece]] = []
        tokens = _TOKENS_PER_REQUEST
        for piece in pieces:
            tokens += piece.tokens
            if tokens > _TOKENS_PER_REQUEST or len(batches[-1]) >= self._source.batch:
                batches.append([])
                tokens = piece.tokens
            batches[-1].append(piece)
        return batches

    async def _ask_patiently(self, texts: Sequence[str], patience: RetryPolicy) -> Vectors:
        try:
            async with asyncio.timeout(patience.total_seconds):
                return await self._ask_again(texts, patience)
        except TimeoutError as error:
            raise unavailable(self._model, "the endpoint did not answer in time") from error

    async def _ask_again(self, texts: Sequence[str], patience: RetryPolicy) -> Vectors:
        reason = "no request was allowed"
        for attempt in range(1, patience.attempts + 1):
            pause = patience.backoff_seconds * 2 ** (attempt - 1) * _JITTER.uniform(0.5, 1)
            try:
                response = await self._post(texts, patience.request_seconds)
                if response.status_code == _OK:
                    return await to_thread.run_sync(read_vectors, response, self._model, len(texts))
                pause = self._pause_after(response, pause)
                reason = f"the endpoint answered HTTP {response.status_code}"
            except httpx.InvalidURL as error:
                raise unavailable(self._model, "the endpoint's address is not valid") from error
            except httpx.HTTPError as error:
                reason = f"the endpoint can't be reached ({type(error).__name__})"
            except TimeoutError:
                reason = "the endpoint did not answer in time"
            except UnusableResponse as error:
                reason = str(error)
            if attempt == patience.attempts or pause > _LONGEST_PAUSE:
                break
            await asyncio.sleep(pause)
        raise unavailable(self._model, reason)

    def _pause_after(self, response: httpx.Response, pause: float) -> float:
        """Seconds until the next try; raises where a retry is pointless."""
        status = response.status_code
        if status in _HOPELESS:
            raise EmbeddingsRefused(model=self.name, reason=f"HTTP {status}")
        if status not in _RETRIED:
            raise unavailable(self._model, f"the endpoint answered HTTP {status}")
        with suppress(ValueError):
            return max(pause, float(response.headers.get("retry-after", "")))
        return pause

    async def _post(self, texts: Sequence[str], seconds: float) -> httpx.Response:
        headers: dict[str, str] = {}
        key = self._source.api_key
        if key is not None and key.get_secret_value():
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        request = self._client.build_request(
            "POST",
            self._url,
            json=request_body(self._model, self._source.model or self.name, texts),
            headers=headers,
            timeout=seconds,
        )
        # httpx's timeout is per read: a slowly dripping endpoint must not block a worker.
        async with asyncio.timeout(seconds):
            response = await self._client.send(request, stream=True)
            try:
                return await self._read(response, len(texts))
            finally:
                await response.aclose()

    async def _read(self, response: httpx.Response, texts: int) -> httpx.Response:
        most = texts * self.dimension * _BYTES_PER_NUMBER + _BYTES_AROUND
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > most:
                raise UnusableResponse("the answer is far too long")
        return httpx.Response(response.status_code, headers=_retry_headers(response), content=bytes(content))


def _retry_headers(response: httpx.Response) -> dict[str, str]:
    value = response.headers.get("retry-after")
    return {} if value is None else {"retry-after": value}


def _utf8(text: str) -> str:
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


class UnusableResponse(Exception):
    """A malformed answer; worth a retry."""


class _Embedding(BaseModel):
    embedding: list[float] | str
    index: int | None = None


class _EmbeddingsResponse(BaseModel):
    data: list[_Embedding]


def request_body(model: EmbeddingModel, asked_for: str, texts: Sequence[str]) -> dict[str, object]:
    """The body of a request; ``asked_for`` is the model's name at the endpoint."""
    body: dict[str, object] = {"model": asked_for, "input": list(texts), "encoding_format": "float"}
    if model.shortened:
        body["dimensions"] = model.dimension
    return body


def read_vectors(response: httpx.Response, model: EmbeddingModel, count: int) -> Vectors:
    """The vectors of an answer, in the order of the texts, each of length 1; UnusableResponse or InvalidVector."""
    try:
        rows = _EmbeddingsResponse.model_validate_json(response.content).data
        vectors = [_numbers(row.embedding) for row in rows]
    except (ValidationError, binascii.Error, ValueError) as error:
        raise UnusableResponse("the answer is not what an embedding endpoint sends") from error
    order = [position if row.index is None else row.index for position, row in enumerate(rows)]
    if sorted(order) != list(range(count)):
        raise UnusableResponse(f"the answer has {len(rows)} vectors for {count} texts")
    for vector in vectors:
        if vector.shape != (model.dimension,):
            raise InvalidVector(
                model=model.name, error=f"the endpoint sends {vector.size} numbers, the settings say {model.dimension}"
            )
    matrix = np.empty((count, model.dimension))
    for position, vector in zip(order, vectors, strict=True):
        matrix[position] = vector
    return normalise_rows(matrix, model)


def normalise_rows(matrix: NDArray[np.float64], model: EmbeddingModel) -> Vectors:
    """The rows scaled to length 1; InvalidVector for a row of zeros or with a number that is not finite."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise InvalidVector(model=model.name, error="a vector is zero or not finite")
    return (matrix / lengths).astype(np.float32)


def unavailable(model: EmbeddingModel, reason: str) -> EmbeddingsUnavailable:
    """The error of an endpoint without a usable answer."""
    return EmbeddingsUnavailable(model=model.name, reason=reason)


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if isinstance(embedding, str):
        embedded = base64.b64decode(embedding, validate=True)
        return np.frombuffer(embedded, dtype=FLOAT32).astype(np.float64)
    # In double precision, so that numbers beyond single precision are refused, not made infinite.
    return np.asarray(embedding, dtype=np.float64)


# Bounds the work one absurd text can cause; splitters stay far below.
MAX_PIECES = 16
# A foreign tokenizer's counts are an estimate.
_MARGIN = 0.75


def room_for_text(window_tokens: int, prefix: str, counter: TokenCounter) -> int:
    """Tokens of text that fit a window beside two special tokens and a prefix, with a margin."""
    return max(8, int((window_tokens - 2) * _MARGIN) - counter.count(prefix))


def equal_pieces(text: str, room: int, counter: TokenCounter) -> list[str]:
    """A text in the fewest equal pieces of at most ``room`` tokens; text beyond ``MAX_PIECES`` is dropped."""
    words = [part for window in counter.windows(text) for word in window for part in _fine(text, word, room)]
    total = sum(word.tokens for word in words)
    if total <= room:
        return [text]
    words = _first(words, room * MAX_PIECES)
    total = sum(word.tokens for word in words)
    size = math.ceil(total / math.ceil(total / room))
    pieces: list[list[Word]] = [[]]
    filled = 0
    for word in words:
        if pieces[-1] and filled + word.tokens > min(room, max(size, word.tokens)):
            pieces.append([])
            filled = 0
        pieces[-1].append(word)
        filled += word.tokens
    return [text[piece[0].start : piece[-1].end] for piece in pieces]


def first_piece(text: str, room: int, counter: TokenCounter) -> str:
    """The longest beginning of a text within ``room`` tokens."""
    words = [part for window in counter.windows(text) for word in window for part in _fine(text, word, room)]
    first = _first(words, room)
    return text if len(first) == len(words) else text[: first[-1].end] if first else ""


def _fine(text: str, word: Word, room: int) -> Sequence[Word]:
    return [word] if word.tokens <= room else list(characters(text, word))


def _first(words: Sequence[Word], tokens: int) -> list[Word]:
    first: list[Word] = []
    left = tokens
    for word in words:
        left -= word.tokens
        if left < 0:
            break
        first.append(word)
    return first
