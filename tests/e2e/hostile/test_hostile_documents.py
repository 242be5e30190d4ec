"""Hostile documents over HTTP: the answer of the table, and a good document right afterwards."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from kb_service.embeddings.catalog import MINILM
from tests.fixtures.files.hostile_documents import ENCODINGS, END_SECONDS, GOOD_SECONDS, TABLE, UPLOAD_SECONDS, ok
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.server import Server

# A passage of a knowledge base that says nothing else has no more tokens; and no text, however it
# is written, has more characters for them.
_CHUNK_TOKENS = 500
_CHUNK_CHARACTERS = 10_000


@pytest.fixture(scope="module")
def server(servers: Callable[[str], Server]) -> Server:
    return servers("embedded")


@pytest.fixture(scope="module")
def api(server: Server) -> Api:
    return server.person()


@pytest.fixture(scope="module")
def kb(api: Api) -> str:
    # The smaller encoder: what is tested happens before.
    return api.create_kb(embedding_model=MINILM.name)


def processes(server: Server) -> dict[str, int]:
    return {name: part["pid"] for name, part in server.parts.items()}


def passages(api: Api, kb: str, document_id: str) -> list[dict[str, Any]]:
    path = f"/knowledge-bases/{kb}/documents/{document_id}/chunks"
    return api.get(path, page_size=100)["items"]


def check_end(api: Api, kb: str, end: dict[str, Any], wanted: tuple[str, ...]) -> None:
    """The end of a document is one of those, and is told in full."""
    found = end["failure"]["reason"] if end["status"] == "failed" else end["status"]
    assert found in wanted
    if end["status"] == "failed":
        assert end["chunk_count"] == 0
        assert all(end["failure"][f] for f in ("message_zh", "next_action", "next_action_zh"))
    else:
        chunks = passages(api, kb, end["id"])
        assert chunks
        assert all(0 < chunk["token_count"] <= _CHUNK_TOKENS for chunk in chunks)
        assert all(0 < len(chunk["content"]) <= _CHUNK_CHARACTERS for chunk in chunks)


def check_good(api: Api, kb: str, name: str) -> None:
    good = api.upload(kb, f"ok after {name}.docx", ok())
    assert api.wait(kb, good, seconds=GOOD_SECONDS)["status"] == "completed"


@pytest.mark.parametrize("name", TABLE)
def test_row_is_answered_as_the_table_says(server: Server, api: Api, kb: str, name: str):
    row = TABLE[name]
    content, before = row.make(), processes(server)
    started = time.monotonic()
    answer = api.send_file(kb, name, content, "application/octet-stream")
    assert time.monotonic() - started < UPLOAD_SECONDS
    if isinstance(row.want, type):
        check_error(answer, row.want)
    else:
        end = api.wait(kb, check_success(answer)["id"], seconds=END_SECONDS)
        check_end(api, kb, end, row.want if isinstance(row.want, tuple) else (row.want,))
    check_good(api, kb, name)
    # What the file did to a process, it did to the parser's.
    assert processes(server) == before


@pytest.mark.parametrize("codec", ENCODINGS)
def test_text_in_any_encoding_of_the_table_is_indexed_as_it_was(api: Api, kb: str, codec: str):
    text, name = ENCODINGS[codec], f"enc_{codec}.txt"
    started = time.monotonic()
    document = api.upload(kb, name, text.encode(codec))
    assert time.monotonic() - started < UPLOAD_SECONDS
    end = api.wait(kb, document, seconds=END_SECONDS)
    assert (end["status"], end["warnings"]) == ("completed", [])
    assert [chunk["content"] for chunk in passages(api, kb, document)] == [text.strip()]
    check_good(api, kb, name)
