"""Reading bytes as text: the encoding, how sure that is, and text that is safe to store."""

import codecs
import math
import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, partial
from pathlib import Path

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.text import charset_data

_SAMPLE = 16_384
_BLOCK = 65_536
_SURE = 0.6
_MOST_CONTROLS = 0.05
_HIGH = re.compile(rb"[\x80-\xff]")
_FOREIGN_BITS = 22.0  # controls, private use, unassigned
_RARE_BITS = 15.0  # any character outside the table
_ASCII_BITS = 4.5
_ODD_BITS = 7.0
_BEFORE = 64
_CASE_JUMP = re.compile("lU")


# What authors write for what browsers read (WHATWG Encoding Standard).
_WHATWG_CODECS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}


def codec_for_label(label: str) -> str:
    """The codec for an encoding as files and mails declare it."""
    name = label.strip().lower()
    return _WHATWG_CODECS.get(name, name)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text and where it came from.

    Attributes:
        text: The text; control characters are still in it.
        encoding: Name of the Python codec, as ``codecs.lookup`` spells it.
        confidence: 0 to 1.
    """

    text: str
    encoding: str
    confidence: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """``("encoding",)`` when the text may be garbled, otherwise nothing."""
        return () if self.confidence >= _SURE else ("encoding",)


class _Script(Enum):
    """How the letters of an encoding stand in a text; the value is the usual bits of one."""

    IDEOGRAPHS = 12
    ALPHABET = 9  # own words, apart from words in ASCII letters
    ACCENTS = 10  # single letters within words of ASCII letters


_ODD = {
    _Script.IDEOGRAPHS: re.compile(r"[A-Za-z][^\W\x00-\x7f]{1,2}(?=[A-Za-z])"),
    _Script.ALPHABET: re.compile(r"[A-Za-z][^\W\x00-\x7f]|[^\W\x00-\x7f][A-Za-z]"),
    _Script.ACCENTS: re.compile(r"[^\W\x00-\x7f]{3}"),
}
# From likely to unlikely in a Chinese and English product: each place costs one bit. Named as
# ``selectable_codec`` names them.
_CANDIDATES = (
    ("gb18030", charset_data.SIMPLIFIED, _Script.IDEOGRAPHS),
    ("gb18030", charset_data.TRADITIONAL, _Script.IDEOGRAPHS),
    ("big5hkscs", charset_data.TRADITIONAL, _Script.IDEOGRAPHS),
    ("cp950", charset_data.TRADITIONAL, _Script.IDEOGRAPHS),
    ("cp932", charset_data.JAPANESE, _Script.IDEOGRAPHS),
    ("euc_jp", charset_data.JAPANESE, _Script.IDEOGRAPHS),
    ("cp949", charset_data.KOREAN, _Script.IDEOGRAPHS),
    ("utf-16-le", charset_data.SIMPLIFIED, _Script.IDEOGRAPHS),
    ("utf-16-be", charset_data.SIMPLIFIED, _Script.IDEOGRAPHS),
    ("cp1252", charset_data.WESTERN, _Script.ACCENTS),
    ("iso8859-1", charset_data.WESTERN, _Script.ACCENTS),
    ("mac-roman", charset_data.WESTERN, _Script.ACCENTS),
    ("cp1250", charset_data.CENTRAL, _Script.ACCENTS),
    ("iso8859-2", charset_data.CENTRAL, _Script.ACCENTS),
    ("cp1254", charset_data.TURKISH, _Script.ACCENTS),
    ("cp1251", charset_data.CYRILLIC, _Script.ALPHABET),
    ("koi8-r", charset_data.CYRILLIC, _Script.ALPHABET),
    ("koi8-u", charset_data.CYRILLIC, _Script.ALPHABET),
    ("cp866", charset_data.CYRILLIC, _Script.ALPHABET),
    ("iso8859-5", charset_data.CYRILLIC, _Script.ALPHABET),
    ("mac-cyrillic", charset_data.CYRILLIC, _Script.ALPHABET),
    ("cp1253", charset_data.GREEK, _Script.ALPHABET),
    ("cp1255", charset_data.HEBREW, _Script.ALPHABET),
    ("cp1256", charset_data.ARABIC, _Script.ALPHABET),
    ("cp874", charset_data.THAI, _Script.ALPHABET),
)


_UNICODE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
_LABEL = re.compile(r"[A-Za-z0-9._:-]{1,40}")
_forced_codec: ContextVar[str | None] = ContextVar("chosen", default=None)


@cache
def selectable_codecs() -> frozenset[str]:
    """The codecs that a person may choose for a text, by Python's names."""
    return frozenset((*_UNICODE, "iso2022_jp", *(codec for codec, _, _ in _CANDIDATES)))


