"""Readers of LlamaIndex as a child makes and asks them; the child itself is run by the sources over HTTP."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import ConnectorEnvironment, KnownItem
from ingestion.connectors.llama_index.child import LENGTH, ReaderUnusable, load_documents, make_reader
from ingestion.connectors.llama_index.connector import LlamaIndexConnector, LlamaIndexSettings
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


@pytest.mark.anyio
async def test_all_documents_of_a_resource_that_fails_stay(tmp_path: Path):
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    bad = str(tmp_path / "bad.txt")

    async def find_known(key: str) -> KnownItem | None:
        return KnownItem("", {}) if key in {bad, f"{bad}#2", f"{bad}#3"} else None

    environment = ConnectorEnvironment(OutboundGuard(), (), tmp_path, 1000, find_known, reader_modules=(DIRECTORY,))
    arguments = {"input_dir": str(tmp_path), "errors": "strict"}
    settings = LlamaIndexSettings.model_validate({"reader": DIRECTORY, "arguments": arguments})
    connector = LlamaIndexConnector(settings, environment)
    items = {item.key: item.failure.reason if item.failure else "" async for item in connector.items()}
    failure = "reader_failed"
    assert items == {str(tmp_path / "good.txt"): "", bad: failure, f"{bad}#2": failure, f"{bad}#3": failure}


def test_resource_that_cannot_be_loaded_fails_alone(tmp_path: Path):
    for name in ("first.md", "second.md"):
        (tmp_path / name).write_text(name)
    reader = make_reader(DIRECTORY, {"input_dir": str(tmp_path)})
    (tmp_path / "first.md").unlink()
    replies = io.BytesIO()
    documents = list(load_documents(reader, request_of(DIRECTORY), replies))
    assert [document.text for _, document in documents] == ["second.md"]
    failure = json.loads(replies.getvalue()[LENGTH.size :])
    assert (failure["resource"], failure["error"]) == (str(tmp_path / "first.md"), "FileNotFoundError")
