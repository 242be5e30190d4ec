"""A DoclingDocument as a document.

An answer of docling-serve is ``{"document": {"json_content": {...}}, "status": ...}``. ``json_content`` holds a tree: ``body`` and
each node name their ``children`` by references such as ``#/texts/3`` into lists of the document. A node has a ``label``, its
``content_layer`` and in ``prov`` its pages, with the characters of its text on each and the ``bbox`` of these, in the unit of the
page's ``size``, from its top or its foot (``coord_origin``). Sources: docling-project/docling-serve 1.31.0,
docs/usage.md ("Response format"); docling-project/docling 2.121.0, docling/datamodel/service/responses.py
(``ConvertDocumentResponse``, ``TaskFailureResult``); docling-project/docling-core 2.87.1, docling_core/types/doc/document.py
(``DoclingDocument``), items/text.py, items/table/table_data.py, items/group.py, common/content_layer.py and labels.py.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from core.json_access import as_count, as_list, as_number, as_object, as_text
from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import TO_END
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import LaterPages, ParsedDocument
from ingestion.parsers.remote.answers import AnswerBuilder, box_in, read_answer, unexpected_answer
from ingestion.parsers.table_grid import MergedLabels

Node = dict[str, JsonValue]

_READ = frozenset({"success", "partial_success"})
# Headers and footers of pages, watermarks and hidden text are left out, as Docling's own exports do.
_LAYERS = frozenset({"body", "notes"})
_TABLES = frozenset({"table", "document_index"})
_CHECKBOXES = {"checkbox_selected": "[x]", "checkbox_unselected": "[ ]"}
_ENTER, _LEAVE_LIST = 1, -1
_MOST_DIGITS = 9


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the result of a conversion; of pictures their captions and descriptions.

    Raises:
        ParseFailure: ``parser_service_failed`` where the service says so.
    """
    answer = as_object(read_answer(path))
    if answer.get("kind") == "TaskFailureResult" or answer.get("status") in {"failure", "skipped"}:
        raise ParseFailure(FailureReason.PARSER_SERVICE_FAILED)
    document = as_object(as_object(answer.get("document")).get("json_content"))
    if answer.get("status") not in _READ or document.get("schema_name") != "DoclingDocument":
        raise unexpected_answer()
    reader = _TreeReader(document, limits)
    reader.read()
    for number in as_object(document.get("pages")):
        reader.builder.page(_number(number))
    return reader.builder.blocks.finish(pages=reader.builder.pages)


