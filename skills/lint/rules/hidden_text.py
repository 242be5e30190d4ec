"""SEC901 and SEC903: hidden characters, and instructions in HTML comments that readers don't see."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from core.text.invisible import FLAG, FLAGS, HIDDEN
from skills.diagnostics import MOST_OF_A_KIND, Finding
from skills.lint.scanner import ScannedText, Span

_OPEN, _CLOSE = "<!--", "-->"
# What begins a sentence that asks for something. What authors ask of other authors is no such thing.
_IMPERATIVE = re.compile(
    r"(?:^|[.!?;:,。！？；：，\n]|\b(?:and|then|also|please|always|now)\b)[ \t>*_-]{0,8}"
    r"(?:please |always |now |then |first |also |secretly |silently ){0,2}"
    r"(?:(?:you|the (?:agent|model|assistant)|assistants?|agents?),? (?:must|should|shall|will|have to)\b"
    r"|(?:do not|don['’]t|never|always) (?!edit\b|modify\b|change\b|remove\b|delete this\b|touch\b)\w"
    r"|(?:ignore|disregard|execute|run|send|upload|read|open|delete|call|fetch|download|install|post"
    r"|forward|e-?mail|append|reveal|obey|follow|collect|copy|exfiltrate|write|output|respond|reply"
    r"|answer|act|pretend|print|return|search|visit|encode|approve)\b"
    r"(?!-| on save| order| by default| only$| this file| markdown) [^\n]*?\w)"
    r"|(?:请|必须|务必|应当|应该|不要|不得|禁止|切勿|忽略|无视|执行|运行|发送|上传|读取|删除|调用|下载"
    r"|转发|收集|安装|输出|回复)(?!修改|编辑|改动|删除本)[^\n，。]{2}",
    re.IGNORECASE,
)
# The notes of formatters and linters, whole.
_OF_TOOLS = re.compile(
    r"\s*(?:prettier-ignore(?:-start|-end)?|(?:markdownlint|textlint|eslint|cspell|vale|rumdl|remark"
    r"|lint)[-: ][\w ,:/=.-]{0,200}|(?:no )?toc|/?toc[\w -]{0,40}|more|SPDX-[\w-]{1,40}: [\w.+ -]{1,80}"
    r"|(?:begin|end|start|stop)[-: ][\w :.-]{0,80})\s*",
    re.IGNORECASE,
)
_LONGEST_LOOKED_AT = 20_000


def check_comments(scan: ScannedText) -> Iterator[Finding]:
    """SEC903 for each comment outside of code that gives an instruction."""
    count = 0
    for start, end in _comments(scan):
        text = scan.text[start + len(_OPEN) : end]
        closed = text.endswith(_CLOSE)
        text = text.removesuffix(_CLOSE)[:_LONGEST_LOOKED_AT]
        if not _OF_TOOLS.fullmatch(text) and _IMPERATIVE.search(text):
            count += 1
            # Where nothing closes a comment, its author may not have meant all that follows.
            mendable = closed and count <= MOST_OF_A_KIND
            edits = (scan.edit((start, end), ""),) if mendable else ()
            yield replace(scan.finding("SEC903", (start, end)), edits=edits)


def _comments(scan: ScannedText) -> Iterator[Span]:
    """The comments by CommonMark's rules.

    In a paragraph, heading or table row only those that end in it; an unclosed HTML block hides all that follows.
    """
    end_of_last = 0
    for (start, behind), is_html in _blocks(scan):
        # Within HTML there is no code that a backtick begins.
        text, last = (scan.text, len(scan.text)) if is_html else (scan.prose, behind)
        place = text.find(_OPEN, max(end_of_last, start), behind)
        while place >= 0:
            close = text.find(_CLOSE, place + len("<!"), last)
            if close < 0 and not is_html:
                break
            end_of_last = last if close < 0 else close + len(_CLOSE)
            yield place, end_of_last
            place = text.find(_OPEN, end_of_last, behind)


def _blocks(scan: ScannedText) -> Iterator[tuple[Span, bool]]:
    outline = scan.draft.outline
    first = outline.first_line
    if first > 1:
        yield scan.lines(1, first - 1), False
    for token in outline.tokens:
        if token.map and token.type in ("inline", "html_block"):
            span = scan.lines(token.map[0] + first, max(token.map[1], token.map[0] + 1) + first - 1)
            yield span, token.type == "html_block"


_TAGS = (0xE0000, 0xE007F)
_MORE_SELECTORS = (0xE0100, 0xE01EF)
_HIDDEN = re.compile(f"{FLAG}|[{HIDDEN}]+|[\u200c\u200d]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}}")
_JOINERS = "\u200c\u200d"
# Hebrew and Arabic to Khmer and Mongolian: scripts that need joiners to be spelled right.
_JOINING_SCRIPTS = (("\u0590", "\u109f"), ("\u1780", "\u18af"), ("\ua8e0", "\uabff"))
_EMOJI_PARTS = frozenset(("So", "Sk", "Mn", "Me"))
_MOST_SHOWN = 4


def check_hidden_characters(scan: ScannedText) -> Iterator[Finding]:
    """SEC901 for each run of hidden characters, with its decoded text."""
    if scan.text.isascii():
        return
    count = 0
    for match in _HIDDEN.finditer(scan.text):
        run = match[0]
        if run in FLAGS or (run[0] in _JOINERS and _is_joining(scan.text, match.start(), run)):
            continue
        count += 1
        facts: dict[str, object] = {"characters": _names(run)}
        if decoded := decode(run):
            facts["decoded"] = decoded
        finding = scan.finding("SEC901", match.span(), facts, "decoded" if decoded else "")
        # Those that nobody is told of need no mend, which takes time on a long line.
        edits = (scan.edit(match.span(), ""),) if count <= MOST_OF_A_KIND else ()
        yield replace(finding, edits=edits)


def decode(run: str) -> str:
    """The text of hidden characters: ASCII as tags, or UTF-8 bytes as variation selectors; may be empty."""
    places = [ord(sign) for sign in run]
    if any(_TAGS[0] <= place <= _TAGS[1] for place in places):
        letters = (place - _TAGS[0] for place in places if _TAGS[0] <= place <= _TAGS[1])
        return "".join(chr(letter) for letter in letters if 0x20 <= letter < 0x7F)
    values = [_selected(place) for place in places]
    if not all(0 <= value <= 255 for value in values):
        return ""
    text = bytes(values).decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else ""


def _selected(place: int) -> int:
    """The number of a variation selector from 0; -1 for any other character."""
    if 0xFE00 <= place <= 0xFE0F:
        return place - 0xFE00
    if _MORE_SELECTORS[0] <= place <= _MORE_SELECTORS[1]:
        return place - _MORE_SELECTORS[0] + 16
    return -1


def _is_joining(text: str, start: int, run: str) -> bool:
    """Whether a joiner is legitimate: inside an emoji, or in a script that needs it."""
    if len(run) > 1 or start == 0 or start + 1 >= len(text):
        return False
    before, after = text[start - 1], text[start + 1]
    if any(first <= before <= last for first, last in _JOINING_SCRIPTS):
        return True
    is_emoji = unicodedata.category(before) in _EMOJI_PARTS and unicodedata.category(after) == "So"
    # Gender and other signs behind the joiner are older than emoji.
    return run == "\u200d" and (is_emoji or "\u2600" <= after <= "\u27bf")


def _names(run: str) -> str:
    kinds = list(dict.fromkeys(run))
    codepoints = ", ".join(f"U+{ord(sign):04X}" for sign in kinds[:_MOST_SHOWN])
    more = ", …" if len(kinds) > _MOST_SHOWN else ""
    return f"{codepoints}{more} × {len(run)}" if len(run) > 1 else codepoints
