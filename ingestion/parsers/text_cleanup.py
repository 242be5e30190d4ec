"""Text cleaning shared by all parsers."""

import re

BREAK = "\x00"
"""Stands for a forced line break in text that is being collected; clean text can't hold it."""

# Ranges by code point, so that no invisible character stands in this file.
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_MARK = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_STACKED = re.compile(f"([{_MARK}]{{8}})[{_MARK}]+")
_BLANK = re.compile(r"\s+")
_CJK = "\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_CJK_BREAK = re.compile(f"(?<=[{_CJK}])\n(?=[{_CJK}])")


def clean(text: str) -> str:
    """The text with ``\\n`` as only line break and without characters that break stores.

    Removed are control characters (NUL above all: PostgreSQL refuses it), lone surrogates and non-characters; of
    stacked combining marks the first eight stay. Bidirectional controls stay: they are stripped on display.
    """
    text = _BREAKS.sub("\n", text)
    text = _FORBIDDEN.sub("", text)
    return _STACKED.sub(r"\1", text)


def flow(text: str) -> str:
    """The text on one line: runs of blanks become one space, none between two CJK characters."""
    text = _BLANK.sub(lambda run: "\n" if "\n" in run[0] else " ", text.strip())
    return _CJK_BREAK.sub("", text).replace("\n", " ")


def flow_lines(text: str) -> str:
    """Like ``flow`` for each part between ``BREAK`` marks, one line each, empty ones left out."""
    lines = (flow(line) for line in text.split(BREAK))
    return "\n".join(line for line in lines if line)
