"""The catalogue of embedding models: built-in, known by name, and configured."""

import json

import pytest
from pydantic import ValidationError

from core.errors.requests import UnknownEmbeddingModel
from core.errors.server import UnusableSetting
from core.settings import Settings
from kb_service.embeddings.catalog import BUILT_IN, DEFAULT, MINILM, MULTILINGUAL_E5, resolve, served_models


def test_catalogue_knows_foreign_models_without_serving_them():
    assert served_models() == list(BUILT_IN)
    for name, dimension in [
        ("text-embedding-3-small", 1536),
        ("text-embedding-3-large", 3072),
        ("text-embedding-ada-002", 1536),
        ("BAAI/bge-m3", 1024),
    ]:
        model = resolve(name)
        assert (model.served, model.dimension) == (False, dimension)
    assert resolve("sentence-transformers/all-minilm-l6-v2") is MINILM
    assert resolve("intfloat/multilingual-e5-small") is MULTILINGUAL_E5


def configured(*entries: dict) -> Settings:
    return Settings(_env_file=None, embedding_models=json.dumps(entries))


ENDPOINT = {"kind": "endpoint", "base_url": "http://127.0.0.1:9/v1"}


def test_configured_model_is_served_with_what_is_known_of_it():
    small = {**ENDPOINT, "name": "text-embedding-3-small", "dimension": 512}
    e5 = {**ENDPOINT, "name": "ours", "model": "intfloat/multilingual-e5-large"}
    new = {**ENDPOINT, "name": "new", "dimension": 8, "languages": ["zh"], "window_tokens": 99}
    *built_in, first, second, third = served_models(configured(small, e5, new))
    assert built_in == list(BUILT_IN)
    assert DEFAULT is built_in[0]
    assert (first.dimension, first.shortened, first.window_tokens) == (512, True, 8191)
    assert (second.name, second.dimension, second.query_prefix) == ("ours", 1024, "query: ")
    assert (third.dimension, third.window_tokens, third.languages) == (8, 99, frozenset({"zh"}))
    assert all(model.served for model in (first, second, third))


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({**ENDPOINT, "name": "new", "dimension": 8}, "give its dimension and languages"),
        ({**ENDPOINT, "name": "all-minilm-L6-v2"}, "is built in"),
    ],
)
def test_model_that_nobody_can_serve_is_refused_by_name(entry, what):
    with pytest.raises(UnusableSetting) as caught:
        served_models(configured(entry))
    assert what in str(caught.value.details["error"])


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "x", "kind": "endpoint", "api_key": "sk-secret"},
        {**ENDPOINT, "name": "../x", "api_key": "sk-secret"},
        {**ENDPOINT, "name": "x", "api_key": "$AGENTEX_TEST_NOT_SET"},
        {**ENDPOINT, "name": "x", "api_key": "sk-secret", "dimensions": 3},
        {**ENDPOINT, "name": "x", "base_url": "file:///etc/passwd"},
        {"name": "x", "kind": "sentence_transformers", "path": "/no/such/folder"},
    ],
)
def test_entry_that_makes_no_sense_is_refused_without_showing_a_key(entry):
    with pytest.raises(ValidationError) as caught:
        configured(entry)
    assert "sk-secret" not in str(caught.value)


def test_key_of_an_endpoint_may_lie_in_a_variable_of_its_own(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-from-variable")
    (entry,) = configured({**ENDPOINT, "name": "bge-m3", "api_key": "$SOME_KEY"}).embedding_models
    assert entry.api_key.get_secret_value() == "sk-from-variable"
    assert "sk-from-variable" not in repr(entry)


def test_unknown_model_is_refused_with_the_served_names():
    for name in ("no-such-model", "", "/"):
        with pytest.raises(UnknownEmbeddingModel) as caught:
            resolve(name)
        assert caught.value.details["served"] == [model.name for model in BUILT_IN]
