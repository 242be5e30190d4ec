"""Client of a rerank endpoint like those of Jina, Cohere and vLLM: ``POST {base}/rerank``."""

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

from core.errors.server import RerankerUnavailable
from core.settings import Settings

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_OK = 200
_MOST_BYTES = 4 * 2**20
_JITTER = random.SystemRandom()


@dataclass(frozen=True)
class RerankEndpoint:
    """Address, credentials and timeouts of a rerank endpoint.

    Attributes:
        base_url: without ``/rerank``.
        api_key: None sends no Authorization header.
        total_seconds: longest total wait, including retries and pauses; a longer ``Retry-After`` ends the retries at
            once.
        backoff_seconds: first pause, doubled each time, unless the response has ``Retry-After``.
    """

    base_url: str
    model: str
    api_key: SecretStr | None = None
    timeout_seconds: float = 5
    total_seconds: float = 8
    attempts: int = 3
    backoff_seconds: float = 0.2


class _RerankResult(BaseModel):
    index: int
    relevance_score: float


class _RerankResponse(BaseModel):
    results: list[_RerankResult]


class ApiReranker:
    """Reranker behind an HTTP endpoint; the client belongs to the caller, so that connections are shared."""

    depth = 50

    def __init__(self, endpoint: RerankEndpoint, client: httpx.AsyncClient) -> None:
        self._endpoint = endpoint
        self._client = client

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See ``Reranker.scores``; scores outside 0..1 (logits) go through a sigmoid."""
        body = {
            "model": self._endpoint.model,
            "query": query,
            "documents": list(texts),
            "top_n": len(texts),
            "return_documents": False,
        }
        try:
            async with asyncio.timeout(self._endpoint.total_seconds) as limit:
                answer = await self._send(body, limit)
        except TimeoutError as error:
            raise RerankerUnavailable(reason="the endpoint did not answer in time") from error
        return _in_order(answer, len(texts))

    async def _send(self, body: Mapping[str, object], limit: asyncio.Timeout) -> _RerankResponse:
        for attempt in range(1, self._endpoint.attempts + 1):
            pause = self._endpoint.backoff_seconds * 2 ** (attempt - 1) * _JITTER.uniform(0.5, 1)
            try:
                response = await self._post(body)
            except httpx.InvalidURL as error:
                raise RerankerUnavailable(reason="the endpoint's address is not valid") from error
            except httpx.HTTPError as error:
                if attempt == self._endpoint.attempts:
                    raise RerankerUnavailable(reason="the endpoint can't be reached") from error
            else:
                if response.status_code == _OK:
                    return _read(response)
                if response.status_code not in _RETRIED or attempt == self._endpoint.attempts:
                    reason = f"the endpoint answered HTTP {response.status_code}"
                    raise RerankerUnavailable(reason=reason)
                pause = _retry_after(response, pause)
            if _ends_by(limit, pause):
                # A retry could not finish in time.
                raise RerankerUnavailable(reason="the endpoint asks to wait longer than a search")
            await asyncio.sleep(pause)
        raise RerankerUnavailable(reason="no request was allowed")

    async def _post(self, body: Mapping[str, object]) -> httpx.Response:
        endpoint = self._endpoint
        headers: dict[str, str] = {}
        if endpoint.api_key is not None and endpoint.api_key.get_secret_value():
            headers["Authorization"] = f"Bearer {endpoint.api_key.get_secret_value()}"
        return await self._client.post(
            f"{endpoint.base_url.rstrip('/')}/rerank", json=body, headers=headers, timeout=endpoint.timeout_seconds
        )


def open_reranker(settings: Settings, client: httpx.AsyncClient) -> ApiReranker | None:
    """The configured endpoint, or None."""
    if settings.rerank_base_url is None:
        return None
    endpoint = RerankEndpoint(
        base_url=settings.rerank_base_url, model=settings.rerank_model or "default", api_key=settings.rerank_api_key
    )
    return ApiReranker(endpoint, client)


def _read(response: httpx.Response) -> _RerankResponse:
    if len(response.content) > _MOST_BYTES:
        raise RerankerUnavailable(reason="the endpoint's answer is too large")
    try:
        return _RerankResponse.model_validate_json(response.content)
    except ValidationError as error:
        raise RerankerUnavailable(reason="the endpoint's answer is no ranking") from error


def _in_order(answer: _RerankResponse, count: int) -> list[float]:
    by_index = {judged.index: judged.relevance_score for judged in answer.results}
    if sorted(by_index) != list(range(count)) or not all(map(math.isfinite, by_index.values())):
        raise RerankerUnavailable(reason="the endpoint did not judge each passage")
    scores = [by_index[index] for index in range(count)]
    if all(0 <= score <= 1 for score in scores):
        return scores
    return [1 / (1 + math.exp(-max(-700.0, min(score, 700.0)))) for score in scores]


def _ends_by(limit: asyncio.Timeout, pause: float) -> bool:
    deadline = limit.when()
    return deadline is not None and asyncio.get_running_loop().time() + pause >= deadline


def _retry_after(response: httpx.Response, pause: float) -> float:
    """Seconds from ``Retry-After``; dates and invalid values are ignored."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return pause
    return seconds if math.isfinite(seconds) and seconds >= 0 else pause