def selectable_codec(label: str) -> str | None:
    """The codec that somebody names (``KOI8-R``, ``gbk``, ``Shift_JIS``); None for one that is not
    choosable."""
    if _LABEL.fullmatch(label) is None:
        return None
    try:
        name = codecs.lookup(codec_for_label(label)).name
    except LookupError:
        return None
    return name if name in selectable_codecs() else None


@contextmanager
def forced_codec(codec: str | None) -> Generator[None]:
    """Read all bytes as this, whatever they look like; None: find it out."""
    token = _forced_codec.set(codec if codec in selectable_codecs() else None)
    try:
        yield
    finally:
        _forced_codec.reset(token)


def is_valid_text(path: Path, codec: str) -> bool:
    """Whether all bytes of a file are text in an encoding."""
    try:
        with path.open("rb") as file:
            for _ in codecs.iterdecode(iter(partial(file.read, _BLOCK), b""), codec):
                pass
    except UnicodeDecodeError:
        return False
    return True


def no_text_failure(warnings: Collection[str], chosen: str | None) -> ParseFailure:
    """Why a text has nothing that could be found.

    Args:
        warnings: Of its reading.
        chosen: The codec that somebody chose for it, if any.
    """
    # What did not fit the choice is left as signs that stand for nothing.
    is_wrong = chosen is not None and "encoding" in warnings
    return ParseFailure(FailureReason.WRONG_ENCODING if is_wrong else FailureReason.EMPTY_TEXT)


@dataclass(frozen=True, slots=True)
class _CodecReading:
    codec: str
    text: str
    bits: float
    script: _Script


def decode(data: bytes, *, declared: str | None = None) -> DecodedText:
    """Read bytes of unknown encoding.

    Order: byte order mark, UTF-16/32 by the place of control codes, strict UTF-8, the declared
    encoding, ISO 2022, then the cheapest of 25 encodings where a character costs the bits its
    frequency in the encoding's languages gives it.

    Args:
        data: The whole file.
        declared: What the file says of itself (an HTML ``meta``), believed if all bytes fit.

    Within ``forced_codec`` a person's choice goes before all that.
    """
    chosen = _forced_codec.get()
    if chosen is not None:
        read = _decode_with(data, chosen, 1.0)
        return replace(read, text=read.text.removeprefix("\ufeff"))
    marked = byte_order_mark(data)
    if marked is not None:
        return _decode_with(data, marked, 1.0)
    wide = wide_form(data)
    if wide is not None:
        return _decode_with(data, wide, 0.95)
    decoded = _decode_narrow(data, declared)
    if control_share(data) < _MOST_CONTROLS:
        return decoded
    return replace(decoded, confidence=min(decoded.confidence, 0.5))


def _decode_narrow(data: bytes, declared: str | None) -> DecodedText:
    """Read text that is not UTF-16 or UTF-32."""
    if b"\x1b$" in data:
        return _decode_with(data, "iso2022_jp", 0.95)
    try:
        return DecodedText(data.decode(), "utf-8", 1.0)
    except UnicodeDecodeError:
        return (
            _decode_declared(data, declared)
            or _decode_damaged_utf8(data)
            or _decode_likeliest(data)
        )


