"""What unstructured's process has written, which a hostile document may have had a hand in."""

import json
from pathlib import Path

import pytest

from core.types.text_boxes import TextBox
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.parsers.unstructured.result import document_of

LIMITS = ParseLimits(output_characters=1000, elements=10, pages=3)


def read(folder: Path, result: object, media_type: str = "application/pdf"):
    path = folder / "result.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    return document_of(path, ParseRequest(path, media_type, LIMITS))


def test_blocks_become_a_document_with_clean_text(tmp_path: Path):
    blocks = [
        ["heading", "Pu\x00mps", 1, 1, [0.1, 0.2, 0.5, 0.25]],
        ["table", [["a", "b"], ["c", ""]], 0, 2, [0.1, 9, 0.5, 10]],
    ]
    document = read(tmp_path, {"active": [], "blocks": blocks})
    assert [(part.kind, part.text, part.level, part.page) for part in document.elements] == [
        ("heading", "Pumps", 1, 1),
        ("table", "a | b\nc |", 0, 2),
    ]
    assert document.pages == 2
    # The second is nowhere on its page.
    assert document.boxes == (TextBox(0, 5, 1, 1000, 2000, 4000, 500),)


def test_recognised_text_is_said_to_be_so(tmp_path: Path):
    blocks = [["paragraph", "Pumps", 0, 1, None]]
    assert read(tmp_path, {"active": [], "blocks": blocks, "recognised": True}).warnings == ("recognised",)
    assert read(tmp_path, {"active": [], "blocks": blocks, "recognised": False}).warnings == ()


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"active": [], "blocks": [], "recognised": True}, FailureReason.EMPTY_TEXT),
        ({"active": [], "reason": "corrupt_file", "detail": "BadZipFile"}, FailureReason.CORRUPT_FILE),
        ({"active": [], "reason": "no such reason"}, FailureReason.PARSER_CRASHED),
        ({"active": [], "blocks": []}, FailureReason.NO_TEXT_LAYER),
        ({"active": [], "blocks": [["script", "x", 0, None, None]]}, FailureReason.PARSER_CRASHED),
        ({"active": [], "blocks": [["paragraph", "x", 0, -1, None]]}, FailureReason.PARSER_CRASHED),
        ({"active": [], "blocks": [["paragraph", "x", "deep", None, None]]}, FailureReason.PARSER_CRASHED),
        ({"active": [], "blocks": [["paragraph", 5, 0, None, None]]}, FailureReason.PARSER_CRASHED),
        ({"active": [], "blocks": [["paragraph", "x", 0, 4, None]]}, FailureReason.TOO_MANY_PAGES),
        ({"active": [], "blocks": [["paragraph", "x" * 1001, 0, None, None]]}, FailureReason.OUTPUT_TOO_LARGE),
        ({"active": [], "blocks": [["paragraph", "x", 0, None, None]] * 11}, FailureReason.TOO_COMPLEX),
        ([1, 2], FailureReason.PARSER_CRASHED),
        ({}, FailureReason.PARSER_CRASHED),
    ],
)
def test_a_result_that_is_none_fails_its_document(tmp_path: Path, result: object, reason: FailureReason):
    with pytest.raises(ParseFailure) as failed:
        read(tmp_path, result)
    assert failed.value.reason is reason


def test_a_link_in_place_of_the_result_is_not_followed(tmp_path: Path):
    (tmp_path / "secret").write_text(json.dumps({"active": [], "blocks": [["paragraph", "x", 0, None, None]]}))
    (tmp_path / "result.json").symlink_to(tmp_path / "secret")
    with pytest.raises(ParseFailure) as failed:
        document_of(tmp_path / "result.json", ParseRequest(tmp_path, "application/pdf", LIMITS))
    assert failed.value.reason is FailureReason.PARSER_CRASHED
