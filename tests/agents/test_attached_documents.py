"""Documents of messages: their stored form, and how much of them is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.attachments.documents import MOST_CHARACTERS, AttachedDocument, DocumentParser, DocumentPassage, from_bytes
from core.errors.requests import UnsupportedFileType
from core.settings import Settings

PASSAGES = st.builds(
    DocumentPassage,
    text=st.text(min_size=1, max_size=40),
    heading_path=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    page=st.none() | st.integers(1, 9),
    char_start=st.integers(0, 99),
    char_end=st.integers(0, 99),
)
DOCUMENTS = st.builds(
    AttachedDocument,
    name=st.text(min_size=1, max_size=9),
    mime_type=st.just("text/plain"),
    passages=st.lists(PASSAGES, min_size=1, max_size=6).map(tuple),
    is_cut=st.booleans(),
)


@given(DOCUMENTS)
def test_stored_form_is_read_back(document: AttachedDocument):
    assert from_bytes(document.to_bytes()) == document


@given(DOCUMENTS, st.integers(0, 250))
def test_beginning_is_as_long_as_it_may_be(document: AttachedDocument, most: int):
    short = document.shortened(most)
    count = len(short.passages)

    assert short.passages == document.passages[:count]
    assert count == 1 or sum(len(passage.text) for passage in short.passages) <= most
    assert short.is_cut == (document.is_cut or count < len(document.passages))
    if count < len(document.passages):
        assert sum(len(passage.text) for passage in document.passages[: count + 1]) > most


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("filename", "mime_type", "name"),
    [
        ("a/b\\notes.md", "application/octet-stream", "notes.md"),
        ("", "text/markdown; charset=utf-8", "document.md"),
        ("notes", "text/markdown", "notes.md"),
        ("notes.unknown", "text/plain", "notes.unknown.txt"),
        ("\u202enotes.txt", "text/plain", "notes.txt"),
        ("", "", "document.txt"),
    ],
)
async def test_document_is_known_by_its_name_or_its_media_type(filename: str, mime_type: str, name: str):
    parser = DocumentParser(Settings())
    try:
        document = await parser.parse(b"# Port\n\nIt is 7070.\n", filename, mime_type)
        with pytest.raises(UnsupportedFileType):
            await parser.parse(b"It is 7070.", "a.exe", "application/x-executable")
    finally:
        await parser.close()

    assert document.name == name
    assert not document.is_cut
    assert "It is 7070." in document.passages[-1].text


@pytest.mark.anyio
async def test_long_document_is_cut():
    parser = DocumentParser(Settings())
    try:
        text = "A sentence of some words.\n\n" * (MOST_CHARACTERS // 20)
        document = await parser.parse(text.encode(), "long.txt", "")
    finally:
        await parser.close()

    assert document.is_cut
    assert MOST_CHARACTERS - 2000 < sum(len(passage.text) for passage in document.passages) <= MOST_CHARACTERS
