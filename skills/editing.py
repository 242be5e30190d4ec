"""Changes of a file that leave all other bytes alone: mends, and one field at a time."""

from collections.abc import Iterable, Sequence
from typing import Literal

from skills import rendering
from skills import source as sources
from skills.diagnostics import Finding
from skills.draft import SkillDraft
from skills.grammar import yaml_text
from skills.grammar.outline import DraftSection
from skills.grammar.sections import name_behind_prefix
from skills.grammar.synonyms import usual_heading
from skills.models import Example, Fix, Param, SkillFormat, Step, TextEdit
from skills.parsing import read

Field = Literal[
    "name",
    "description",
    "trigger_conditions",
    "not_for",
    "input_params",
    "steps",
    "outputs",
    "examples",
    "constraints",
    "tools",
]
FieldValue = str | Sequence[str] | Sequence[Param] | Sequence[Step] | Sequence[Example] | None
"""A value of the model for its field; an empty one removes what the file says, ``None`` is for tools."""


class NotEditable(ValueError):
    """The file can't be read, or mends contradict each other: nothing was changed."""


def apply(content: bytes, fixes: Iterable[Fix]) -> bytes:
    """The bytes with mends applied, each edit once however many mends ask for it.

    Args:
        content: the bytes that the mends were made for.
        fixes: mends of diagnostics of these very bytes.

    Raises:
        NotEditable: two mends change the same place.
    """
    edits = {edit for fix in fixes for edit in fix.edits}
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end, edit.replacement)))
    try:
        return sources.apply(content, ordered)
    except ValueError as error:
        raise NotEditable(str(error)) from error


def edit_field(content: bytes, field: Field, value: FieldValue) -> bytes:
    """The bytes with one field of the model changed; all outside of its place stay as they are.

    A field stands in its section (a new one is put where the usual order has it), the name in the
    title; what a free document says in its frontmatter is changed there. Line ends are the file's.

    Args:
        content: the stored bytes.
        field: the model's name of it.
        value: the new value, of the field's type.

    Raises:
        NotEditable: the bytes are no text, or too large.
    """
    draft = read(content)
    if isinstance(draft, Finding):
        raise NotEditable("The file is no readable text, so no field of it can be changed.")
    if field == "name":
        edits = _name_edits(draft, str(value))
    elif field in ("description", "tools") and _stands_in_frontmatter(draft, field):
        edits = _frontmatter_edits(draft, field, value)
    else:
        edits = _section_edits(draft, field, value)
    return sources.apply(content, edits)


def _stands_in_frontmatter(draft: SkillDraft, field: str) -> bool:
    if draft.frontmatter is None or not draft.frontmatter.closed:
        return False
    if field == "tools":
        own = draft.frontmatter.entry("allowed-tools") is not None
        return own or (draft.spelling is SkillFormat.AGENT_SKILLS and not draft.of("tools"))
    return draft.spelling is SkillFormat.AGENT_SKILLS or not draft.of("description")


def _name_edits(draft: SkillDraft, name: str) -> tuple[TextEdit, ...]:
    source = draft.source
    title = next(iter(draft.of("title")), None)
    if title is None:
        if draft.frontmatter is not None and draft.frontmatter.entry("name"):
            return _frontmatter_edits(draft, "name", name)
        return (source.edit_lines(draft.outline.first_line, 0, f"# SKILL: {name}\n\n"),)
    heading = title.heading
    named = name_behind_prefix(heading.text)
    line = source.line(heading.start)
    old = named if named is not None else heading.text
    column = line.rfind(old) if old else len(line.rstrip())
    if column < 0:
        return (source.edit_lines(heading.start, heading.end, f"# SKILL: {name}\n"),)
    blank = " " if named == "" and not line.endswith(" ") else ""
    return (source.edit(heading.start, column + 1, len(old), f"{blank}{name}"),)


def _frontmatter_edits(draft: SkillDraft, field: str, value: FieldValue) -> tuple[TextEdit, ...]:
    """A field of the YAML as one line."""
    head = draft.frontmatter
    if head is None:
        return ()
    key = "allowed-tools" if field == "tools" else field
    written = value if isinstance(value, str) else " ".join(str(one) for one in value or ())
    line = "" if value is None else yaml_text.field(key, written)
    entry = head.entry(key)
    if entry is None:
        return (draft.source.edit_lines(head.end_line, head.end_line - 1, line),)
    return (draft.source.edit_lines(entry.line, entry.end_line, line),)


def _section_edits(draft: SkillDraft, field: str, value: FieldValue) -> tuple[TextEdit, ...]:
    source = draft.source
    sections = draft.of(field)
    chinese = _speaks_chinese(draft)
    text = rendering.body_of(field, value, chinese=chinese)
    if not sections:
        return _new_section(draft, field, text, chinese=chinese) if text else ()
    first, *others = sections
    removed = [TextEdit(one.section.start, one.section.end, "") for one in others]
    if not text:
        return (TextEdit(first.section.start, first.section.end, ""), *removed)
    if first.blocks:
        start, end = first.blocks[0].start, first.blocks[-1].end
        return (source.edit_lines(start, end, f"{text}\n"), *removed)
    after = first.heading.end + 1
    return (source.edit_lines(after, after - 1, f"\n{text}\n"), *removed)


def _speaks_chinese(draft: SkillDraft) -> bool:
    titles = [one.section.title for one in draft.sections if one.section.level == 2]
    return rendering.is_chinese("".join(titles or [draft.model.name, draft.model.description]))


def _new_section(
    draft: SkillDraft, field: str, text: str, *, chinese: bool
) -> tuple[TextEdit, ...]:
    """A section behind the last one that the usual order puts before it."""
    before: DraftSection | None = None
    place = rendering.ORDER.index(field)
    for one in draft.sections:
        if one.key == "title" or (one.key in rendering.ORDER[:place]):
            before = one
    source = draft.source
    line = before.section.end_line + 1 if before else len(source.lines)
    above = source.line(line - 1)
    blank = "\n" if above.strip() else ""
    heading = usual_heading(field, chinese=chinese)
    below = "\n" if line <= len(source.lines) and source.line(line).strip() else ""
    written = f"{blank}## {heading}\n\n{text}\n{below}"
    return (source.edit_lines(line, line - 1, written),)
