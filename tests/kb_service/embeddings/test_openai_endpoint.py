"""An encoder behind an OpenAI-compatible endpoint, with faults of the endpoint."""

import time
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import pytest

from core.errors.server import EmbeddingsRefused, EmbeddingsUnavailable, InvalidVector
from core.settings import Settings
from core.settings.embeddings import EmbeddingModelSetting
from kb_service.embeddings.catalog import served_models
from kb_service.embeddings.openai import EndpointEncoder, RetryPolicy
from kb_service.text.token_counter import token_counter
from tests.fixtures.servers.embedding_server import DIMENSION, KEY, EmbeddingServer, vector_of

pytestmark = pytest.mark.anyio
PATIENCE = RetryPolicy(request_seconds=3, total_seconds=60, attempts=3, backoff_seconds=0.01)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(follow_redirects=False) as client:
        yield client


def encoder_of(
    server: EmbeddingServer, http: httpx.AsyncClient, script: str = "good", **entry: object
) -> EndpointEncoder:
    defaults = {
        "name": "remote",
        "kind": "endpoint",
        "model": script,
        "base_url": server.base_url,
        "api_key": KEY,
        "dimension": DIMENSION,
        "languages": ["en"],
        "window_tokens": 64,
    }
    setting = EmbeddingModelSetting.model_validate(defaults | entry)
    *_, model = served_models(Settings(_env_file=None, embedding_models=(setting,)))
    return EndpointEncoder(model, http, token_counter(), queries=PATIENCE, passages=PATIENCE)


def unit(text: str) -> np.ndarray:
    return vector_of(text) / 2


@pytest.mark.parametrize("script", ["good", "reversed", "base64", "429-once", "503-once"])
async def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(server, http, script):
    texts = [f"word{n} and word{n + 1}" for n in range(10)]
    vectors = await encoder_of(server, http, script, batch=4).embed_passages(texts)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [unit(text) for text in texts], atol=1e-6)
    assert {len(body["input"]) for body in server.bodies} == {4, 2}
    assert set(server.keys) == {f"Bearer {KEY}"}


async def test_prefixes_stand_before_questions_and_passages(server, http):
    encoder = encoder_of(server, http, query_prefix="query: ", passage_prefix="passage: ")
    await encoder.embed_queries(["who"])
    await encoder.embed_passages(["he"])
    assert [body["input"] for body in server.bodies] == [["query: who"], ["passage: he"]]


async def test_long_passage_is_the_mean_of_pieces_that_fit_and_a_long_question_is_cut(server, http):
    text = " ".join(f"w{n}" for n in range(200))
    encoder = encoder_of(server, http)
    (vector,) = await encoder.embed_passages([text])
    pieces = server.bodies[0]["input"]
    assert " ".join(pieces) == text
    assert len(pieces) > 3
    assert max(token_counter().count(piece) for piece in pieces) <= 64
    mean = np.sum([unit(piece) for piece in pieces], axis=0)
    assert np.allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)
    await encoder.embed_queries([text])
    (asked,) = server.bodies[-1]["input"]
    assert text.startswith(asked)
    assert 0 < token_counter().count(asked) <= 64


async def test_requests_are_bounded_in_tokens(server, http):
    encoder = encoder_of(server, http, window_tokens=8192, batch=2048)
    await encoder.embed_passages(["word " * 3000] * 12)
    assert [len(body["input"]) for body in server.bodies] == [5, 5, 2]


async def test_shorter_vectors_are_asked_for(server, http):
    encoder = encoder_of(server, http, name="text-embedding-3-small", languages=None)
    await encoder.embed_queries(["a"])
    assert server.bodies[0]["dimensions"] == DIMENSION


async def test_strange_texts_are_encoded(server, http):
    texts = ["", "\ud800 lone", "\x00", "字" * 500]
    vectors = await encoder_of(server, http).embed_passages(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert all(text.strip() for body in server.bodies for text in body["input"])
    assert (await encoder_of(server, http).embed_passages([])).shape == (0, DIMENSION)


@pytest.mark.parametrize("script", ["500", "429", "html", "half", "empty", "short", "double", "hang"])
async def test_endpoint_without_a_usable_answer_is_given_up_after_some_tries(server, http, script):
    with pytest.raises(EmbeddingsUnavailable) as caught:
        await encoder_of(server, http, script).embed_passages(["one text", "another text"])
    assert server.tries[script] == PATIENCE.attempts
    assert KEY not in str(caught.value.details)


@pytest.mark.parametrize("script", ["401", "404", "301", "later"])
async def test_what_only_the_operator_can_mend_is_not_asked_again(server, http, script):
    with pytest.raises(EmbeddingsUnavailable):
        await encoder_of(server, http, script).embed_passages(["one text"])
    assert server.tries[script] == 1


@pytest.mark.parametrize("script", ["400", "413", "422"])
async def test_text_that_is_refused_is_not_sent_again(server, http, script):
    with pytest.raises(EmbeddingsRefused):
        await encoder_of(server, http, script).embed_passages(["one text"])
    assert server.tries[script] == 1


@pytest.mark.parametrize("script", ["wide", "zeros", "huge"])
async def test_vectors_that_would_poison_an_index_are_refused_with_the_reason(server, http, script):
    with pytest.raises(InvalidVector) as caught:
        await encoder_of(server, http, script).embed_passages(["one text"])
    assert caught.value.details["model"] == "remote"
    if script == "wide":
        assert caught.value.details["error"] == "the endpoint sends 128 numbers, the settings say 64"


async def test_endless_answer_is_cut(server, http):
    with pytest.raises(EmbeddingsUnavailable) as caught:
        await encoder_of(server, http, "flood").embed_queries(["one text"])
    assert caught.value.details["reason"] == "the answer is far too long"


async def test_whole_call_ends_in_time_when_the_endpoint_hangs(server, http):
    encoder = encoder_of(server, http, "hang")
    hasty = EndpointEncoder(
        encoder._model,
        http,
        token_counter(),
        queries=RetryPolicy(request_seconds=20, total_seconds=0.5, attempts=3),
    )
    began = time.monotonic()
    with pytest.raises(EmbeddingsUnavailable):
        await hasty.embed_queries(["one text"])
    assert time.monotonic() - began < 10


async def test_nobody_listening_is_an_outage(http):
    with EmbeddingServer() as server:
        encoder = encoder_of(server, http)
    with pytest.raises(EmbeddingsUnavailable):
        await encoder.embed_queries(["one text"])
