"""Readers of LlamaIndex as a child makes and asks them; the child itself is run by the sources over HTTP."""

import io
import json
from typing import Any

import pytest

from ingestion.connectors.llama_index.child import ReaderUnusable, load_documents, make_reader
from ingestion.connectors.llama_index.wire import ReaderRequest

OWN = "tests.fixtures.knowledge.llama_index_readers"
DIRECTORY = "llama_index.core.SimpleDirectoryReader"


def request_of(reader: str, read: Any = "auto", **load_arguments: object) -> ReaderRequest:
    return {"reader": reader, "arguments": {}, "load_arguments": load_arguments, "read": read, "most_bytes": 1000}


@pytest.mark.parametrize(
    ("reader", "arguments", "reason", "detail"),
    [
        (f"{OWN}.NoReader", {}, "no_reader", "NoReader"),
        ("os.system", {"command": "id"}, "no_reader", "os.system"),
        (f"{OWN}.nothing", {}, "no_reader", "nothing"),
        ("llama_index.readers.missing.Reader", {}, "missing", "llama_index.readers.missing"),
        (f"{OWN}.BadReader", {"acts": "canary"}, "wrong_arguments", "'act'"),
        (f"{OWN}.BadReader", {"act": "x", "more": "canary"}, "wrong_arguments", "'more'"),
    ],
)
def test_what_is_no_reader_is_named(reader: str, arguments: dict[str, object], reason: str, detail: str):
    with pytest.raises(ReaderUnusable) as caught:
        make_reader(reader, arguments)
    failure = caught.value.failure
    assert failure["reason"] == reason
    assert detail in failure["detail"]
    assert "canary" not in failure["detail"]


def test_reader_is_asked_by_the_call_that_it_has():
    reader = make_reader(f"{OWN}.SlowFeedReader", {})
    documents = load_documents(reader, request_of(f"{OWN}.SlowFeedReader", number=3), io.BytesIO())
    assert [(resource, document.text) for resource, document in documents] == [
        ("", "Entry 0"),
        ("", "Entry 1"),
        ("", "Entry 2"),
    ]
    with pytest.raises(ReaderUnusable, match="wrong_arguments"):
        list(load_documents(reader, request_of(f"{OWN}.SlowFeedReader", numbers=3), io.BytesIO()))
    with pytest.raises(ReaderUnusable, match="no_resources"):
        list(load_documents(reader, request_of(f"{OWN}.SlowFeedReader", "resources"), io.BytesIO()))


def test_resource_that_cannot_be_loaded_fails_alone(tmp_path: Any):
    for name in ("first.md", "second.md"):
        (tmp_path / name).write_text(name)
    reader = make_reader(DIRECTORY, {"input_dir": str(tmp_path)})
    (tmp_path / "first.md").unlink()
    replies = io.BytesIO()
    documents = list(load_documents(reader, request_of(DIRECTORY), replies))
    assert [document.text for _, document in documents] == ["second.md"]
    failure = json.loads(replies.getvalue()[4:])
    assert (failure["resource"], failure["error"]) == (str(tmp_path / "first.md"), "FileNotFoundError")
