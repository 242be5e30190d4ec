"""Recognising Unicode by its byte order marks and by where its bytes stand; imports no library."""

import re

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SAMPLE = 65_536
# Tab, line breaks, DOS end of file and the escape of ISO 2022 are part of text files.
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 11, 12, 13, 26, 27}) + b"\x7f"
# Code points of living scripts, their punctuation and symbols.
_USUAL = re.compile(
    "[\t\n\r -~\u00a0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0e7f\u1e00-\u1eff\u2010-\u2027"
    "\u2030-\u205e\u20a0-\u20bf\u2100-\u22ff\u2460-\u25ff\u3000-\u312f\u4e00-\u9fff"
    "\uac00-\ud7a3\uff00-\uffee\U0001f300-\U0001faff]+"
)
_BELOW_BLANK = bytes(range(32))
_WIDE_CONTROLS = 0.02
_WIDE_USUAL = 0.95


def byte_order_mark(data: bytes) -> str | None:
    """The codec that a byte order mark announces; the codec drops the mark."""
    return next((codec for mark, codec in _BOMS if data.startswith(mark)), None)


def control_share(data: bytes) -> float:
    """Share of bytes that are NUL or another control code, which one-byte text does not have."""
    sample = data[:_SAMPLE]
    return 1 - len(sample.translate(None, _CONTROLS)) / max(1, len(sample))


def wide_form(data: bytes) -> str | None:
    """The codec of UTF-16 or UTF-32 text without a mark, or None.

    Such text has control codes: as high bytes of alphabets, digits and blanks, and here and
    there as low bytes of ideographs. A text with stray NULs is UTF-8 and has them on both sides;
    other data does not decode to characters in use.
    """
    sample = data[:_SAMPLE]
    if control_share(sample) < _WIDE_CONTROLS:
        return None
    if len(data) % 4 == 0 and len(sample) >= 4:
        lanes = [sample[lane::4].count(0) * 4 / len(sample) for lane in range(4)]
        if lanes[3] == 1 and lanes[2] > 0.9 > lanes[0]:
            return "utf-32-le"
        if lanes[0] == 1 and lanes[1] > 0.9 > lanes[3]:
            return "utf-32-be"
    sample = sample[: len(sample) // 2 * 2]
    return next((codec for codec in ("utf-16-le", "utf-16-be") if _is_utf16(sample, codec)), None)


def _is_utf16(sample: bytes, codec: str) -> bool:
    high = sample[1 if codec == "utf-16-le" else 0 :: 2]
    if _is_utf8(sample) and len(high.translate(None, _BELOW_BLANK)) > len(high) // 5:
        return False
    text = sample.decode(codec, "replace")
    return len(text) > 1 and len(_USUAL.sub("", text)) <= (1 - _WIDE_USUAL) * len(text)


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(sample) - 3
    return True
