"""The allowed tools: ``allowed-tools`` of the frontmatter, else the section of tools."""

import re
from collections.abc import Iterator, Sequence

from skills.parser.frontmatter import Frontmatter
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.source import SkillSource
from skills.parser.text_blocks import read_texts, says_nothing, section_text
from skills.parser.yaml_reader import YamlField, YamlValue

_CODE = re.compile(r"`([^`\n]{1,200})`")
_WORD = re.compile(r"[^,，、]+")
_NAME = re.compile(r"[A-Za-z_\u3400-\u9fff*][^\s,，、;；:：(（`]{0,127}(?:\([^()]{0,200}\))?")


def read(
    frontmatter: Frontmatter | None, sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline
) -> tuple[str, ...] | None:
    """The allowed tools as named; ``None`` where none are declared, empty where none are allowed."""
    entry = declared_field(frontmatter)
    if entry is not None:
        return tuple(dict.fromkeys(names_in(entry.value)))
    written_sections = [section for section in sections if section_text(section, source)]
    if not written_sections:
        return None
    texts = read_texts(written_sections, source, body)
    names = (name for text in texts for name, _ in tools_named_in(text))
    return tuple(dict.fromkeys(name for name in names if not says_nothing(name)))


def declared_field(frontmatter: Frontmatter | None) -> YamlField | None:
    """The field ``allowed-tools``, unless it is blank: who leaves it blank restricts nothing."""
    entry = frontmatter.entry("allowed-tools") if frontmatter else None
    return None if entry is None or _is_blank(entry.value) else entry


def _is_blank(value: YamlValue) -> bool:
    if value.kind == "list":
        return bool(value.items) and all(map(_is_blank, value.items))
    return value.kind == "scalar" and (value.scalar is None or not value.text.strip())


def names_in(value: YamlValue) -> Iterator[str]:
    """The tools that a field's value names, in any notation; none for ``none``."""
    texts = [item.text for item in value.items] if value.kind == "list" else [value.text]
    yield from (name for text in texts for name in split(text) if not says_nothing(name))


def split(text: str) -> Iterator[str]:
    """Names separated by blanks and commas; text in parentheses is kept whole."""
    depth, begin = 0, 0
    for at, sign in enumerate(f"{text} "):
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth = max(depth - 1, 0)
        elif sign in " ,，、\t\n" and (depth == 0 or at == len(text)):
            if name := text[begin:at].strip(" ,，、\t\n`"):
                yield name
            begin = at + 1


def base_name(tool: str) -> str:
    """A tool's name without its argument pattern: ``Bash`` of ``Bash(git:*)``."""
    return tool.partition("(")[0].strip()


def is_enforceable(tool: str) -> bool:
    """Whether an entry of allowed tools names tools, not arguments, as ``Tool(x:*)`` does."""
    return "(" not in tool and "*" not in tool.removesuffix("*")


class AllowedTools:
    """The tools that a skill allows; ``Tool(pattern)`` limits arguments, a trailing ``*`` allows a prefix."""

    def __init__(self, tools: Sequence[str]) -> None:
        names = {base_name(tool) for tool in tools}
        self._names = frozenset(name for name in names if not name.endswith("*"))
        self._prefixes = tuple(name[:-1] for name in names if name.endswith("*"))

    def allow(self, tool: str) -> bool:
        name = base_name(tool)
        return name in self._names or name.startswith(self._prefixes)


def tools_named_in(text: str) -> Iterator[tuple[str, int]]:
    """The tools named in a list item or paragraph, with offsets: those in code marks, else its first word."""
    first, _, _ = text.partition("\n")
    if says_nothing(first):
        return
    head = re.split(r"[:：]|\s[-–—]+\s", first, maxsplit=1)[0]
    if codes := list(_CODE.finditer(head)) or list(_CODE.finditer(first))[:1]:
        for code in codes:
            name = code[1].strip()
            yield name, code.start(1) + code[1].find(name)
        return
    for word in _WORD.finditer(head.replace("**", "  ")):
        if match := _NAME.match(word[0].strip()):
            yield match[0], word.start() + word[0].find(match[0])
