"""Examples of use: one per third-level heading, else the whole section as one."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from skills.parser import outline
from skills.parser.outline import DraftSection, OutlineBlock
from skills.parser.source import SkillSource
from skills.parser.text_blocks import says_nothing
from skills.schema import Example

_LEAD = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?:(?P<input>用户输入|输入|用户|input|user)"
    r"|(?P<output>预期输出|输出|助手|output|expected output|assistant))"
    r"(?:\*\*|__)?[ \t]*[:：][ \t]*(?:\*\*|__)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"\s*(?:(?:示例|例子|例|样例|案例|example)\s*\d*|\d+[.、)])\s*[:：.、—-]*\s*", re.IGNORECASE)


def read(sections: Sequence[DraftSection], source: SkillSource) -> tuple[Example, ...]:
    """The examples of all sections in order."""
    return tuple(example for section in sections for example in _section(section, source))


def _section(section: DraftSection, source: SkillSource) -> Iterator[Example]:
    blocks = section.blocks
    heads = [at for at, block in enumerate(blocks) if block.level == 3]
    first = heads[0] if heads else len(blocks)
    yield from _example(None, blocks[:first], source)
    for at, following in pairwise([*heads, len(blocks)]):
        title = _title(blocks[at].text.strip())
        yield from _example(title, blocks[at + 1 : following], source)


def _title(heading: str) -> str | None:
    number = _NUMBER.match(heading)
    return (heading[number.end() :].strip() if number else heading) or None


def _example(title: str | None, blocks: Sequence[OutlineBlock], source: SkillSource) -> Iterator[Example]:
    text = outline.raw_lines(source, blocks[0].start, blocks[-1].end) if blocks else ""
    if not text.strip() or says_nothing(text):
        return
    yield Example(text, title, **split_sides(text))


def split_sides(text: str) -> dict[str, str]:
    """The input and output marked by lead-ins; each runs to the next lead-in."""
    sides: dict[str, str] = {}
    leads = list(_LEAD.finditer(text))
    for at, lead in enumerate(leads):
        end = leads[at + 1].start() if at + 1 < len(leads) else len(text)
        side = "input" if lead["input"] else "output"
        sides.setdefault(side, text[lead.end() : end].strip())
    return {side: part for side, part in sides.items() if part}
