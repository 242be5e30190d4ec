"""Batch uploads over HTTP: many files, metadata, names, and the quota."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import (
    EmptyFile,
    FileTooLarge,
    InvalidFileName,
    InvalidRequest,
    QuotaExceeded,
    UnsupportedFileType,
)
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server

SHORT = b"# Note\n\nThe zebra sleeps at noon.\n"


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


def send(user: Api, kb: str, *files: tuple[str, bytes], **fields: str) -> list[dict[str, Any]]:
    path = f"/knowledge-bases/{kb}/documents/batch"
    parts = [("file", (name, content, "text/plain")) for name, content in files]
    return check_success(user.request("POST", path, files=parts, data=fields))["items"]


def test_batch_says_for_each_file_what_became_of_it(user: Api, kb: str, server: Server):
    items = send(
        user,
        kb,
        ("a.md", SHORT),
        ("empty.md", b""),
        ("b.md", SHORT + b"b"),
        ("song.mp3", b"ID3\x04"),
        ("a.md", SHORT),
        ("big.txt", b"x" * (MAX_UPLOAD_BYTES + 1)),
        ("last.md", SHORT + b"last"),
    )
    assert [item["name"] for item in items] == [
        "a.md",
        "empty.md",
        "b.md",
        "song.mp3",
        "a.md",
        "big.txt",
        "last.md",
    ]
    assert told_of(items) == [
        "created",
        EmptyFile.code,
        "created",
        UnsupportedFileType.code,
        "unchanged",
        FileTooLarge.code,
        "created",
    ]
    rows = user.get(f"/knowledge-bases/{kb}/documents")["items"]
    assert {row["name"] for row in rows} == {"a.md", "b.md", "last.md"}
    for row in rows:
        assert user.wait(kb, row["id"])["status"] == "completed"
    assert server.is_ready()


def told_of(items: list[dict[str, Any]]) -> list[str | int]:
    """For each file its outcome, or the code of its refusal."""
    return [item["document"]["outcome"] if item["document"] else item["error"]["code"] for item in items]


def test_taken_names_in_a_batch_stop_none_of_the_others(user: Api, kb: str, server: Server):
    taken = user.upload(kb, "taken.md", SHORT)
    files = server.files
    sent = [(f"{number}.md", SHORT + str(number).encode()) for number in range(20)]
    for place in (3, 4, 19):
        sent[place] = ("taken.md", SHORT + b"other words")
    items = send(user, kb, *sent, on_conflict="refuse")
    told = told_of(items)
    assert [told[place] for place in (3, 4, 19)] == [DocumentNameTaken.code] * 3
    assert told.count("created") == 17
    assert items[3]["error"]["details"]["document_id"] == taken
    for item in items:
        if item["document"]:
            assert user.wait(kb, item["document"]["id"])["status"] == "completed"
    assert user.get(f"/knowledge-bases/{kb}/documents")["total"] == 18
    # No bytes are kept of what was refused.
    assert len(server.files - files) == 17


def test_names_that_come_twice_in_a_batch_are_one_document(user: Api, kb: str):
    items = send(user, kb, ("a.md", SHORT), ("a.md", SHORT), ("a.md", SHORT + b"new"))
    assert told_of(items) == ["created", "unchanged", "replaced"]
    assert len({item["document"]["id"] for item in items}) == 1
    assert user.wait(kb, items[0]["document"]["id"])["status"] == "completed"
    beside = send(user, kb, ("a.md", b"one"), ("a.md", b"two"), on_conflict="keep_both")
    assert [item["document"]["name"] for item in beside] == ["a (2).md", "a (3).md"]


def test_batch_of_nothing_and_of_others_is_refused(user: Api, kb: str, other: Api):
    path = f"/knowledge-bases/{kb}/documents/batch"
    user.refused(InvalidRequest, "POST", path, json={})
    user.refused(InvalidRequest, "POST", path, files={"note": (None, b"x")})
    missing = KnowledgeBaseNotFound
    other.refused(missing, "POST", path, files={"file": ("a.md", SHORT)})


def test_metadata_comes_with_the_upload_and_can_be_changed(user: Api, kb: str):
    sent = {"author": "王小明", "year": 2026, "tags": ["x"]}
    row = user.put_file(kb, "a.md", SHORT, metadata=json.dumps(sent))
    assert row["metadata"] == sent
    again = user.put_file(kb, "a.md", SHORT, metadata='{"year": 2027}')
    assert (again["outcome"], again["metadata"]) == ("unchanged", {"year": 2027})
    assert user.put_file(kb, "a.md", SHORT)["metadata"] == {"year": 2027}
    path = f"/knowledge-bases/{kb}/documents/{row['id']}"
    changed = user.put(path, {"metadata": {"draft": True}})
    assert (changed["metadata"], changed["name"]) == ({"draft": True}, "a.md")
    assert user.put(path, {"metadata": {}})["metadata"] == {}


def test_metadata_that_is_not_flat_is_refused_and_nothing_kept(user: Api, kb: str):
    for text in ("{", "[]", '{"a": {"b": 1}}'):
        answer = user.send_file(kb, "a.md", SHORT, metadata=text)
        assert check_error(answer, InvalidRequest)["field"] == "metadata"
    assert user.get(f"/knowledge-bases/{kb}/documents")["total"] == 0


def test_document_is_renamed_but_never_to_a_name_that_is_taken(user: Api, kb: str):
    first, second = user.upload(kb, "a.md", SHORT), user.upload(kb, "b.md", SHORT)
    path = f"/knowledge-bases/{kb}/documents/{first}"
    assert user.put(path, {"name": "  c.md"})["name"] == "c.md"
    details = user.refused(DocumentNameTaken, "PUT", path, json={"name": "b.md"})
    assert details["document_id"] == second
    user.refused(InvalidFileName, "PUT", path, json={"name": "..."})
    user.refused(InvalidRequest, "PUT", path, json={"status": "completed"})
    assert user.put_file(kb, "a.md", SHORT)["outcome"] == "created"
    assert user.put_file(kb, "c.md", SHORT)["id"] == first


def test_storage_is_shown_without_a_quota(user: Api, kb: str):
    user.upload(kb, "a.md", SHORT)
    assert user.get("/users/me/storage") == {
        "used_bytes": len(SHORT),
        "limit_bytes": None,
        "documents": 1,
        "image_bytes": 0,
    }


@pytest.fixture
def limited(embedded: Server) -> Iterator[Server]:
    """The product while everybody has a thousand bytes."""
    admin, path = embedded.admin(), "/admin/system/config/user_quota_bytes"
    admin.put(path, {"value": 1000})
    yield embedded
    admin.delete(path)


def test_documents_and_images_are_one_quota(limited: Server):
    user = limited.person()
    kb = user.create_kb()
    drawn = io.BytesIO()
    Image.effect_noise((20, 20), 90).save(drawn, "PNG")
    image = {"file": ("a.png", drawn.getvalue(), "image/png")}
    assert user.request("POST", "/agent/attachments", files=image).is_success
    storage = user.get("/users/me/storage")
    assert storage["used_bytes"] == storage["image_bytes"] > 300
    rest = 1000 - storage["used_bytes"]

    response = user.send_file(kb, "b.md", b"y" * (rest + 1))
    assert check_error(response, QuotaExceeded)["used_bytes"] == 1001
    assert user.put_file(kb, "b.md", b"y" * rest)["outcome"] == "created"
    user.refused(QuotaExceeded, "POST", "/agent/attachments", files=image)


def test_files_of_a_batch_are_taken_in_as_long_as_the_quota_has_room(limited: Server):
    user = limited.person()
    kb, files = user.create_kb(), limited.files
    sizes = (400, 500, 300, 200)
    items = send(user, kb, *((f"{size}.md", b"x" * size) for size in sizes))
    refused = QuotaExceeded.code
    assert told_of(items) == ["created", "created", refused, refused]
    storage = user.get("/users/me/storage")
    assert (storage["used_bytes"], storage["documents"]) == (900, 2)
    assert len(limited.files - files) == 2


def test_upload_over_the_quota_is_refused_and_deleting_makes_room(limited: Server):
    user = limited.person()
    kb = user.create_kb()
    first = user.put_file(kb, "a.md", SHORT + b"x" * 700)["id"]
    files = limited.files
    details = check_error(user.send_file(kb, "b.md", SHORT + b"y" * 700), QuotaExceeded)
    assert details["limit_bytes"] == 1000
    assert details["used_bytes"] > 1000
    assert limited.files <= files
    storage = user.get("/users/me/storage")
    assert (storage["limit_bytes"], storage["documents"]) == (1000, 1)
    user.delete(f"/knowledge-bases/{kb}/documents/{first}")
    assert user.put_file(kb, "b.md", SHORT + b"y" * 700)["outcome"] == "created"
    details = user.refused(QuotaExceeded, "POST", f"/knowledge-bases/{kb}/copy", json={})
    assert details["limit_bytes"] == 1000
    exported = user.request("GET", f"/knowledge-bases/{kb}/export").content
    sent = {"files": {"file": ("kb.akb", exported)}, "data": {"name": "again"}}
    files = limited.files
    response = user.request("POST", "/knowledge-bases/import", **sent)
    check_error(response, QuotaExceeded)
    assert limited.files <= files
    assert [base["id"] for base in user.get("/knowledge-bases")["items"]] == [kb]
    another = limited.person()
    assert another.put_file(another.create_kb(), "a.md", SHORT)["outcome"] == "created"
