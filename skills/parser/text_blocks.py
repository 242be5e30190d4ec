"""Helpers for sections: lists of texts, placeholders, empty values."""

import re
from collections.abc import Iterator, Sequence

from skills.parser import outline
from skills.parser.headings import HAN
from skills.parser.outline import BodyOutline, DraftSection, OutlineBlock
from skills.parser.source import SkillSource

NAME = re.compile(r"[A-Za-z_\u3400-\u9fff][\w\u3400-\u9fff.-]{0,63}")
"""A parameter's name."""

PLACEHOLDER = re.compile(r"\{\{[ \t]{0,8}([A-Za-z_\u3400-\u9fff][\w\u3400-\u9fff.-]{0,63})[ \t]{0,8}\}\}")
"""``{{name}}`` in a step, output or example."""

_NOTHING = re.compile(r"(?:无|没有|空|none|nothing|n/a|-|—)[。.]?", re.IGNORECASE)
_LISTS = frozenset({"bullet_list", "ordered_list"})


def says_nothing(text: str) -> bool:
    """Whether a text means none (无, none)."""
    return len(text) < 16 and bool(_NOTHING.fullmatch(text.strip()))


def list_items(block: OutlineBlock, source: SkillSource, body: BodyOutline) -> Iterator[outline.ListItem]:
    """The items of a list block."""
    return outline.list_items_of(block, source, body.first_line)


def is_list(block: OutlineBlock) -> bool:
    """Whether a block is a list."""
    return block.kind in _LISTS


def read_texts(sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline) -> tuple[str, ...]:
    """The texts of sections: one per list item, else one per block; headings and rules left out."""
    texts: list[str] = []
    for section in sections:
        for block in section.blocks:
            if is_list(block):
                texts += (outline.item_text(item, source) for item in list_items(block, source, body))
            elif block.kind not in {"heading", "hr"} and not _is_comment(block):
                texts.append(outline.raw_lines(source, block.start, block.end).strip())
    return tuple(text for text in texts if text and not says_nothing(text))


def _is_comment(block: OutlineBlock) -> bool:
    return block.kind == "html_block" and block.text.lstrip().startswith("<!--")


def section_text(section: DraftSection, source: SkillSource) -> str:
    """All text below a section's heading, without blank lines around."""
    if not section.blocks:
        return ""
    return outline.raw_lines(source, section.blocks[0].start, section.blocks[-1].end).strip()


def tokens_in(text: str) -> int:
    """Estimated tokens of a text: one per Han character, one per four others."""
    others = len(_HAN.sub("", text))
    return len(text) - others + -(-others // 4)


_HAN = re.compile(f"[{HAN}]")
