"""Content of messages that is written as base64."""

import base64
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.attachments.base64_content import decode_base64
from core.errors.requests import FileTooLarge, InvalidRunInput


@given(st.binary(max_size=300), st.integers(1, 80), st.booleans())
def test_bytes_come_back_whatever_the_line_ends_and_padding(content: bytes, width: int, is_padded: bool):
    digits = "\r\n".join(textwrap.wrap(base64.b64encode(content).decode(), width))
    data = digits if is_padded else digits.rstrip("=")

    assert decode_base64(data, len(content)) == content


@given(st.binary(min_size=1, max_size=300))
def test_more_bytes_than_allowed_are_refused(content: bytes):
    with pytest.raises(FileTooLarge):
        decode_base64(base64.b64encode(content).decode(), len(content) - 1)


@pytest.mark.parametrize("data", ["no base64!", "QQ=Q", "A", "QQ\N{CJK UNIFIED IDEOGRAPH-4E2D}="])
def test_other_text_is_refused(data: str):
    with pytest.raises(InvalidRunInput):
        decode_base64(data, 1000)
