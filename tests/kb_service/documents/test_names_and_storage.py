"""Cleaned file names, and uploads streamed into the object store."""

import hashlib
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors.requests import EmptyFile, FileTooLarge, InvalidFileName
from kb_service.document_names import clean_name
from kb_service.documents.storage import store_stream
from kb_service.object_storage.local import LocalObjectStore
from tests.fixtures.knowledge.stored_documents import blocks

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(exclude_categories=[]), max_size=400))
@example("\ud800.md")
@example("a" * 300 + ".md")
@example("字" * 200)
@example("../" * 50 + "x")
@example(" . ")
@example("\u200b\u202e")
@example("x." + "y" * 300)
def test_cleaned_name_is_short_visible_and_no_path(name: str):
    try:
        cleaned = clean_name(name)
    except InvalidFileName:
        return
    assert cleaned
    assert len(cleaned.encode()) <= 255
    assert not {unicodedata.category(character) for character in cleaned} & UNSEEN
    assert not set(cleaned) & set("/\\")
    assert cleaned == cleaned.strip()
    assert not cleaned.endswith(".")
    assert clean_name(cleaned) == cleaned


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("report.md", "report.md"),
        ("产品介绍.md", "产品介绍.md"),
        ("a/b/../c.md", "c.md"),
        ("C:\\Users\\x\\c.md", "c.md"),
        ("cafe\u0301.md", "café.md"),
        ("line\nbreak.md", "linebreak.md"),
        ("\u202ereversed.md", "reversed.md"),
        ("  padded.md . ", "padded.md"),
        (".hidden.md", ".hidden.md"),
        ("<b>.md", "<b>.md"),
    ],
)
def test_name_is_cleaned_as_a_person_would(name: str, cleaned: str):
    assert clean_name(name) == cleaned


def test_long_name_keeps_its_ending():
    cleaned = clean_name("字" * 300 + ".markdown")
    assert cleaned.endswith("字.markdown")
    assert len(cleaned.encode()) <= 255


@pytest.mark.parametrize("name", ["", " ", ".", "...", "/", "a/", "\u200b", "\x00", "x." + "y" * 300])
def test_name_with_nothing_usable_is_refused(name: str):
    with pytest.raises(InvalidFileName) as error:
        clean_name(name)
    assert error.value.details["field"] == "file"


@pytest.mark.anyio
async def test_upload_is_measured_and_hashed_on_its_way(tmp_path: Path):
    store = LocalObjectStore(tmp_path)
    content = b"some bytes" * 10_000
    stored = await store_stream(store, blocks(content, 777), max_bytes=len(content))
    assert (stored.size, stored.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    async with store.local_copy(stored.storage_key) as path:
        assert path.read_bytes() == content


@pytest.mark.anyio
async def test_upload_over_the_limit_is_cut_there_and_leaves_nothing(tmp_path: Path):
    store = LocalObjectStore(tmp_path)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b"x" * 1000

    with pytest.raises(FileTooLarge) as error:
        await store_stream(store, endless(), max_bytes=5_000)
    assert error.value.details == {"max_bytes": 5_000}
    assert sent == 6000
    assert await store.keys() == []


@pytest.mark.anyio
async def test_upload_of_nothing_leaves_nothing(tmp_path: Path):
    store = LocalObjectStore(tmp_path)
    with pytest.raises(EmptyFile):
        await store_stream(store, blocks(b""), max_bytes=10)
    assert await store.keys() == []
