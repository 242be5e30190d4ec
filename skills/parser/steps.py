"""Steps: third-level headings, else numbered items, else bullets, else one text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from skills.parser import outline
from skills.parser.outline import BodyOutline, DraftSection, OutlineBlock
from skills.parser.source import SkillSource
from skills.parser.text_blocks import list_items
from skills.schema import Step

_HEADING = re.compile(
    r"\s*(?:(?:步骤|step|phase|阶段)\s*(?P<a>\d{1,6}|[一二三四五六七八九十]{1,3})"
    r"|第\s*(?P<b>\d{1,6}|[一二三四五六七八九十]{1,3})\s*[步阶]段?|(?P<c>\d{1,6})(?=\s*[.、):：]))"
    r"\s*[.、):：—–-]*\s*",
    re.IGNORECASE,
)
_BOLD = re.compile(
    r"(?P<mark>\*\*|__)(?P<title>[^\s:：][^\n]{0,119}?)[ \t]{0,4}[:：]?[ \t]{0,4}(?P=mark)"
    r"[ \t]{0,4}(?:[:：]|[—–]{1,2}|-(?=\s))?\s*"
)
_TITLE = re.compile(r"(?P<title>[^\s`*_:：—][^`*:：—\n]{0,59}?)[ \t]{0,4}(?:：|:(?=\s|$)|——?)\s*")
_LEAD = r"[ \t]*(?:>[ \t]*)?(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(?:\*\*|__)?"
_TOOLS = re.compile(
    r"(?:使用工具|调用工具|所用工具|工具|\buse tools?|\btools?(?: used)?)(?:\*\*|__)?[ \t]*[:：][ \t]*(?:\*\*|__)?"
    r"(?P<rest>[^\n。；;]*)",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{1,200})`")
# Codes that nothing but a comma, a conjunction or a remark in parentheses divides.
_CODES = re.compile(
    rf"[ \t]{{0,4}}{_CODE.pattern}(?:[ \t]{{0,4}}(?:[(（][^()（）`\n]{{0,100}}[)）])?[ \t]{{0,4}}"
    rf"[,，、/+&]?[ \t]{{0,4}}(?:(?:and|or|和|与|及|以及|或|或者)[ \t]{{0,4}})?{_CODE.pattern})*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s,，、]+")
_TOOL_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,127}(?:\([^()]{0,200}\))?")
_CONDITION = re.compile(
    _LEAD + r"(?:条件|执行条件|前提|前提条件|condition|if|only if|when)(?:\*\*|__)?[ \t]*[:：][ \t]*"
    r"(?:\*\*|__)?[ \t]*(?P<rest>[^\n]+)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HAN_DIGITS = {sign: at for at, sign in enumerate("一二三四五六七八九", start=1)}


@dataclass(frozen=True, slots=True)
class NumberedStep:
    """A step with its number in the file: value, line, column, length."""

    step: Step
    number: int = 0
    line: int = 0
    column: int = 0
    length: int = 0


def read(
    sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline
) -> tuple[tuple[NumberedStep, ...], bool]:
    """The steps of all sections in order, and whether they are running text."""
    parts: list[_StepText] = []
    prose = False
    for section in sections:
        section_parts, is_prose = _section_parts(section, source, body)
        parts += section_parts
        prose = prose or is_prose
    return tuple(_step(part, index) for index, part in enumerate(parts, start=1)), prose


@dataclass(frozen=True, slots=True)
class _StepText:
    title: str | None
    instruction: str
    start: int
    end: int
    number: tuple[int, int, int] = (0, 0, 0)


def _step(part: _StepText, index: int) -> NumberedStep:
    tools, condition = tools_and_condition(part.instruction)
    step = Step(
        index=index,
        title=part.title,
        instruction=part.instruction,
        line=part.start,
        end_line=part.end,
        tools=tools,
        condition=condition,
    )
    number, column, length = part.number
    return NumberedStep(step, number, part.start, column, length)


def tools_and_condition(instruction: str) -> tuple[tuple[str, ...], str | None]:
    """The tools that an instruction names, and the condition under which it applies."""
    plain = list(_outside_fences(instruction))
    tools = dict.fromkeys(tool for line in plain for tool, _ in tools_in(line))
    conditions = (match["rest"].strip() for line in plain if (match := _CONDITION.match(line)))
    return tuple(tools), next(conditions, None)


def _section_parts(section: DraftSection, source: SkillSource, body: BodyOutline) -> tuple[list[_StepText], bool]:
    blocks = section.blocks
    if any(block.level == 3 for block in blocks):
        return list(_from_headings(blocks, source)), False
    for kind in ("ordered_list", "bullet_list"):
        if any(block.kind == kind for block in blocks):
            return _from_lists(blocks, kind, source, body), False
    text_blocks = [block for block in blocks if block.kind != "hr"]
    if not text_blocks:
        return [], False
    start, end = text_blocks[0].start, text_blocks[-1].end
    return [_StepText(None, outline.raw_lines(source, start, end), start, end)], True


def _from_headings(blocks: Sequence[OutlineBlock], source: SkillSource) -> Iterator[_StepText]:
    heads = [at for at, block in enumerate(blocks) if block.level == 3]
    for at, following in pairwise([*heads, len(blocks)]):
        head, below = blocks[at], blocks[at + 1 : following]
        while below and below[-1].kind == "hr":
            below = below[:-1]
        text = outline.raw_lines(source, below[0].start, below[-1].end) if below else ""
        end = below[-1].end if below else head.end
        title, number = _heading(head, source)
        yield _StepText(title, text, head.start, end, number)


def _heading(head: OutlineBlock, source: SkillSource) -> tuple[str | None, tuple[int, int, int]]:
    match = _HEADING.match(head.text)
    if match is None:
        return head.text.strip() or None, (0, 0, 0)
    group = next(name for name in "abc" if match[name])
    shift = source.line(head.start).find(head.text) + 1
    place = (to_number(match[group]), shift + match.start(group), len(match[group]))
    return head.text[match.end() :].strip() or None, place


def to_number(text: str) -> int:
    """A number in digits or in Chinese up to 99."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _HAN_DIGITS.get(ones[:1], 0)
    return 10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0)


