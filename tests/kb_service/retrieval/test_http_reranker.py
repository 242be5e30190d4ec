"""The rerank endpoint: requests, accepted answers, and searches without it."""

import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from pydantic import SecretStr

from core.db.unit_of_work import unit_of_work
from core.errors.server import RerankerUnavailable
from core.settings import Settings
from ingestion.context import WorkerContext
from kb_service.models import KnowledgeBase
from kb_service.retrieval.request import RetrievalOptions
from kb_service.retrieval.rerankers import open_rerankers
from kb_service.retrieval.rerankers.http import ApiReranker, RerankEndpoint
from kb_service.retrieval.results import SearchResult, SearchWarning
from kb_service.retrieval.service import Searcher
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import upload
from tests.fixtures.servers.rerank_server import RerankServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[RerankServer]:
    """Likes what is said of lions."""
    with RerankServer(lambda _, text: 0.9 if "lion" in text else 0.2) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


def reranker(server: RerankServer, client: httpx.AsyncClient, **changes: object) -> ApiReranker:
    fields = {"base_url": server.url, "model": "m", "backoff_seconds": 0.01, **changes}
    return ApiReranker(RerankEndpoint(**fields), client)


async def test_scores_come_back_in_the_order_of_the_texts(server: RerankServer, client: httpx.AsyncClient):
    api = reranker(server, client, api_key=SecretStr("k"))
    assert await api.scores("who hunts", ["zebra", "lion", "gnu"]) == [0.2, 0.9, 0.2]
    (asked,) = server.requests
    assert asked["path"] == "/v1/rerank"
    assert (asked["model"], asked["query"]) == ("m", "who hunts")
    assert (asked["documents"], asked["top_n"]) == (["zebra", "lion", "gnu"], 3)
    assert server.authorisations == ["Bearer k"]


async def test_scores_that_are_no_share_become_one(client: httpx.AsyncClient):
    with RerankServer(lambda _, text: float(text)) as server:
        low, high, odd = await reranker(server, client).scores("q", ["-4", "7", "1e9"])
    assert 0 < low < 0.5 < high < 1
    assert odd == 1


async def test_busy_endpoint_is_asked_again_after_the_time_it_names(server: RerankServer, client: httpx.AsyncClient):
    server.faults = [(429, {"Retry-After": "0.3"}, b""), (503, {}, b"")]
    started = time.monotonic()
    assert await reranker(server, client).scores("q", ["lion"]) == [0.9]
    assert time.monotonic() - started >= 0.3
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        ([(500, {}, b"")] * 3, 3),
        ([(401, {}, b"")], 1),
        ([(200, {}, b"no json")], 1),
        ([(200, {}, b'{"results": []}')], 1),
        ([(200, {}, b'{"results": [{"index": 7, "relevance_score": 0.5}]}')], 1),
        ([(200, {}, b'{"results": [{"index": 0, "relevance_score": NaN}]}')], 1),
        ([(429, {"Retry-After": "3600"}, b"")], 1),
    ],
)
async def test_what_is_no_ranking_is_an_error(
    server: RerankServer, client: httpx.AsyncClient, faults: list, requests: int
):
    server.faults = list(faults)
    with pytest.raises(RerankerUnavailable):
        await reranker(server, client, total_seconds=8).scores("q", ["lion"])
    assert len(server.requests) == requests


@pytest.mark.parametrize("seconds", ["1", "3600"])
async def test_endpoint_that_names_too_long_a_wait_is_not_waited_for(
    server: RerankServer, client: httpx.AsyncClient, seconds: str
):
    server.faults = [(429, {"Retry-After": seconds}, b"")]
    with pytest.raises(RerankerUnavailable) as caught:
        await reranker(server, client, total_seconds=1).scores("q", ["lion"])
    # Not: that it did not answer in time, which is what is said when the time is over.
    assert caught.value.details["reason"] == "the endpoint asks to wait longer than a search"
    assert len(server.requests) == 1


async def test_silent_endpoint_is_given_up(server: RerankServer, client: httpx.AsyncClient):
    server.delay = 2
    with pytest.raises(RerankerUnavailable):
        await reranker(server, client, timeout_seconds=0.1, total_seconds=0.4).scores("q", ["x"])


def test_settings_open_it(server: RerankServer):
    client = httpx.AsyncClient()
    assert open_rerankers(Settings(_env_file=None), client) == {}
    assert set(open_rerankers(Settings(_env_file=None, rerank_base_url=server.url), client)) == {"api"}


async def ask(context: WorkerContext, api: ApiReranker | None, **options: object) -> SearchResult:
    async with unit_of_work(context.database) as work:
        kb_id = (await add_knowledge_base(work)).id
    for name, text in (("zebra.md", "The zebra hunts nobody."), ("lion.md", "A lion hunts.")):
        document = await upload(context, f"# {name}\n\n{text}".encode(), name=name, kb_id=kb_id)
        await ingest(context, document.id)
    configured = {} if api is None else {"api": api}
    searcher = Searcher(context.database, context.spaces, max_query_characters=99, rerankers=configured)
    async with context.database.reading() as session:
        row = await session.get_one(KnowledgeBase, kb_id)
    request = searcher.resolve([row], "the zebra hunts", RetrievalOptions(**options))
    return await searcher.search(SYSTEM_VIEWER, [row], request)


def names(result: SearchResult) -> list[str]:
    return [found.document_name for found in result.passages]


async def test_configured_reranker_orders_the_answer(
    context: WorkerContext, server: RerankServer, client: httpx.AsyncClient
):
    result = await ask(context, reranker(server, client))
    assert names(result) == ["lion.md", "zebra.md"]
    assert [found.hit.score for found in result.passages] == [0.9, 0.2]
    assert server.requests[0]["documents"][0].startswith("zebra.md\n"), "under its heading"
    cut = await ask(context, reranker(server, client), score_threshold=0.5)
    assert names(cut) == ["lion.md"], "the threshold is on the reranker's score"
    lexical = await ask(context, reranker(server, client), reranker="lexical")
    assert names(lexical) == ["zebra.md", "lion.md"]


async def test_failing_reranker_leaves_the_lexical_order_and_is_told(
    context: WorkerContext, server: RerankServer, client: httpx.AsyncClient
):
    server.faults = [(400, {}, b"")]
    result = await ask(context, reranker(server, client))
    assert (names(result), result.warnings) == (
        ["zebra.md", "lion.md"],
        (SearchWarning.RERANKER_FAILED,),
    )
    missing = await ask(context, None, reranker="api")
    assert (names(missing), missing.warnings) == (
        ["zebra.md", "lion.md"],
        (SearchWarning.RERANKER_MISSING,),
    )
