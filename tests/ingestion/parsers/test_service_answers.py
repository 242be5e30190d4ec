"""What parsing services answer, as documents: each of the three shapes, and hostile ones."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingestion.parsers import ANSWERS, parser_for
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from tests.fixtures.servers.parser_services import recorded

UNSTRUCTURED, DOCLING, MINERU = (form.media_type for form in ANSWERS)
TABLE = ("table", 0, 1, "Pump | Flow\nPump | day | night\nOtter | 3 | 9")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, media_type: str, answer: Any, limits: ParseLimits | None = None) -> ParsedDocument:
    path = folder / "answer.json"
    path.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
    return parser_for(media_type)(path, limits or ParseLimits())


def blocks(document: ParsedDocument) -> list[tuple[str, int, int | None, str]]:
    return [(element.kind, element.level, element.page, element.text) for element in document.elements]


def element(kind: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "text": text, "metadata": metadata}


def content_list(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"results": {"document": {"content_list": json.dumps(parts)}}}


def docling_document(**fields: Any) -> dict[str, Any]:
    return {"status": "success", "document": {"json_content": {"schema_name": "DoclingDocument", **fields}}}


class AnswerCase(NamedTuple):
    """An answer, and the document that it is."""

    media_type: str
    answer: Any
    pages: int | None
    blocks: list[tuple[str, int, int | None, str]]


HEADING = ("heading", 1, 1, "Pumps of the otter works")
SENTENCE = ("paragraph", 0, 1, "The otter pump runs at night.")
SECTION = ("heading", 2, 1, "Maintenance")
FIGURE = ("paragraph", 0, 1, "Figure 1: the pump house")
CHINESE = ("paragraph", 0, 2, "水獭水泵在夜间运行。")
LISTING = ("code", 0, 2, "pump start --night\npump stop")
CONTRACT = {
    "elements of Unstructured": AnswerCase(
        UNSTRUCTURED,
        recorded("unstructured"),
        2,
        [
            HEADING,
            SENTENCE,
            SECTION,
            ("list_item", 1, 1, "- Close the valve."),
            ("list_item", 2, 1, "- Wait for the lamp."),
            TABLE,
            FIGURE,
            ("heading", 1, 2, "水泵"),
            CHINESE,
            LISTING,
            ("paragraph", 0, 2, "Q = v A"),
        ],
    ),
    "document of Docling": AnswerCase(
        DOCLING,
        recorded("docling"),
        3,
        [
            HEADING,
            SENTENCE,
            SECTION,
            ("list_item", 1, 1, "1. Close the valve."),
            ("list_item", 2, 1, "- Wait for the lamp."),
            ("paragraph", 0, 1, "Table 1: flow"),
            TABLE,
            FIGURE,
            ("paragraph", 0, 1, "It is read twice a day: once in the morning, once at night."),
            ("heading", 3, 2, "水泵"),
            CHINESE,
            LISTING,
            ("paragraph", 0, 2, "Q = v A"),
            ("paragraph", 0, 2, "Ask the keeper first."),
            ("paragraph", 0, 2, "[x] Tested"),
        ],
    ),
    "content list of MinerU": AnswerCase(
        MINERU,
        content_list(*recorded("mineru")),
        2,
        [
            HEADING,
            SENTENCE,
            SECTION,
            ("list_item", 1, 1, "1. Close the valve."),
            ("list_item", 2, 1, "- Wait for the *red* lamp."),
            ("paragraph", 0, 1, "Table 1: flow"),
            TABLE,
            ("paragraph", 0, 1, "in litres"),
            FIGURE,
            ("heading", 1, 2, "水泵"),
            CHINESE,
            ("paragraph", 0, 2, "Listing 1"),
            LISTING,
            ("code", 0, 2, "if level < 3:\n  start"),
            ("paragraph", 0, 2, "$$\nQ = v A\n$$"),
            ("paragraph", 0, 2, "Measured in 2025_A."),
        ],
    ),
    "a Word document of MinerU has no pages": AnswerCase(
        MINERU,
        content_list({"type": "text", "text": "An otter.", "page_idx": 0}),
        None,
        [("paragraph", 0, None, "An otter.")],
    ),
    "a sheet of a workbook is a section and no page, and a sentence is no heading": AnswerCase(
        UNSTRUCTURED,
        [
            element("Title", "Otters", page_name="2025", page_number=1),
            element("Title", "They hold hands.", page_name="2025", page_number=1),
            element("Text", "9", page_name="2026", page_number=2),
        ],
        None,
        [
            ("heading", 1, None, "2025"),
            ("heading", 2, None, "Otters"),
            ("paragraph", 0, None, "They hold hands."),
            ("heading", 1, None, "2026"),
            ("paragraph", 0, None, "9"),
        ],
    ),
    "a table without markup keeps its text": AnswerCase(
        UNSTRUCTURED,
        [element("Table", "Otter 3 9", text_as_html="<p></p>")],
        None,
        [("paragraph", 0, None, "Otter 3 9")],
    ),
    "a description of a picture is read in both shapes of Docling": AnswerCase(
        DOCLING,
        docling_document(
            body={"children": [{"$ref": "#/pictures/0"}, {"$ref": "#/pictures/1"}]},
            pictures=[
                {"label": "picture", "meta": {"description": {"text": "A new otter."}}},
                {"label": "picture", "annotations": [{"kind": "description", "text": "An old otter."}]},
            ],
        ),
        None,
        [("paragraph", 0, None, "A new otter."), ("paragraph", 0, None, "An old otter.")],
    ),
}


@pytest.mark.parametrize("case", CONTRACT.values(), ids=CONTRACT)
def test_an_answer_of_a_service_is_the_document_that_it_says(folder: Path, case: AnswerCase):
    document = read(folder, case.media_type, case.answer)
    assert (document.pages, blocks(document)) == (case.pages, case.blocks)


def test_a_text_of_docling_over_two_pages_says_where_the_second_begins(folder: Path):
    document = read(folder, DOCLING, recorded("docling"))
    (across,) = [part for part in document.elements if part.later_pages]
    ((offset, page),) = across.later_pages
    assert (across.text[offset:], page) == ("once in the morning, once at night.", 2)


@pytest.mark.parametrize("answer", ["", "<html>Welcome</html>", "[" * 100_000, "7", '{"detail": "no"}', "null"])
@pytest.mark.parametrize("media_type", [UNSTRUCTURED, DOCLING, MINERU])
def test_what_is_no_answer_of_a_service_is_said_to_be_none(folder: Path, media_type: str, answer: str):
    with pytest.raises(ParseFailure) as caught:
        read(folder, media_type, answer)
    assert caught.value.reason is FailureReason.PARSER_SERVICE_UNEXPECTED
    # Nothing of the answer is kept, for a log to show.
    assert caught.value.__cause__ is None


LOOP = [
    {"label": "list", "children": [{"$ref": "#/groups/1"}]},
    {"label": "list", "children": [{"$ref": "#/groups/0"}]},
]
OTTER = {"label": "text", "text": "An otter."}
REFERENCES = (
    "#/texts/0",
    "#/texts/0",
    "#/groups/0",
    "#/texts/9",
    "#/texts/-1",
    "#/texts/x",
    "#/texts/" + "9" * 5000,
    "#/pages/1",
    "#/",
    "",
    7,
)


@pytest.mark.parametrize(
    ("media_type", "answer", "outcome"),
    [
        (UNSTRUCTURED, [{"type": "Title", "text": 7}], FailureReason.PARSER_SERVICE_UNEXPECTED),
        (UNSTRUCTURED, ["otter"], FailureReason.PARSER_SERVICE_UNEXPECTED),
        (UNSTRUCTURED, [], FailureReason.EMPTY_TEXT),
        (
            UNSTRUCTURED,
            [{"type": "Title", "text": "An otter.", "metadata": {"page_number": 10**18}}],
            FailureReason.TOO_MANY_PAGES,
        ),
        (
            UNSTRUCTURED,
            [{"type": "Title", "text": "Otters", "metadata": {"page_number": "1", "category_depth": [3]}}],
            [("heading", 1, None, "Otters")],
        ),
        (
            UNSTRUCTURED,
            [{"type": "Title", "text": "Otters", "metadata": {"category_depth": 10**9}}],
            [("heading", 9, None, "Otters")],
        ),
        (DOCLING, {"status": "failure", "document": {}}, FailureReason.PARSER_SERVICE_FAILED),
        (
            DOCLING,
            {"kind": "TaskFailureResult", "failure": {"category": "internal"}},
            FailureReason.PARSER_SERVICE_FAILED,
        ),
        (DOCLING, docling_document(pages={"x": {}, "-3": {}}), FailureReason.EMPTY_TEXT),
        (DOCLING, docling_document(pages={"9" * 5000: {}}), FailureReason.EMPTY_TEXT),
        (DOCLING, docling_document(pages={"999999999": {}}), FailureReason.TOO_MANY_PAGES),
        (
            DOCLING,
            docling_document(
                body={"children": [{"$ref": reference} for reference in REFERENCES]}, texts=[OTTER], groups=LOOP
            ),
            [("paragraph", 0, None, "An otter.")],
        ),
        (
            DOCLING,
            docling_document(
                body={"children": [{"$ref": "#/tables/0"}]},
                tables=[
                    {
                        "label": "table",
                        "data": {
                            "num_rows": 10**12,
                            "table_cells": [
                                {"text": "An otter.", "start_col_offset_idx": 10**12, "end_row_offset_idx": 10**12}
                            ],
                        },
                    }
                ],
            ),
            [("table", 0, None, "An otter.")],
        ),
        (MINERU, {"results": {}}, FailureReason.PARSER_SERVICE_UNEXPECTED),
        (MINERU, {"results": {"document": {}}}, FailureReason.PARSER_SERVICE_UNEXPECTED),
        (MINERU, content_list({"type": None}), FailureReason.PARSER_SERVICE_UNEXPECTED),
        (MINERU, content_list({"type": "list", "list_items": "otter"}), FailureReason.EMPTY_TEXT),
        (
            MINERU,
            content_list({"type": "image", "image_caption": "An otter.", "content": 7}),
            [("paragraph", 0, None, "An otter.")],
        ),
    ],
)
def test_values_of_wrong_types_are_left_out_or_refused(folder: Path, media_type: str, answer: Any, outcome: Any):
    if isinstance(outcome, list):
        assert blocks(read(folder, media_type, answer)) == outcome
        return
    with pytest.raises(ParseFailure) as caught:
        read(folder, media_type, answer)
    assert caught.value.reason is outcome


def lines(document: ParsedDocument) -> list[tuple[str, int, tuple[int, ...]]]:
    """The text of each box, its page, and its sides in thousandths."""
    return [
        (document.text[box.start : box.end], box.page, tuple(round(side / 10) for side in box[3:]))
        for box in document.boxes
    ]


def placed(text: str, *places: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"label": "text", "text": text, "prov": [*places], **more}


def place(page: int, start: int, **sides: Any) -> dict[str, Any]:
    bbox = {"l": 60, "t": 80, "r": 300, "b": 160, "coord_origin": "TOPLEFT", **sides}
    return {"page_no": page, "bbox": bbox, "charspan": [start, start + 1]}


def placed_document(*texts: dict[str, Any]) -> dict[str, Any]:
    sizes = {str(page): {"page_no": page, "size": {"width": 600, "height": 800}} for page in (1, 2)}
    body = {"children": [{"$ref": f"#/texts/{number}"} for number in range(len(texts))]}
    return docling_document(pages=sizes, body=body, texts=[*texts])


def test_places_of_docling_are_boxes_of_their_characters(folder: Path):
    document = read(
        folder,
        DOCLING,
        placed_document(
            placed("An otter. A heron.", place(1, 0), place(2, 10, t=720, b=640, coord_origin="BOTTOMLEFT")),
            placed("In a list.", place(1, 0), label="list_item"),
        ),
    )
    assert lines(document) == [
        ("An otter. ", 1, (100, 100, 400, 100)),
        ("A heron.", 2, (100, 100, 400, 100)),
        ("- In a list.", 1, (100, 100, 400, 100)),
    ]


def test_blocks_of_mineru_and_elements_of_unstructured_have_boxes(folder: Path):
    block = {"type": "text", "text": "An \\*otter*.", "bbox": [100, 100, 500, 200], "page_idx": 1}
    assert lines(read(folder, MINERU, content_list(block))) == [("An *otter*.", 2, (100, 100, 400, 100))]
    coordinates = {
        "points": [[60, 80], [60, 160], [300, 160], [300, 80]],
        "system": "PixelSpace",
        "layout_width": 600,
        "layout_height": 800,
    }
    element = {"type": "Text", "text": "An otter.", "metadata": {"page_number": 2, "coordinates": coordinates}}
    assert lines(read(folder, UNSTRUCTURED, [element])) == [("An otter.", 2, (100, 100, 400, 100))]


HUGE = [place(1, 0)] * 10_000


@pytest.mark.parametrize(
    ("places", "count"),
    [
        ([place(1, 0, l="60")], 0),
        ([place(1, 0, l=None, t=True)], 0),
        ([place(1, 0, l=-1e300, r=1e300)], 0),
        ([place(1, 0, t=160, b=80)], 0),
        ([place(1, 0, l=300)], 0),
        ([place(3, 0)], 0),
        ([place(1, 0, l=-6, t=-6)], 1),
        ([place(1, -7)], 1),
        ([place(1, 10**18)], 0),
        ([place(1, 0), place(2, 10**18)], 1),
        (HUGE, 16),
    ],
)
def test_places_that_are_none_are_left_out(folder: Path, places: list[dict[str, Any]], count: int):
    document = read(folder, DOCLING, placed_document(placed("An otter.", *places)))
    assert (document.text, len(document.boxes)) == ("An otter.", count)
    assert all(0 <= side <= 10_000 for box in document.boxes for side in box[3:])


def test_boxes_beyond_the_limit_are_left_out(folder: Path):
    block = {"type": "text", "text": "An otter.", "bbox": [100, 100, 500, 200], "page_idx": 0}
    document = read(folder, MINERU, content_list(*[block] * 5), ParseLimits(boxes=3))
    assert (len(document.elements), len(document.boxes)) == (5, 3)
