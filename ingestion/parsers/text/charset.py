"""Decoding of text: detection of the encoding with a confidence, and safe text."""

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

SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过"
    "发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本"
    "前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很"
    "最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度"
    "门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电"
    "数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马"
    "科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万"
    "取拉格望觉术领共确传师观清今切院让识候带导争运，。、；：？！“”‘’（）《》—…·　【】"
)
TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過"
    "發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本"
    "前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很"
    "最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度"
    "門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電"
    "數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬"
    "科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬"
    "取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運，。、；：？！「」『』（）《》—…‧　【】"
)
JAPANESE = (
    "のにたいをはしてとるがでなっれかすまらこりもあき、。くさんだよそうけせつえわおみちめどやばじ"
    "ょへゃろずびべゅぎげぶむひごぐほ「」ーンスルトイアラリクシタドレジフプッマカテロコサメニキオ"
    "バャムナグィョェュデウパエハチダズミツモセブソビペポボホケベゴガギザノヤワヨネヒユ・（）"
    "日一人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四"
    "定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八"
    "六約主題下首意法不来作性的要用制治度務強気小七成期公野取々語私使電水話書何国会以名"
)
KOREAN = (
    "이다는을의에가지고하은로한기를사서인어도자대리아시수그나과들일해정보라전으있게여상만부제스주"
    "장니었동구생원성마당성조공비경유적면할없것오신거실세중소미무안문화위우모내트선진연학회분계민국"
    "방습교바발관말였법각용심요물치러차통식했음된되며때년간단입산개월금업천따불결명체력현영음강"
    "르드단본행타레호약저양반많람야등건집와더란속점까린운복터류형란작업규설습던려종"
)
CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґОПНСВКАИМТДРБГЕЗЛЧУШЯЭХФЖЮЦЙЩЫЬЁІ«»—–№…“”„"
WESTERN = "éèàüäöñáíóçêßãúåøæôõîâïûëìòù’–«»“”—…¿¡°§‘ÉÄÖÜÀÅØÆÇÁÍÓÚÑÈÊŒœ·©®€£½²ðþýÐÞÎÔÕÃÂ•™„‚º\xa0"
CENTRAL = "íáéłąęěščřžýůúóśćżźńőűăťďňđöüäŁŚŻŹŠČŘŽÁÍÚÝŮÓŐŰĄĘĆŃĎŤ„“”–»«’…—\xa0"
GREEK = "αοιετσνηυρπκμλςωδγχθφβξζψίόάέύήώΑΤΟΕΗΚΠΜΣΝΙΡΛΔΥΓΦΘΒΧΩΆΈΌΊΉΎΏ«»–—’…·"
TURKISH = "ıişğüöçİÇŞÖÜĞâîû’“”–…‘"
HEBREW = "יוהלאתרבשםנמדעפקחצכגטסזןץךף״׳–"
ARABIC = "اليمنوترعبدفسهكقحجةشصطخىأضثذءزغإئظؤآ،؟؛ًپچگژ"
THAI = "านรกอเง่มยลว้ทสต์ดะบปคหแจพชขใไซผโธถศณุูึืิี็ัำฟภษฐญๆ"


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


