"""The parsed skill and its diagnostics (docs/skills.md).

All values are derived from the stored bytes, which are authoritative. Lines and columns count from 1 in the stored
file, frontmatter included; offsets count bytes from 0.
"""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter


class SkillFormat(StrEnum):
    """The three accepted spellings of a skill."""

    NATIVE = "native"
    AGENT_SKILLS = "agent-skills"
    HYBRID = "hybrid"


class TriggerKind(StrEnum):
    """How a trigger condition is to be matched."""

    KEYWORDS = "keywords"
    SLASH = "slash"
    REGEX = "regex"
    SEMANTIC = "semantic"


class Severity(StrEnum):
    """How much a diagnostic matters: an error keeps a skill from being used, the others do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class TextEdit:
    """A replacement of one span of the stored bytes.

    Args:
        start: offset of the first replaced byte.
        end: offset behind the last one; equal to ``start`` for an insertion.
        replacement: the new text, written as UTF-8.
    """

    start: int
    end: int
    replacement: str


@dataclass(frozen=True)
class Fix:
    """A mend that an author can apply with one click.

    Args:
        title: what it does, in English.
        title_zh: the same in Chinese.
        edits: disjoint spans in ascending order.
    """

    title: str
    title_zh: str
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True)
class Diagnostic:
    """One thing that was noticed, at its place.

    Args:
        code: its key in ``skills.diagnostics``, for example ``SK005``.
        severity: how much it matters here.
        line: where it begins, from 1.
        column: the character of that line, from 1.
        end_line: the last line that it speaks of.
        message: fact and next step in English.
        message_zh: the same in Chinese.
        fix: the mend, where one exists.
    """

    code: str
    severity: Severity
    line: int
    column: int
    end_line: int
    message: str
    message_zh: str
    fix: Fix | None = None


@dataclass(frozen=True)
class Param:
    """A declared input (docs/skills.md, "Inputs").

    Args:
        name: its key.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object``, ``enum``,
            ``date``, ``datetime`` or ``file``.
        required: whether a run needs a value; where the file says nothing: whether it has no default.
        default: what is taken without a value, already of the type; ``None`` without one.
        description: what it is for.
        enum: the allowed values, of the type.
        items: the type of an array's members.
        example: a value to show.
        min: lowest number, or shortest length of a text or list.
        max: highest number, or greatest length.
        pattern: what a text must match.
        line: where it stands.
    """

    name: str
    type: str
    required: bool
    line: int
    default: Any = None
    description: str = ""
    enum: tuple[Any, ...] | None = None
    items: str | None = None
    example: Any = None
    min: float | None = None
    max: float | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class Step:
    """One step of the procedure.

    Args:
        index: its place, from 1.
        title: its short name.
        instruction: what to do, markdown as written.
        tools: the tools that it names.
        condition: when it applies.
        line: its first line.
        end_line: its last line.
    """

    index: int
    title: str | None
    instruction: str
    line: int
    end_line: int
    tools: tuple[str, ...] = ()
    condition: str | None = None


@dataclass(frozen=True)
class Example:
    """An example of use; ``text`` is the whole of it, markdown as written."""

    text: str
    title: str | None = None
    input: str | None = None
    output: str | None = None


@dataclass(frozen=True)
class Section:
    """A top-level section: its H2 and all text up to the next top-level H1 or H2.

    Args:
        key: the model's name of it (``steps``, ...), ``None`` where the heading is not known.
        title: the heading as written.
        level: 1 or 2.
        start_line: the heading's line.
        end_line: the last line that belongs to it.
        start: offset of its first byte.
        end: offset behind its last byte; the preamble and all sections tile the file.
    """

    key: str | None
    title: str
    level: int
    start_line: int
    end_line: int
    start: int
    end: int


@dataclass(frozen=True)
class ParsedSkill:
    """The model of a skill (docs/skills.md).

    Args:
        name: what people read.
        description: what it does and when to use it.
        format: how the file is spelled.
        slug: its key for machines: lower-case ASCII words with hyphens; empty without one.
        trigger_conditions: when to use it.
        trigger_kinds: of which kind each of them is.
        triggers_derived: whether they were taken from the description.
        input_params: the declared inputs.
        steps: the procedure.
        outputs: what it gives.
        examples: how it is used.
        constraints: what to keep to.
        not_for: when not to use it.
        tools: the allowed tools as named; ``None`` where none are declared (no restriction), empty
            where none are allowed.
        metadata: everything else that the file says about itself.
        sections: all top-level sections in order.
        input_schema: JSON Schema of the inputs, additional properties refused.
        body: the markdown without frontmatter.
        content_sha256: of the stored bytes, hexadecimal.
        token_estimate: about how many tokens the body takes.
    """

    name: str
    description: str
    format: SkillFormat
    slug: str
    body: str
    content_sha256: str
    token_estimate: int
    trigger_conditions: tuple[str, ...] = ()
    trigger_kinds: dict[str, TriggerKind] = field(default_factory=dict[str, TriggerKind])
    triggers_derived: bool = False
    input_params: tuple[Param, ...] = ()
    steps: tuple[Step, ...] = ()
    outputs: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    constraints: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    sections: tuple[Section, ...] = ()
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SkillReport:
    """The verdict about a file; nothing is parsed if it is too large or no text.

    Args:
        valid: it loads here: no errors.
        publishable: ``valid``, and no errors for publishing.
        portable: no AS diagnostics (the open standard's rules), which never make a skill invalid here.
    """

    parsed: ParsedSkill | None
    diagnostics: tuple[Diagnostic, ...]
    valid: bool
    publishable: bool
    portable: bool


@dataclass(frozen=True)
class SkillFile:
    """A file beside SKILL.md; ``path`` is relative, such as ``scripts/run.py``."""

    path: str
    content: bytes


_PARSED = TypeAdapter(ParsedSkill)


def to_json(parsed: ParsedSkill) -> dict[str, Any]:
    """The JSON form that versions store."""
    return _PARSED.dump_python(parsed, mode="json")


async def from_json(stored: dict[str, Any]) -> ParsedSkill:
    """The inverse of :func:`to_json`, on a thread as large ones take long; missing newer fields get defaults."""
    return await asyncio.to_thread(_PARSED.validate_python, stored)
