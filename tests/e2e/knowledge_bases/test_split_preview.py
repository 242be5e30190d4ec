"""Split previews over HTTP."""

from typing import Any

import httpx
import pytest

from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.requests import EmptyFile, InvalidRequest, UnreadableFile, UnsupportedFileType
from kb_service.models import SplitterName
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.leftover_data import stored_files
from tests.fixtures.product.server import Server, one_shape

TEXT = "# 手册\n\n## 安装\n\n" + "请先安装数据库。" * 60 + "\n\n## Use\n\n" + "Press start. " * 120

OVEN_AND_MARKET = (
    "Knead the dough for ten minutes. Let the dough rise in a warm bowl. Shape the bread into a round loaf. "
    "Dust the loaf with flour. Bake the bread in a hot oven until its crust is golden brown. Cool the loaf.",
    "Share prices fell. Investors sold bonds and stocks after the central bank raised its interest rate. "
    "The central bank fears inflation. Traders expect lower profits of banks. "
    "The currency lost value against the dollar. Analysts warn of a recession.",
)


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb(chunk_size=200, chunk_overlap=20)


def ask(api: Api, kb: str, content: bytes | str | None = TEXT, name: str = "a.md", **params: Any) -> httpx.Response:
    data = content.encode() if isinstance(content, str) else content
    files = None if data is None else {"file": (name, data)}
    path = f"/knowledge-bases/{kb}/split-preview"
    return api.request("POST", path, files=files, params=params)


@one_shape
@pytest.mark.parametrize("splitter", list(SplitterName))
def test_preview_shows_what_an_upload_would_make_and_keeps_nothing(
    user: Api, kb: str, server: Server, splitter: SplitterName
):
    before = server.files
    preview = check_success(ask(user, kb, splitter=splitter.value, pieces=50))
    assert (preview["splitter"], preview["chunk_size"]) == (splitter, 200)
    # Fewer there may be: what other tests deleted is erased meanwhile.
    assert server.files <= before
    assert stored_files(server, kb) == set()
    assert user.get(f"/knowledge-bases/{kb}/documents")["total"] == 0
    assert user.get(f"/knowledge-bases/{kb}")["splitter"] == "heading_recursive"

    real = user.create_kb(splitter=splitter.value, chunk_size=200, chunk_overlap=20)
    document_id = user.ingest(real, "a.md", TEXT)
    made = user.get(f"/knowledge-bases/{real}/documents/{document_id}/chunks", page_size=100)
    names = ("heading_path", "page", "char_start", "char_end", "token_count")
    assert [{n: piece[n] for n in names} for piece in preview["pieces"]] == [
        {n: chunk[n] for n in names} for chunk in made["items"]
    ]
    assert [piece["text"] for piece in preview["pieces"]] == [c["content"] for c in made["items"]]
    tokens = [chunk["token_count"] for chunk in made["items"]]
    assert (preview["total"], preview["max_tokens"]) == (made["total"], max(tokens))
    assert preview["mean_tokens"] == pytest.approx(sum(tokens) / len(tokens))
    windows = [window for piece in preview["pieces"] for window in piece["windows"]]
    assert len(windows) == preview["windows"]
    assert bool(windows) == (splitter in (SplitterName.PARENT_CHILD, SplitterName.LLAMA_INDEX_SENTENCE_WINDOWS))


@one_shape
def test_preview_shows_as_many_pieces_as_asked_for_and_counts_all(user: Api, kb: str):
    few = check_success(ask(user, kb, chunk_size=50, chunk_overlap=0, pieces=2))
    many = check_success(ask(user, kb, chunk_size=50, chunk_overlap=0, pieces=50))
    assert len(few["pieces"]) == 2
    assert few["pieces"] == many["pieces"][:2]
    assert few["total"] == many["total"] == len(many["pieces"]) > 10
    assert few["mean_tokens"] == many["mean_tokens"]


@one_shape
def test_document_of_the_knowledge_base_can_be_cut_otherwise(user: Api, kb: str):
    document_id = user.ingest(kb, "a.md", TEXT)
    preview = check_success(ask(user, kb, None, document_id=document_id, splitter="fixed", chunk_overlap=0))
    assert {piece["token_count"] for piece in preview["pieces"][:-1]} <= set(range(195, 201))
    assert user.document(kb, document_id)["revision"] == 1
    foreign = user.ingest(user.create_kb(), "b.md", "# B\n\ntext")
    for id_ in (foreign, "none"):
        check_error(ask(user, kb, None, document_id=id_), DocumentNotFound)


@one_shape
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"splitter": "by_moon"}, "splitter"),
        ({"chunk_size": 31}, "chunk_size"),
        ({"chunk_size": "many"}, "chunk_size"),
        ({"chunk_overlap": 101}, "chunk_overlap"),
        ({"pieces": 0}, "pieces"),
        ({"pieces": 51}, "pieces"),
    ],
)
def test_bad_wish_is_named(user: Api, kb: str, params: dict[str, Any], field: str):
    details = check_error(ask(user, kb, **params), InvalidRequest)
    assert details["field"] == field


@one_shape
def test_file_that_can_not_be_read_says_why_in_both_languages(user: Api, kb: str):
    details = check_error(ask(user, kb, b"%PDF-1.7\n1 0 obj\n<<", "a.pdf"), UnreadableFile)
    assert details["reason"] == "corrupt_file"
    assert details["message"]
    assert details["next_action_zh"]
    nothing = "<html><body><!-- nothing --></body></html>"
    blank = check_error(ask(user, kb, nothing, "a.html"), UnreadableFile)
    assert blank["reason"] == "empty_text"
    check_error(ask(user, kb, b"MZ\x90\x00", "a.exe"), UnsupportedFileType)
    check_error(ask(user, kb, b""), EmptyFile)
    assert check_error(ask(user, kb, None), InvalidRequest)["field"] == "file"
    # The parser's child has survived all this.
    assert check_success(ask(user, kb))["total"] > 1


def test_preview_is_for_those_who_may_write(user: Api, other: Api):
    kb = user.create_kb(is_public=True)
    check_error(ask(other, kb), ReadOnly)
    private = user.create_kb()
    check_error(ask(other, private), KnowledgeBaseNotFound)


@one_shape
def test_text_of_two_topics_is_cut_between_them_by_their_meaning(user: Api):
    kb = user.create_kb(splitter=SplitterName.LLAMA_INDEX_SEMANTIC.value, chunk_size=500, chunk_overlap=0)
    document_id = user.ingest(kb, "a.txt", " ".join(OVEN_AND_MARKET))
    made = user.get(f"/knowledge-bases/{kb}/documents/{document_id}/chunks")
    assert [chunk["content"] for chunk in made["items"]] == list(OVEN_AND_MARKET)
