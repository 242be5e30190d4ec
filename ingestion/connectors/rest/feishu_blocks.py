"""Blocks of a Feishu document as Markdown.

Their types are those of open.feishu.cn/document/docs/docs/data-structure/block.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from ingestion.connectors.rest import markdown
from ingestion.connectors.rest.json_values import JsonMapping, as_items, as_mapping, as_text, as_texts

_PAGE, _TEXT, _FIRST_HEADING, _LAST_HEADING = 1, 2, 3, 11
_BULLET, _ORDERED, _CODE, _QUOTE, _TODO, _CALLOUT, _DIVIDER, _FILE = 12, 13, 14, 15, 17, 19, 22, 23
_TABLE, _QUOTE_CONTAINER = 31, 34
_FIELDS: Mapping[int, str] = {
    _PAGE: "page",
    _TEXT: "text",
    **{number: f"heading{number - _FIRST_HEADING + 1}" for number in range(_FIRST_HEADING, _LAST_HEADING + 1)},
    _BULLET: "bullet",
    _ORDERED: "ordered",
    _CODE: "code",
    _QUOTE: "quote",
    _TODO: "todo",
}
_MARKS: Mapping[int, str] = {_BULLET: "- ", _ORDERED: "1. "}
_LISTED = frozenset({_BULLET, _ORDERED, _TODO})
_DEEPEST = 50


def document_markdown(blocks: Sequence[JsonMapping], title: str) -> str:
    """A document's Markdown; pictures, sheets and embedded things are left out."""
    return _BlockWriter(blocks, title).write()


class _BlockWriter:
    """Writes each block once, however they refer to each other."""

    def __init__(self, blocks: Sequence[JsonMapping], title: str) -> None:
        self._blocks = {as_text(block.get("block_id")): block for block in blocks}
        self._title = title
        self._written: set[str] = set()

    def write(self) -> str:
        root = next((block for block in self._blocks.values() if _kind(block) == _PAGE), None)
        if root is None:
            return f"{markdown.heading(1, self._title)}\n"
        parts = [markdown.heading(1, _text(root) or self._title), self._children(root, 0)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _children(self, block: JsonMapping, depth: int) -> str:
        parts: list[tuple[str, bool]] = []
        for child_id in as_texts(block.get("children")):
            child = self._blocks.get(child_id)
            if child is not None and child_id not in self._written and depth <= _DEEPEST:
                self._written.add(child_id)
                parts.append((self._block(child, depth), _kind(child) in _LISTED))
        return markdown.joined(parts)

    def _block(self, block: JsonMapping, depth: int) -> str:
        kind = _kind(block)
        if kind == _TABLE:
            return self._table(block, depth)
        own, below = self._own_text(block), self._children(block, depth + 1)
        if kind in _LISTED:
            mark = _MARKS.get(kind, "") or ("- [x] " if _style(block).get("done") else "- [ ] ")
            return markdown.list_item(mark, own, below)
        text = "\n\n".join(filter(None, [own, below]))
        return markdown.quoted(text) if text and kind in {_QUOTE, _CALLOUT, _QUOTE_CONTAINER} else text

    def _own_text(self, block: JsonMapping) -> str:
        kind = _kind(block)
        if kind == _DIVIDER:
            return "---"
        if kind == _FILE:
            return as_text(as_mapping(block.get("file")).get("name"))
        text = _text(block)
        if kind == _CODE:
            return markdown.fence(_text(block, is_plain=True))
        if _FIRST_HEADING <= kind <= _LAST_HEADING:
            # The title is the only one of the first level.
            return markdown.heading(kind - _FIRST_HEADING + 2, text)
        return markdown.paragraph(text)

    def _table(self, block: JsonMapping, depth: int) -> str:
        fields = as_mapping(block.get("table"))
        width = as_mapping(fields.get("property")).get("column_size")
        cells: list[str] = []
        for cell_id in as_texts(fields.get("cells")):
            cell = self._blocks.get(cell_id, {})
            self._written.add(cell_id)
            cells.append(self._children(cell, depth + 1))
        if not isinstance(width, int) or width < 1:
            return "\n\n".join(filter(None, cells))
        return markdown.table([cells[start : start + width] for start in range(0, len(cells), width)])


def _text(block: JsonMapping, *, is_plain: bool = False) -> str:
    field = as_mapping(block.get(_FIELDS.get(_kind(block), "")))
    return "".join(_element(as_mapping(element), is_plain=is_plain) for element in as_items(field.get("elements")))


def _element(element: JsonMapping, *, is_plain: bool) -> str:
    if run := as_mapping(element.get("text_run")):
        text, style = as_text(run.get("content")), as_mapping(run.get("text_element_style"))
        if is_plain:
            return text
        text = markdown.styled(text, is_code=style.get("inline_code") is True, is_bold=style.get("bold") is True)
        return markdown.link(text, unquote(as_text(as_mapping(style.get("link")).get("url"))))
    if mention := as_mapping(element.get("mention_doc")):
        return markdown.link(as_text(mention.get("title")), unquote(as_text(mention.get("url"))))
    if equation := as_mapping(element.get("equation")):
        return f"${as_text(equation.get('content')).strip()}$"
    return ""


def _style(block: JsonMapping) -> JsonMapping:
    return as_mapping(as_mapping(block.get(_FIELDS.get(_kind(block), ""))).get("style"))


def _kind(block: JsonMapping) -> int:
    kind = block.get("block_type")
    return kind if isinstance(kind, int) else 0
