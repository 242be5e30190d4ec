"""The encoding of a text document, chosen by a person where it was not recognised."""

import httpx
import pytest

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.requests import InvalidRequest, UnreadableFile
from tests.e2e.knowledge_bases.test_transfers import export, send, wait
from tests.fixtures.http.client import Api, check_success, unique
from tests.fixtures.product.leftover_data import check_consistent
from tests.fixtures.product.server import Server, one_shape

# Too short for any statistics: taken for Windows' code page, and said to be uncertain.
TEXT = "Сырники"
MORE = "Тёплый суп в старом доме у реки."


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


def garbled(user: Api, kb: str, name: str = "recipe.txt") -> str:
    """A document in KOI8-R that is read as something else."""
    document_id = user.ingest(kb, name, TEXT.encode("koi8-r"))
    assert content(user, kb, document_id) != TEXT
    assert user.document(kb, document_id)["warnings"] == ["encoding"]
    return document_id


def content(user: Api, kb: str, document_id: str) -> str:
    chunks = user.get(f"/knowledge-bases/{kb}/documents/{document_id}/chunks")["items"]
    return "\n".join(chunk["content"] for chunk in chunks)


def choose(user: Api, kb: str, document_id: str, encoding: str) -> httpx.Response:
    path = f"/knowledge-bases/{kb}/documents/{document_id}"
    return user.request("PUT", path, json={"encoding": encoding})


def test_text_is_read_again_as_it_was_said_to_be(user: Api, kb: str, server: Server):
    document_id = garbled(user, kb)
    told = check_success(choose(user, kb, document_id, "KOI8-R"))
    assert (told["status"], told["chosen_encoding"], told["searchable"]) == (
        "pending",
        "koi8-r",
        True,
    )
    row = user.wait(kb, document_id)
    assert (row["status"], row["encoding"], row["warnings"]) == ("completed", "koi8-r", [])
    assert content(user, kb, document_id) == TEXT
    assert [hit["content"] for hit in user.search(kb, TEXT)] == [TEXT]
    check_consistent(server, kb)

    # The same once more is nothing to do; a retry of whatever kind goes on with it.
    again = check_success(choose(user, kb, document_id, "koi8_r"))
    assert (again["status"], again["revision"]) == ("completed", row["revision"])
    preview = user.request(
        "POST",
        f"/knowledge-bases/{kb}/split-preview",
        params={"document_id": document_id},
    )
    assert check_success(preview)["pieces"][0]["text"] == TEXT


def test_what_was_said_goes_with_the_bytes_and_not_with_the_name(user: Api, kb: str):
    document_id = garbled(user, kb)
    choose(user, kb, document_id, "koi8-r")
    user.wait(kb, document_id)
    user.put_file(kb, "recipe.txt", MORE.encode())
    row = user.wait(kb, document_id)
    assert (row["chosen_encoding"], row["encoding"]) == (None, "utf-8")
    assert content(user, kb, document_id) == MORE


def test_choice_is_taken_back(user: Api, kb: str):
    document_id = garbled(user, kb)
    before = content(user, kb, document_id)
    choose(user, kb, document_id, "koi8-r")
    user.wait(kb, document_id)
    check_success(choose(user, kb, document_id, "auto"))
    row = user.wait(kb, document_id)
    assert (row["chosen_encoding"], row["warnings"]) == (None, ["encoding"])
    assert content(user, kb, document_id) == before


@one_shape
def test_bytes_that_do_not_fit_the_choice_are_a_warning(user: Api, kb: str):
    document_id = user.ingest(kb, "a.txt", MORE.encode("cp1251"))
    check_success(choose(user, kb, document_id, "utf-8"))
    row = user.wait(kb, document_id)
    assert (row["status"], row["encoding"], row["warnings"]) == (
        "completed",
        "utf-8",
        ["encoding"],
    )


@one_shape
@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [("recipe.txt", TEXT, "utf-8"), ("recipe.json", f'{{"name": "{TEXT}"}}', "utf-32")],
)
def test_choice_that_no_word_fits_is_the_reason(user: Api, kb: str, name: str, content: str, encoding: str):
    document_id = user.ingest(kb, name, content.encode("koi8-r"))
    check_success(choose(user, kb, document_id, encoding))
    row = user.wait(kb, document_id)
    assert (row["status"], row["failure"]["reason"]) == ("failed", "wrong_encoding")
    assert "another encoding" in row["failure"]["next_action"]
    assert "auto" in row["failure"]["next_action_zh"]
    path = f"/knowledge-bases/{kb}/split-preview"
    details = user.refused(UnreadableFile, "POST", path, params={"document_id": document_id})
    assert details["reason"] == "wrong_encoding"
    check_success(choose(user, kb, document_id, "koi8-r"))
    assert user.wait(kb, document_id)["status"] == "completed"


@one_shape
def test_recognised_encoding_has_the_name_of_the_chosen_one(user: Api, kb: str):
    # Long enough to be recognised.
    document_id = user.ingest(kb, "soup.txt", (MORE * 3).encode("koi8-r"))
    assert user.document(kb, document_id)["encoding"] == "koi8-r"


def test_choice_travels_with_the_knowledge_base(user: Api, kb: str):
    document_id = garbled(user, kb)
    choose(user, kb, document_id, "koi8-r")
    user.wait(kb, document_id)
    sent = check_success(send(user, export(user, kb), name=unique()))
    copy = wait(user, sent)["knowledge_base_id"]
    [there] = user.get(f"/knowledge-bases/{copy}/documents")["items"]
    assert there["chosen_encoding"] == "koi8-r"
    check_success(choose(user, copy, there["id"], "utf-8"))
    check_success(choose(user, copy, there["id"], "koi8-r"))
    user.wait(copy, there["id"])
    assert content(user, copy, there["id"]) == TEXT


@one_shape
@pytest.mark.parametrize("encoding", ["klingon", "", "unicode_escape", "idna", "../x", "zlib", "utf-7"])
def test_unknown_encoding_is_refused(user: Api, kb: str, encoding: str):
    document_id = user.ingest(kb, "a.txt", MORE)
    path = f"/knowledge-bases/{kb}/documents/{document_id}"
    details = user.refused(InvalidRequest, "PUT", path, json={"encoding": encoding})
    assert details["field"] == "encoding"
    assert "koi8-r" in details["error"]
    assert user.document(kb, document_id)["revision"] == 1


@one_shape
@pytest.mark.parametrize("name", ["mail.eml", "book.rtf"])
def test_only_plain_text_has_an_encoding_to_choose(user: Api, kb: str, name: str):
    body = b"Subject: a\n\ntext" if name == "mail.eml" else rb"{\rtf1 text}"
    document_id = user.ingest(kb, name, body)
    path = f"/knowledge-bases/{kb}/documents/{document_id}"
    details = user.refused(InvalidRequest, "PUT", path, json={"encoding": "utf-8"})
    assert details["field"] == "encoding"


def test_only_who_writes_chooses(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "a.txt", MORE)
    path = f"/knowledge-bases/{kb}/documents/{document_id}"
    stranger = server.person()
    stranger.refused(KnowledgeBaseNotFound, "PUT", path, json={"encoding": "utf-8"})