def _from_lists(blocks: Sequence[OutlineBlock], kind: str, source: SkillSource, body: BodyOutline) -> list[_StepText]:
    """One part per item of all lists of a kind; text between items belongs to the one before."""
    parts: list[_StepText] = []
    for block in blocks:
        if block.kind == kind:
            parts += (_from_item(item, source) for item in list_items(block, source, body))
        elif parts and block.kind not in {"hr", "heading"}:
            last = parts[-1]
            text = f"{last.instruction}\n\n{outline.raw_lines(source, block.start, block.end)}".strip()
            parts[-1] = _StepText(last.title, text, last.start, block.end, last.number)
    return parts


def split_title(text: str) -> tuple[str | None, str]:
    """An item's instruction, and the title at its start, if any."""
    match = _BOLD.match(text) or _TITLE.match(text)
    if match is None or match["title"].strip().lower() in _LEAD_INS:
        return None, text
    return match["title"].strip(), text[match.end() :].strip()


def _from_item(item: outline.ListItem, source: SkillSource) -> _StepText:
    title, instruction = split_title(outline.item_text(item, source))
    line = source.line(item.start)
    indent = len(line) - len(line.lstrip())
    digits = len(line[indent:]) - len(line[indent:].lstrip("0123456789"))
    number = (item.number, indent + 1, digits) if digits else (0, 0, 0)
    return _StepText(title, instruction, item.start, item.end, number)


_LEAD_INS = frozenset(
    {"使用工具", "调用工具", "工具", "tool", "tools", "use tool", "条件", "if", "when", "condition"}
    | {"输出", "output", "输入", "input"}
)


def _outside_fences(text: str) -> Iterator[str]:
    return (line for _, line in outside_fences(text.split("\n")))


def outside_fences(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines outside code blocks with their numbers from 0."""
    closing = ""
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if closing:
            if fence and fence[1].startswith(closing):
                closing = ""
        elif fence:
            closing = fence[1]
        else:
            yield number, line


def tools_in(line: str) -> Iterator[tuple[str, int]]:
    """The tools named behind "使用工具：", "工具：" or "tool:", with their offsets in the line."""
    if ":" not in line and "：" not in line:
        return
    for match in _TOOLS.finditer(line):
        start, end = match.span("rest")
        if codes := _CODES.match(line, start, end):
            for code in _CODE.finditer(line, start, codes.end()):
                name = code[1].strip()
                yield name, code.start(1) + code[1].find(name)
        elif _LEADING.fullmatch(line, 0, match.start()):
            words = list(_WORD.finditer(line, start, start + len(match["rest"].rstrip(" \t."))))
            if all(_TOOL_NAME.fullmatch(word[0]) for word in words):
                yield from ((word[0], word.start()) for word in words)


_LEADING = re.compile(_LEAD)
