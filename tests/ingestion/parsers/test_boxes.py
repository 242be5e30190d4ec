"""Boxes of texts: kept with their characters through cleaning, the sandbox and the cut into passages."""

from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import BoxIndex, disjoint, text_box
from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.protocol import HEADER, pack_reply, unpack_reply

SIDES = (0.1, 0.2, 0.5, 0.25)


def box(start: int, end: int, page: int = 1) -> TextBox:
    return TextBox(start, end, page, 1000, 2000, 4000, 500)


def test_box_is_of_a_place_on_a_page():
    assert text_box(SIDES, 3, 1, 2) == TextBox(1, 2, 3, 1000, 2000, 4000, 500)
    assert text_box((-0.01, 0, 1.01, 1), 1, 1, 2) == TextBox(1, 2, 1, 0, 0, 10_000, 10_000)
    nan, infinity = float("nan"), float("inf")
    for sides in ((nan, 0, 1, 1), (0, 0, infinity, 1), (0, 0, 2, 1), (0.5, 0, 0.5, 1), (0.6, 0, 0.5, 1), (0, 1), ()):
        assert text_box(sides, 1) is None
    assert text_box(SIDES, None) is text_box(SIDES, 0) is text_box(SIDES, 1, 4, 4) is None


def test_characters_of_boxes_overlap_only_where_they_are_the_same():
    assert list(disjoint([box(5, 9), box(0, 5), box(3, 7), box(0, 5, page=2)])) == [
        box(0, 5),
        box(0, 5, page=2),
        box(5, 9),
    ]


def test_boxes_follow_their_characters_through_cleaning_and_the_sandbox():
    builder = DocumentBuilder(ParseLimits())
    builder.add("paragraph", "One.")
    raw = "  tw\x00o\r\nthree  "
    builder.add("paragraph", raw, page=1, boxes=[box(2, 6), box(8, 99)])
    builder.add("code", "  four", page=1, boxes=[box(0, 6)])
    parsed = builder.finish()
    assert [parsed.text[found.start : found.end] for found in parsed.boxes] == ["two", "three", "  four"]
    assert unpack_reply(pack_reply(parsed)[HEADER.size :]) == parsed


def test_passage_has_the_boxes_of_its_characters():
    boxes = [box(0, 100), box(0, 100, page=2), box(102, 110), box(110, 120)]
    index = BoxIndex(boxes)
    assert index.within(50, 105) == boxes[:3]
    assert index.within(100, 102) == []
    assert index.within(109, 111) == boxes[2:]
    assert BoxIndex([]).within(0, 10) == []
