"""The preflight of texts that are certainly too long."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors.requests import TextTooLarge
from ingestion.parsers import preflight
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.text.plain import parse

LIMIT = 40
LIMITS = ParseLimits(output_characters=LIMIT)


def is_refused(content: bytes) -> bool:
    try:
        preflight.check_text(io.BytesIO(content), LIMITS)
    except TextTooLarge:
        return True
    return False


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"a" * LIMIT, False),
        (b"a" * (LIMIT + 1), True),
        ("知".encode() * LIMIT, False),
        ("知".encode() * (LIMIT + 1), True),
        (b"a" + b" \n" * LIMIT, False),
        # Not UTF-8: half as many characters as bytes.
        ("知识".encode("gbk") * (LIMIT // 2), False),
        (b"a" + b"\0" * LIMIT, False),
        (b"", False),
    ],
)
def test_characters_are_counted_and_blanks_are_not(content: bytes, refused: bool):
    assert is_refused(content) is refused


def test_character_between_two_blocks_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preflight, "_BLOCK_BYTES", 1)
    assert not is_refused("知".encode() * LIMIT)
    assert is_refused("知".encode() * (LIMIT + 1))


@given(st.text("a知 \n\u3000\x00\u200b\xad\ufeff\u202e\r", min_size=LIMIT, max_size=100).map(str.encode))
def test_what_is_refused_could_not_have_been_read(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    if not is_refused(content):
        return
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(content)
    with pytest.raises(ParseFailure) as caught:
        parse(path, LIMITS)
    assert caught.value.reason == FailureReason.OUTPUT_TOO_LARGE
