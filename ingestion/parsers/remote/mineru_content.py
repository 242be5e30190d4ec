"""A content list of MinerU as a document.

An answer is ``{"results": {NAME: {"content_list": "[...]"}}}``: the list is JSON in a string. Its blocks stand in reading order,
with ``type``, ``page_idx`` (from 0), ``text`` in Markdown, ``text_level`` of headings and ``bbox``: left, top, right and bottom
in thousandths of the page from its top left corner. Sources: opendatalab/MinerU 3.4.4,
mineru/cli/fast_api.py (``build_result_dict``), docs/en/reference/output_files.md and ``make_blocks_to_content_list`` of
mineru/backend/pipeline/pipeline_middle_json_mkcontent.py, mineru/backend/vlm/vlm_middle_json_mkcontent.py and
mineru/backend/office/mkcontent/output_builders.py.
"""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from core.json_access import as_count, as_list, as_object, as_text
from core.types.text_boxes import TextBox
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.remote.answers import AnswerBuilder, box_in, read_answer, read_json, unexpected_answer

# They repeat on each page.
_LEFT_OUT = frozenset({"header", "footer", "page_number"})
_VISUALS = frozenset({"image", "chart", "table"})
# What mineru/backend/utils/markdown_utils.py escapes.
_ESCAPED = re.compile(r"\\([*_`~$#+-])")
_ALGORITHM = re.compile(r"<div[^>]*>\n?(.*?)\n?</div>", re.DOTALL)
_FENCE = re.compile(r"```[^\n]*\n(.*?)\n?```", re.DOTALL)
_INDENT = 4
_PAGE_SIZE = (1000, 1000)


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read an answer about one file; headers, footers and page numbers are left out, captions kept."""
    results = list(as_object(as_object(read_answer(path)).get("results")).values())
    if len(results) != 1:
        raise unexpected_answer()
    blocks = as_object(results[0]).get("content_list")
    if isinstance(blocks, str):
        blocks = read_json(blocks)
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise unexpected_answer()
    reader = _ContentReader(limits, has_pages=any(map(_is_placed, blocks)))
    for block in blocks:
        reader.add(as_object(block))
    return reader.builder.blocks.finish(pages=reader.builder.pages)


def _is_placed(value: JsonValue) -> bool:
    """Whether a block says where it is: those of Word documents are all on "page" 0, without a place on it."""
    block = as_object(value)
    return "bbox" in block or as_count(block.get("page_idx")) > 0


class _BlockPlace(NamedTuple):
    """Where a block stands; all that is made of it stands there."""

    page: int | None
    boxes: Sequence[TextBox]


class _ContentReader:
    """One pass over the blocks."""

    def __init__(self, limits: ParseLimits, *, has_pages: bool) -> None:
        self.builder = AnswerBuilder(limits)
        self._has_pages = has_pages

    def add(self, block: dict[str, JsonValue]) -> None:
        kind = block.get("type")
        if not isinstance(kind, str):
            raise unexpected_answer()
        page = self.builder.page(as_count(block.get("page_idx")) + 1) if self._has_pages else None
        if kind in _LEFT_OUT:
            return
        place = _BlockPlace(page, box_in(as_list(block.get("bbox")), _PAGE_SIZE, page))
        if kind in _VISUALS:
            self._add_visual(block, kind, place)
        elif kind == "code":
            self._add_code(block, place)
        elif kind in {"list", "index"}:
            for item in as_list(block.get("list_items")):
                self._add_item(as_text(item), place)
        elif kind == "equation":
            self._add_text(as_text(block.get("text")), 0, place)
        else:
            self._add_text(_plain(as_text(block.get("text"))), as_count(block.get("text_level")), place)

    def _add_text(self, text: str, level: int, place: _BlockPlace) -> None:
        kind = "heading" if level else "paragraph"
        self.builder.blocks.add(kind, text, level=level, page=place.page, boxes=place.boxes)

    def _add_visual(self, block: dict[str, JsonValue], kind: str, place: _BlockPlace) -> None:
        """A picture, chart or table between its captions and its footnotes."""
        for caption in _texts(block.get(f"{kind}_caption")):
            self._add_text(caption, 0, place)
        body = as_text(block.get("table_body" if kind == "table" else "content"))
        if "<table" in body:
            self.builder.add_table(body, "", place.page, place.boxes)
        else:
            self._add_text(_plain(body), 0, place)
        for footnote in _texts(block.get(f"{kind}_footnote")):
            self._add_text(footnote, 0, place)

    def _add_code(self, block: dict[str, JsonValue], place: _BlockPlace) -> None:
        for caption in _texts(block.get("code_caption")):
            self._add_text(caption, 0, place)
        body = as_text(block.get("code_body"))
        if block.get("sub_type") == "algorithm":
            wrapped = _ALGORITHM.fullmatch(body.strip())
            code = html.unescape(wrapped[1]) if wrapped else _plain(body)
        else:
            fenced = _FENCE.fullmatch(body.strip())
            code = fenced[1] if fenced else body
        self.builder.blocks.add("code", code, page=place.page, boxes=place.boxes)

    def _add_item(self, item: str, place: _BlockPlace) -> None:
        indent = len(item) - len(item.lstrip(" "))
        self.builder.add_item(_plain(item), indent // _INDENT + 1, place.page, boxes=place.boxes)


def _texts(value: JsonValue) -> Iterator[str]:
    yield from map(_plain, map(as_text, as_list(value) or [value]))


def _plain(text: str) -> str:
    """A text without the backslashes of Markdown; formulas stay as they are."""
    return _ESCAPED.sub(r"\1", text)
