"""Knowledge bases that are kept in step with what readers of LlamaIndex give."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import PermissionDenied
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source
from tests.fixtures.product.server import Server

OWN = "tests.fixtures.knowledge.llama_index_readers"
TOKEN = {"secret_arguments": {"token": "token-of-the-otter"}}


@pytest.fixture
def admin(embedded: Server) -> Api:
    return embedded.admin()


def make_source(admin: Api, reader: str, credentials: Any = None, **settings: Any) -> Source:
    return Source(admin, admin.create_kb(), "llama_index", {"reader": reader, **settings}, credentials=credentials)


def test_resources_of_a_reader_are_followed(admin: Api, tmp_path: Path):
    folder = tmp_path / "animals"
    folder.mkdir()
    for animal in ("otter", "heron", "badger", "crane"):
        (folder / f"{animal}.md").write_text(f"# {animal}\n\nAll about the {animal}.\n")
    reader = "llama_index.core.SimpleDirectoryReader"
    source = make_source(admin, reader, arguments={"input_dir": str(folder)})
    sync = source.wait()
    assert (sync["status"], sync["counts"], sync["failure"]) == ("completed", {"created": 4}, None), sync
    first = source.documents()
    assert source.contents()["otter.md"] == "# otter\n\nAll about the otter.\n"
    assert first["otter.md"]["metadata"]["file_path"] == str(folder / "otter.md")
    assert first["otter.md"]["metadata"]["file_size"] == 30

    (folder / "otter.md").write_text("# otter\n\nThe otter has moved.\n")
    (folder / "heron.md").rename(folder / "grey heron.md")
    (folder / "badger.md").unlink()
    (folder / "lynx.md").write_text("# lynx\n")
    counts = source.sync()["counts"]
    # The path is in a document's metadata, not in its bytes: it has only another name.
    assert counts == {"updated": 1, "created": 1, "renamed": 1, "deleted": 1, "unchanged": 1}
    after = source.documents()
    assert after["grey heron.md"]["id"] == first["heron.md"]["id"]
    assert (after["grey heron.md"]["revision"], after["otter.md"]["revision"]) == (1, 2)

    folder.rename(tmp_path / "away")
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "reader_failed")
    assert "ValueError" in sync["failure"]["message"]
    assert str(folder) not in str(sync["failure"])
    assert set(source.contents()) == set(after)


def test_ids_and_secrets_of_a_reader(embedded: Server, admin: Api, tmp_path: Path):
    folder = tmp_path / "tickets"
    folder.mkdir()
    (folder / "1").write_text("The relay clicks.")
    (folder / "2").write_text("The relay hums.")
    source = make_source(admin, f"{OWN}.TicketReader", TOKEN, arguments={"folder": str(folder)}, format="text")
    assert source.wait()["counts"] == {"created": 2}
    assert source.row["credentials_set"] == ["secret_arguments"]
    document = source.documents()["Ticket 1.txt"]
    assert document["metadata"] == {"title": "Ticket 1", "number": 1, "labels": ["a", "b"]}

    (folder / "1").write_text("The relay is silent now.")
    source.body["credentials"] = {"secret_arguments": json.dumps({"token": "revoked"})}
    source.update()
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "reader_failed")
    assert "revoked" not in str(sync)
    assert source.contents()["Ticket 1.txt"] == "The relay clicks."
    logs = "".join(path.read_text(errors="replace") for path in embedded.log_files)
    assert "token-of-the-otter" not in logs + str(admin.get(source.path))


def test_documents_without_lasting_ids_are_told_apart_by_their_contents(admin: Api, tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    file.write_text('{"animal": "otter"}\n{"animal": "heron"}\n{"animal": "otter"}\n')
    settings = {"arguments": {"is_jsonl": True}, "load_arguments": {"input_file": str(file)}}
    source = make_source(admin, "llama_index.readers.json.JSONReader", **settings)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 2})
    assert sync["failure"]["reason"] == "no_stable_ids"
    file.write_text('{"animal": "heron"}\n{"animal": "marten"}\n')
    assert source.sync()["counts"] == {"unchanged": 1, "created": 1, "deleted": 1}


def test_readers_that_misbehave_end_in_a_clear_failure(admin: Api):
    source = make_source(admin, f"{OWN}.BadReader", arguments={"act": "large"})
    assert source.wait()["counts"] == {"created": 1, "failed": 1}
    assert source.failures() == {"large": "too_large"}

    def reason(**settings: Any) -> str:
        source.update(**settings)
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]["reason"]

    assert reason(arguments={"act": "exit"}) == "reader_crashed"
    assert reason(arguments={"act": "eat"}) == "reader_memory"
    assert reason(arguments={"act": "hang"}, timeout_seconds=8) == "reader_timeout"
    assert reason(reader="llama_index.readers.missing.Reader") == "reader_missing"
    assert set(source.contents()) == {"first.md"}


def test_only_administrators_run_readers_and_only_those_that_are_allowed(embedded: Server, admin: Api):
    kb_id, writer = admin.create_kb(), embedded.person()

    def body(**settings: Any) -> dict[str, Any]:
        return {"name": "wrong", "connector": "llama_index", "settings": settings}

    own = f"/knowledge-bases/{writer.create_kb()}/sources"
    writer.refused(PermissionDenied, "POST", own, json=body(reader="llama_index.readers.json.JSONReader"))
    path = f"/knowledge-bases/{kb_id}/sources"
    for reader in (
        "llama_index.readers.web.SimpleWebPageReader",
        "os.system",
        "llama_index.readers.jsonx.Reader",
        "x",
        "",
    ):
        assert admin.refused(InvalidRequest, "POST", path, json=body(reader=reader))["field"] == "settings.reader"
    wrong = body(reader="llama_index.readers.json.JSONReader") | {"credentials": {"secret_arguments": "no-json-canary"}}
    refusal = admin.refused(InvalidRequest, "POST", path, json=wrong)
    assert (refusal["field"], "canary" in str(refusal)) == ("credentials.secret_arguments", False)