def _decode_with(data: bytes, codec: str, confidence: float) -> DecodedText:
    try:
        return DecodedText(data.decode(codec), codec, confidence)
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
        lost = text.count("\ufffd") / max(1, len(text))
        return DecodedText(text, codec, min(confidence, 0.55) * (1 - lost))


def _decode_declared(data: bytes, declared: str | None) -> DecodedText | None:
    if declared is None:
        return None
    try:
        return DecodedText(data.decode(declared), codecs.lookup(declared).name, 0.95)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_damaged_utf8(data: bytes) -> DecodedText | None:
    """UTF-8 with some bad bytes: far more sequences that fit than ones that do not."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(data.translate(None, bytes(range(128, 256))))
    if good < 2 * bad:
        return None
    return DecodedText(text, "utf-8", 0.5 * (1 - bad / (good + bad)))


def _decode_likeliest(data: bytes) -> DecodedText:
    first = _HIGH.search(data)
    start = max(0, first.start() - _BEFORE) // 2 * 2 if first else 0
    sample = data[start : start + _SAMPLE]
    readings: list[_CodecReading] = []
    for prior, (codec, table, script) in enumerate(_CANDIDATES):
        text = _sample_text(sample, codec)
        if text is not None:
            readings.append(_CodecReading(codec, text, prior + _bits(text, table, script), script))
    readings.sort(key=lambda reading: reading.bits)
    best = readings[0]
    rival = next((r.bits for r in readings if r.text != best.text), math.inf)
    foreign = max(1, sum(char > "\x7f" for char in best.text))
    per_letter = (best.bits - _ASCII_BITS * (len(best.text) - foreign)) / foreign
    strange = min(1.0, max(0.0, (per_letter - best.script.value) / 6))
    confidence = (1 - 2 ** ((best.bits - rival) / 6)) * (1 - strange)
    return _decode_with(data, best.codec, min(0.95, confidence))


def _sample_text(sample: bytes, codec: str) -> str | None:
    """The sample read strictly, except that its end may cut a character."""
    for cut in range(4):
        try:
            return sample[: len(sample) - cut].decode(codec)
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 4:
                return None
    return None


def _bits(text: str, table: str, script: _Script) -> float:
    """The bits of the text in a language; odd neighbours of letters cost extra."""
    costs = _char_bits(table)
    total = 0.0
    for char in text:
        if char <= "\x7f":
            total += _ASCII_BITS
        else:
            bits = costs.get(char)
            total += _unlisted_bits(char) if bits is None else bits
    odd = len(_ODD[script].findall(text))
    if script is not _Script.IDEOGRAPHS:
        odd += len(_CASE_JUMP.findall(_cases(text)))
    return total + odd * _ODD_BITS


def _cases(text: str) -> str:
    return "".join("U" if c.isupper() else "l" if c.islower() else " " for c in text)


def _unlisted_bits(char: str) -> float:
    return _RARE_BITS if char.isprintable() and not "\uff61" <= char <= "\uff9f" else _FOREIGN_BITS


@cache
def _char_bits(table: str) -> dict[str, float]:
    """Bits per character: Zipf over the table's order, one character in eight left to others."""
    chars = dict.fromkeys(table)
    weights = [1 / (rank + 10) for rank in range(len(chars))]
    scale = 0.875 / sum(weights)
    return {char: -math.log2(scale * w) for char, w in zip(chars, weights, strict=True)}


_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_UNICODE_FORMS_SAMPLE = 65_536
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
    sample = data[:_UNICODE_FORMS_SAMPLE]
    return 1 - len(sample.translate(None, _CONTROLS)) / max(1, len(sample))


def wide_form(data: bytes) -> str | None:
    """The codec of UTF-16 or UTF-32 text without a mark, or None.

    Such text has control codes: as high bytes of alphabets, digits and blanks, and here and
    there as low bytes of ideographs. A text with stray NULs is UTF-8 and has them on both sides;
    other data does not decode to characters in use.
    """
    sample = data[:_UNICODE_FORMS_SAMPLE]
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