# Labels as browsers interpret them (WHATWG Encoding Standard).
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
    """Decoded text and its encoding.

    Attributes:
        text: Not yet clean of control characters.
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
    """Letter patterns of an encoding; the value is the usual bits of a letter."""

    IDEOGRAPHS = 12
    ALPHABET = 9  # own words, apart from words in ASCII letters
    ACCENTS = 10  # single letters within words of ASCII letters


_ODD = {
    _Script.IDEOGRAPHS: re.compile(r"[A-Za-z][^\W\x00-\x7f]{1,2}(?=[A-Za-z])"),
    _Script.ALPHABET: re.compile(r"[A-Za-z][^\W\x00-\x7f]|[^\W\x00-\x7f][A-Za-z]"),
    _Script.ACCENTS: re.compile(r"[^\W\x00-\x7f]{3}"),
}
# From likely to unlikely in a Chinese and English product: each place costs one bit. Named as ``selectable_codec``
# names them.
_CANDIDATES = (
    ("gb18030", SIMPLIFIED, _Script.IDEOGRAPHS),
    ("gb18030", TRADITIONAL, _Script.IDEOGRAPHS),
    ("big5hkscs", TRADITIONAL, _Script.IDEOGRAPHS),
    ("cp950", TRADITIONAL, _Script.IDEOGRAPHS),
    ("cp932", JAPANESE, _Script.IDEOGRAPHS),
    ("euc_jp", JAPANESE, _Script.IDEOGRAPHS),
    ("cp949", KOREAN, _Script.IDEOGRAPHS),
    ("utf-16-le", SIMPLIFIED, _Script.IDEOGRAPHS),
    ("utf-16-be", SIMPLIFIED, _Script.IDEOGRAPHS),
    ("cp1252", WESTERN, _Script.ACCENTS),
    ("iso8859-1", WESTERN, _Script.ACCENTS),
    ("mac-roman", WESTERN, _Script.ACCENTS),
    ("cp1250", CENTRAL, _Script.ACCENTS),
    ("iso8859-2", CENTRAL, _Script.ACCENTS),
    ("cp1254", TURKISH, _Script.ACCENTS),
    ("cp1251", CYRILLIC, _Script.ALPHABET),
    ("koi8-r", CYRILLIC, _Script.ALPHABET),
    ("koi8-u", CYRILLIC, _Script.ALPHABET),
    ("cp866", CYRILLIC, _Script.ALPHABET),
    ("iso8859-5", CYRILLIC, _Script.ALPHABET),
    ("mac-cyrillic", CYRILLIC, _Script.ALPHABET),
    ("cp1253", GREEK, _Script.ALPHABET),
    ("cp1255", HEBREW, _Script.ALPHABET),
    ("cp1256", ARABIC, _Script.ALPHABET),
    ("cp874", THAI, _Script.ALPHABET),
)


_UNICODE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
_LABEL = re.compile(r"[A-Za-z0-9._:-]{1,40}")
_forced_codec: ContextVar[str | None] = ContextVar("chosen", default=None)


@cache
def selectable_codecs() -> frozenset[str]:
    """The codecs that a person may choose for a text, by Python's names."""
    return frozenset((*_UNICODE, "iso2022_jp", *(codec for codec, _, _ in _CANDIDATES)))


def selectable_codec(label: str) -> str | None:
    """The codec of a label (``KOI8-R``, ``gbk``, ``Shift_JIS``); None for one that is not selectable."""
    if _LABEL.fullmatch(label) is None:
        return None
    try:
        name = codecs.lookup(codec_for_label(label)).name
    except LookupError:
        return None
    return name if name in selectable_codecs() else None


@contextmanager
def forced_codec(codec: str | None) -> Generator[None]:
    """Decode all bytes in this block with a codec; None detects it."""
    token = _forced_codec.set(codec if codec in selectable_codecs() else None)
    try:
        yield
    finally:
        _forced_codec.reset(token)


def is_valid_text(path: Path, codec: str) -> bool:
    """Whether all bytes of a file are valid in a codec."""
    try:
        with path.open("rb") as file:
            for _ in codecs.iterdecode(iter(partial(file.read, _BLOCK), b""), codec):
                pass
    except UnicodeDecodeError:
        return False
    return True


def no_text_failure(warnings: Collection[str], chosen: str | None) -> ParseFailure:
    """Why a text has no searchable content; ``chosen`` is the codec that a person chose."""
    # Bytes outside the chosen encoding became replacement characters.
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

    Order: byte order mark, UTF-16/32 by the place of control codes, strict UTF-8, the declared encoding, ISO 2022,
    then the cheapest of 25 encodings where a character costs the bits its frequency in the encoding's languages gives
    it. ``forced_codec`` precedes all that.

    Args:
        declared: The file's own declaration (an HTML ``meta``), used if all bytes fit.
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
    if b"\x1b$" in data:
        return _decode_with(data, "iso2022_jp", 0.95)
    try:
        return DecodedText(data.decode(), "utf-8", 1.0)
    except UnicodeDecodeError:
        return _decode_declared(data, declared) or _decode_damaged_utf8(data) or _decode_likeliest(data)


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
    """UTF-8 with some bad bytes: far more valid sequences than invalid ones."""
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
    """Share of NULs and other control codes, which text in one-byte encodings does not have."""
    sample = data[:_UNICODE_FORMS_SAMPLE]
    return 1 - len(sample.translate(None, _CONTROLS)) / max(1, len(sample))


def wide_form(data: bytes) -> str | None:
    """The codec of UTF-16 or UTF-32 text without a mark, or None.

    Such text has control codes: as high bytes of alphabets, digits and blanks, and here and there as low bytes of
    ideographs. UTF-8 with stray NULs has them on both sides; other data does not decode to characters in use.
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