class _TreeReader:
    """One pass over the tree in reading order, without recursion; each node is read once, whatever refers to it."""

    def __init__(self, document: Node, limits: ParseLimits) -> None:
        self.builder = AnswerBuilder(limits)
        self._document = document
        self._seen: set[str] = set()
        self._lists = 0
        has_title = any(as_object(text).get("label") == "title" for text in as_list(document.get("texts")))
        # Sections are numbered anew below a title.
        self._section_level = 1 if has_title else 0

    def read(self) -> None:
        body = as_object(self._document.get("body"))
        waiting = [(node, _ENTER) for node in reversed(list(self._children(body)))]
        while waiting:
            node, way = waiting.pop()
            if way == _LEAVE_LIST:
                self._lists -= 1
                continue
            children = self._add(node)
            if node.get("label") in {"list", "ordered_list"}:
                self._lists += 1
                waiting.append((node, _LEAVE_LIST))
            waiting += [(child, _ENTER) for child in reversed(children)]

    def _children(self, node: Node, field: str = "children") -> Iterator[Node]:
        """What a node refers to and nothing has referred to before."""
        for reference in as_list(node.get(field)):
            name = as_text(as_object(reference).get("$ref"))
            target = self._resolve(name)
            if target and name not in self._seen:
                self._seen.add(name)
                yield target

    def _resolve(self, reference: str) -> Node:
        parts = reference.split("/")
        index = _number(parts[-1])
        if len(parts) != 3 or parts[0] != "#" or index is None:
            return {}
        nodes = as_list(self._document.get(parts[1]))
        return as_object(nodes[index]) if index < len(nodes) else {}

    def _add(self, node: Node) -> list[Node]:
        """Append what a node says itself; its children that are still to be read."""
        label = as_text(node.get("label"))
        if node.get("content_layer", "body") not in _LAYERS:
            return []
        if label == "inline":
            self._add_inline(node)
            return []
        if label in _TABLES or label in {"picture", "chart"}:
            return self._add_floating(node, label)
        text = as_text(node.get("text")) or as_text(node.get("orig"))
        children = list(self._children(node))
        if not text and children and children[0].get("label") == "inline":
            # An item with emphasis or links in it has its text below it.
            text = _joined(self._children(children.pop(0)))
        self._add_labelled(node, label, text)
        return children

    def _add_labelled(self, node: Node, label: str, text: str) -> None:
        page = self._page(node)
        if label == "title":
            self._add_text(node, "heading", text, level=1)
        elif label == "section_header":
            level = max(1, as_count(node.get("level"))) + self._section_level
            self._add_text(node, "heading", text, level=level)
        elif label == "list_item":
            marker = as_text(node.get("marker")) if node.get("enumerated") is True else "-"
            self.builder.add_item(text, self._lists, page, marker or "-", self._boxes(node))
        elif label == "code":
            self.builder.blocks.add("code", text, page=page, boxes=self._boxes(node))
        elif label in _CHECKBOXES:
            self._add_text(node, "paragraph", f"{_CHECKBOXES[label]} {text}" if text else "")
        else:
            self._add_text(node, "paragraph", text)

    def _add_text(self, node: Node, kind: str, text: str, level: int = 0) -> None:
        page = self._page(node)
        later = self._later_pages(node, page, text)
        self.builder.blocks.add(
            "heading" if kind == "heading" else "paragraph",
            text,
            level=level,
            page=page,
            later_pages=later,
            boxes=self._boxes(node),
        )

    def _add_inline(self, group: Node) -> None:
        """Append one paragraph of several runs; the group itself has no place."""
        runs = list(self._children(group))
        page = next(filter(None, map(self._page, runs)), None)
        boxes: list[TextBox] = []
        start = 0
        for run in runs:
            length = len(as_text(run.get("text")))
            boxes += [box._replace(start=start, end=start + length) for box in self._boxes(run)[:1] if length]
            start += length + 1 if length else 0
        self.builder.blocks.add("paragraph", _joined(runs), page=page, boxes=boxes)

    def _add_floating(self, node: Node, label: str) -> list[Node]:
        """A table or picture with its captions before it and its footnotes after it."""
        page = self._page(node)
        for caption in self._children(node, "captions"):
            self._add_text(caption, "paragraph", as_text(caption.get("text")))
        if label in _TABLES:
            self.builder.blocks.add_table(_rows(as_object(node.get("data"))), page=page, boxes=self._boxes(node))
        else:
            for description in _descriptions(node):
                self.builder.blocks.add("paragraph", description, page=page, boxes=self._boxes(node))
        for footnote in self._children(node, "footnotes"):
            self._add_text(footnote, "paragraph", as_text(footnote.get("text")))
        # Words in a picture are labels of a drawing; those in a table are in its cells.
        return []

    def _page(self, node: Node) -> int | None:
        return self.builder.page(as_object(next(iter(as_list(node.get("prov"))), None)).get("page_no"))

    def _boxes(self, node: Node) -> list[TextBox]:
        """Where a node stands: each place from its first character to that of the next.

        Where they do not ascend, as those of a table, each stands for the whole.
        """
        boxes: list[TextBox] = []
        starts: list[int] = []
        for place in map(as_object, as_list(node.get("prov"))):
            for box in self._box(as_object(place.get("bbox")), self.builder.page(place.get("page_no"))):
                boxes.append(box)
                starts.append(as_count(next(iter(as_list(place.get("charspan"))), None)))
        if len(set(starts)) == len(starts) and starts == sorted(starts):
            ends = [*starts[1:], TO_END]
            boxes = [box._replace(start=a, end=b) for box, a, b in zip(boxes, starts, ends, strict=False)]
        return boxes

    def _box(self, bbox: Node, page: int | None) -> list[TextBox]:
        size = as_object(as_object(as_object(self._document.get("pages")).get(str(page))).get("size"))
        top, bottom, height = (as_number(value) for value in (bbox.get("t"), bbox.get("b"), size.get("height")))
        if bbox.get("coord_origin") == "BOTTOMLEFT":
            top, bottom = height - top, height - bottom
        return box_in((bbox.get("l"), top, bbox.get("r"), bottom), (size.get("width"), height), page)

    def _later_pages(self, node: Node, first: int | None, text: str) -> LaterPages:
        """Where a text goes on on another page: offsets ascend, as do pages."""
        later: list[tuple[int, int]] = []
        before, offset = first, 0
        for place in map(as_object, as_list(node.get("prov"))[1:]):
            page = self.builder.page(place.get("page_no"))
            start = as_count(next(iter(as_list(place.get("charspan"))), None))
            if before is not None and page is not None and page > before and offset < start < len(text):
                later.append((start, page))
                before, offset = page, start
        return tuple(later)


def _joined(runs: Iterable[Node]) -> str:
    return " ".join(filter(None, (as_text(run.get("text")) for run in runs)))


def _number(text: str) -> int | None:
    """A number of digits; None for anything else, and for what is longer than any of them would be."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _descriptions(picture: Node) -> Iterator[str]:
    """What a model wrote about a picture: in ``meta``, in older versions in ``annotations``."""
    text = as_text(as_object(as_object(picture.get("meta")).get("description")).get("text"))
    if text:
        yield text
        return
    for annotation in map(as_object, as_list(picture.get("annotations"))):
        if annotation.get("kind") == "description":
            yield as_text(annotation.get("text"))


def _rows(data: Node) -> Iterator[list[str]]:
    """The texts of a table by row and column; a cell over several rows is repeated in each, as in our own tables."""
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for cell in map(as_object, as_list(data.get("table_cells"))):
        top, left = as_count(cell.get("start_row_offset_idx")), as_count(cell.get("start_col_offset_idx"))
        last = max(top, as_count(cell.get("end_row_offset_idx")) - 1)
        rows.setdefault(top, []).append((left, last, as_text(cell.get("text"))))
    # Columns in which no cell begins would be blank everywhere, and their number is anything.
    places = {left: place for place, left in enumerate(sorted({left for row in rows.values() for left, _, _ in row}))}
    labels = MergedLabels()
    for number in sorted(rows):
        cells = {places[left]: text for left, _, text in rows[number]}
        labels.write(number, cells)
        for left, last, text in rows[number]:
            if last > number:
                labels.hang(places[left], last, text)
        yield [cells.get(place, "") for place in range(max(cells) + 1)]
