"""Split previews: in time, one after the other, and nothing left running."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors.requests import PreviewBusy, UnreadableFile
from core.errors.server import EngineUnavailable
from core.settings import Settings
from ingestion import preview
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.preview import SplitPreviewer, SplitRequest
from ingestion.splitters import SplitterEntry, heading_recursive
from kb_service.embeddings.protocol import Vectors
from kb_service.knowledge_bases.service import Splitting
from kb_service.text.token_counter import token_counter

pytestmark = pytest.mark.anyio


@pytest.fixture
async def previewer(tmp_path: Path) -> AsyncIterator[SplitPreviewer]:
    settings = Settings(_env_file=None, data_dir=tmp_path, parse_timeout_seconds=2)
    previewer = SplitPreviewer(settings)
    yield previewer
    await previewer.close()


class Away:
    """The encoder of an engine that is away."""

    name, dimension, languages = "away", 4, frozenset[str]()

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EngineUnavailable

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        raise EngineUnavailable


def request(path: Path, text: str, **changes: object) -> SplitRequest:
    path.write_text(text)
    document = ParseRequest(path, "text/markdown")
    preview_request = SplitRequest(document, Splitting("heading_recursive", 100, 0), token_counter(), Away(), "", 3)
    return replace(preview_request, **changes)


async def test_file_that_takes_too_long_to_parse_is_given_up_and_the_next_one_is_cut(
    previewer: SplitPreviewer, tmp_path: Path
):
    slow = request(tmp_path / "slow.md", "- item with *some* words\n\n" * 400_000)
    with pytest.raises(UnreadableFile) as caught:
        await previewer.preview(slow)
    assert caught.value.details["reason"] == "parse_timeout"
    assert (await previewer.preview(request(tmp_path / "a.md", "# A\n\ntext"))).total == 1


async def test_only_a_splitter_that_compares_meanings_needs_the_engine(previewer: SplitPreviewer, tmp_path: Path):
    text = "# A\n\nOne sentence. Another one."
    assert (await previewer.preview(request(tmp_path / "a.md", text))).total == 1
    semantic = Splitting("llama_index:SemanticSplitterNodeParser", 100, 0)
    with pytest.raises(EngineUnavailable):
        await previewer.preview(request(tmp_path / "a.md", text, splitting=semantic))


async def test_cutting_stops_when_the_time_is_over(
    previewer: SplitPreviewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await previewer.preview(request(tmp_path / "warm.md", "warm"))
    stopped = threading.Event()
    begun = threading.Event()

    def endless(parsed, *, sizes, counter):
        piece = next(whole(parsed, sizes=sizes, counter=counter))
        try:
            while True:
                begun.set()
                yield piece
        finally:
            stopped.set()

    whole = heading_recursive.split
    monkeypatch.setitem(preview.SPLITTERS, "heading_recursive", SplitterEntry(lambda _: endless))
    call = asyncio.create_task(previewer.preview(request(tmp_path / "a.md", "text")))
    assert await asyncio.to_thread(begun.wait, 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(stopped.wait, 30)


async def test_preview_whose_turn_does_not_come_is_told_so(
    previewer: SplitPreviewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(preview, "_LOCK_SECONDS", 0.1)
    slow = request(tmp_path / "slow.md", "- item with *some* words\n\n" * 400_000)
    first = asyncio.create_task(previewer.preview(slow))
    await asyncio.sleep(0.05)
    with pytest.raises(PreviewBusy):
        await previewer.preview(request(tmp_path / "a.md", "# A\n\ntext"))
    with pytest.raises(UnreadableFile):
        await first


@pytest.mark.parametrize(
    ("splitter", "parser", "is_given_up"),
    [
        ("heading_recursive", "built_in", True),
        ("llama_index:SemanticSplitterNodeParser", "built_in", False),
        ("heading_recursive", "unstructured", False),
    ],
)
async def test_what_encodes_text_or_is_read_by_another_parser_has_more_time(
    previewer: SplitPreviewer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    splitter: str,
    parser: str,
    is_given_up: bool,
):
    monkeypatch.setattr(preview, "PREVIEW_SECONDS", 0.0)
    split_request = request(tmp_path / "a.md", "# A", splitting=Splitting(splitter, 100, 0))
    split_request = replace(split_request, document=replace(split_request.document, parser=parser))
    with pytest.raises((UnreadableFile, EngineUnavailable)) as caught:
        await previewer.preview(split_request)
    assert (caught.value.details.get("reason") == "parse_timeout") is is_given_up
