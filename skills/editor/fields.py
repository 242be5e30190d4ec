"""Edits of a skill's fields that leave all other bytes of the file alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from core.errors.requests import SkillNotEditable
from skills.diagnostics import Finding
from skills.editor import render, roundtrip
from skills.editor.frontmatter import set_field, set_metadata
from skills.editor.items import ITEM_FIELDS, description_edit, item_edit
from skills.parser import metadata
from skills.parser import source as sources
from skills.parser.draft import SkillDraft
from skills.parser.frontmatter import Frontmatter
from skills.parser.headings import usual_heading
from skills.parser.outline import DraftSection
from skills.parser.parse import parse
from skills.parser.sections import name_behind_prefix
from skills.schema import SkillFormat, TextEdit

EditableField = Literal[
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
    "metadata",
]
"""What can be changed: the model's names."""

FIELDS: tuple[EditableField, ...] = get_args(EditableField)
"""The same in the order in which changes are made."""


_NO_TOOLS = "none"
"""A blank field would restrict nothing."""


def edit_fields(content: bytes, changes: Mapping[EditableField, Any]) -> bytes:
    """The bytes with fields of the model changed; all other bytes stay as they are, else ``SkillNotEditable``.

    A field is edited in its section (new sections go to their usual place), the name in the title; fields of a free
    document in its frontmatter. An empty value removes the field, ``None`` for the tools the restriction.
    """
    draft = _read(content)
    for field in FIELDS:
        if field in changes:
            draft = _change_field(draft, field, roundtrip.without_places(field, changes[field]))
    return draft.source.content


def _change_field(draft: SkillDraft, field: EditableField, value: Any) -> SkillDraft:  # noqa: ANN401 - of any field
    roundtrip.check_writable({field: value})
    # What the description says already is no section of its own, whoever sends it back.
    as_read = roundtrip.without_places(field, getattr(draft.model, field))
    if value in (as_read, roundtrip.field_values(draft.model)[field]):
        return draft
    gentle = _item_edits(draft, field, value)
    if gentle is not None:
        try:
            return _applied(draft, field, value, (gentle,))
        except SkillNotEditable:
            # An item was taken for another one: the section is written anew.
            pass
    return _applied(draft, field, value, _edits(draft, field, value))


def _applied(
    draft: SkillDraft,
    field: EditableField,
    value: Any,  # noqa: ANN401 - of any field
    edits: Iterable[TextEdit],
) -> SkillDraft:
    """The draft after edits, if it says the value now and nothing else than before; else ``SkillNotEditable``."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    try:
        after = _read(sources.apply_edits(draft.source.content, tuple(ordered)))
    except ValueError:
        # Several fields of frontmatter on one line.
        raise roundtrip.not_editable_error(field, "form") from None
    expected = render.complete_value(field, value, chinese=_is_chinese(draft))
    roundtrip.check_reads_back({field: expected}, after.model)
    roundtrip.check_others_unchanged(field, draft.model, after.model)
    return after


def _item_edits(draft: SkillDraft, field: EditableField, value: Any) -> TextEdit | None:  # noqa: ANN401 - of any field
    """An edit of what differs alone, where the field has one section."""
    sections = draft.of(field)
    if len(sections) != 1:
        return None
    if field == "description":
        head = _closed_frontmatter(draft)
        if head is not None and _stands_in(draft, head, field):
            return None
        return description_edit(draft.source, sections[0], draft.model.description, str(value))
    if field not in ITEM_FIELDS:
        return None
    chinese = _is_chinese(draft)
    new = render.complete_value(field, value, chinese=chinese)
    return item_edit(draft.source, sections[0], getattr(draft.model, field), new, chinese=chinese)


def _read(content: bytes) -> SkillDraft:
    draft = parse(content)
    if isinstance(draft, Finding):
        raise roundtrip.unreadable_error(draft)
    return draft


def _edits(draft: SkillDraft, field: EditableField, value: Any) -> Iterable[TextEdit]:  # noqa: ANN401 - of any field
    head = _closed_frontmatter(draft)
    if field == "name":
        return _name_edits(draft, head, str(value))
    if field == "metadata":
        return _metadata_edits(draft, head, value)
    if head is not None and field in {"description", "tools"} and _stands_in(draft, head, field):
        key = "allowed-tools" if field == "tools" else field
        texts = cast("str | Sequence[str] | None", value)
        text = texts if texts is None or isinstance(texts, str) else " ".join(texts) or _NO_TOOLS
        return (set_field(draft, head, key, text),)
    return _section_edits(draft, field, value, draft.of(field))


def _closed_frontmatter(draft: SkillDraft) -> Frontmatter | None:
    head = draft.frontmatter
    return head if head is not None and head.closed and head.readable else None


def _stands_in(draft: SkillDraft, head: Frontmatter, field: str) -> bool:
    if field == "tools":
        own = head.entry("allowed-tools") is not None
        return own or (draft.spelling is SkillFormat.AGENT_SKILLS and not draft.of("tools"))
    return draft.spelling is SkillFormat.AGENT_SKILLS or not draft.of("description")


def _name_edits(draft: SkillDraft, head: Frontmatter | None, name: str) -> tuple[TextEdit, ...]:
    source = draft.source
    title = next(iter(draft.of("title")), None)
    is_own_title = title is not None and name_behind_prefix(title.heading.text) is not None
    # A plain heading is no name where the folder's counts.
    if head is not None and (head.text("name") or not is_own_title):
        return (set_field(draft, head, "name", name),)
    if title is None:
        line = render.heading("# ", f"SKILL: {name}")
        return (source.edit_lines(draft.outline.first_line, 0, f"{line}\n\n"),)
    block = title.heading
    prefixed_name = name_behind_prefix(block.text)
    line = source.line(block.start)
    old = prefixed_name if prefixed_name is not None else block.text
    column = line.rfind(old) if old else len(line.rstrip())
    if column < 0 or name.endswith("#"):
        words = name if prefixed_name is None else f"SKILL: {name}"
        return (source.edit_lines(block.start, block.end, render.heading("# ", words) + "\n"),)
    blank = " " if prefixed_name == "" and not line.endswith(" ") else ""
    return (source.edit(block.start, column + 1, len(old), f"{blank}{name}"),)


def _metadata_edits(draft: SkillDraft, head: Frontmatter | None, value: Mapping[str, str]) -> list[TextEdit]:
    source, body = draft.source, draft.outline
    above = {} if head is None else metadata.read(head, (), source, body)
    own = {key: section for section in draft.of("metadata") if (key := metadata.own_key(section))}
    others = [section for section in draft.of("metadata") if section not in own.values()]
    below = metadata.read(None, others, source, body)
    left = dict(value)
    head_pairs = {key: left.pop(key) for key in above if key in left}
    edits: list[TextEdit] = []
    for key, section in own.items():
        now = metadata.read(None, [section], source, body).get(key)
        text = None if key in above else left.pop(key, None)
        if key not in above and text != now:
            edits += _body_edits(draft, section, text or "")
    own_pairs = {key: left.pop(key) for key in below if key in left}
    if head is not None:
        edits += set_metadata(draft, head, head_pairs | left)
    else:
        own_pairs |= left
    if own_pairs != {key: text for key, text in below.items() if key not in above}:
        edits += _section_edits(draft, "metadata", own_pairs, others)
    return edits


def _section_edits(
    draft: SkillDraft,
    field: str,
    value: Any,  # noqa: ANN401 - of any field
    sections: Sequence[DraftSection],
) -> tuple[TextEdit, ...]:
    """Write the value to its first section and remove the others; else add a section."""
    chinese = _is_chinese(draft)
    text = render.section_body(field, value, chinese=chinese)
    if not sections:
        return _new_section(draft, field, text, chinese=chinese) if text else ()
    first, *others = sections
    removed = [TextEdit(section.section.start, section.section.end, "") for section in others]
    return (*_body_edits(draft, first, text), *removed)


def _body_edits(draft: SkillDraft, section: DraftSection, text: str) -> tuple[TextEdit, ...]:
    source = draft.source
    if not text:
        return (TextEdit(section.section.start, section.section.end, ""),)
    if section.blocks:
        start, end = section.blocks[0].start, section.blocks[-1].end
        return (source.edit_lines(start, end, f"{text}\n"),)
    after = section.heading.end + 1
    return (source.edit_lines(after, after - 1, f"\n{text}\n"),)


def _is_chinese(draft: SkillDraft) -> bool:
    titles = [section.section.title for section in draft.sections if section.section.level == 2]
    return render.is_chinese("".join(titles or [draft.model.name, draft.model.description]))


def _new_section(draft: SkillDraft, field: str, text: str, *, chinese: bool) -> tuple[TextEdit, ...]:
    before: DraftSection | None = None
    place = roundtrip.ORDER.index(field)
    for section in draft.sections:
        if section.key == "title" or (section.key in roundtrip.ORDER[:place]):
            before = section
    source = draft.source
    line = before.section.end_line + 1 if before else len(source.lines)
    above = source.line(line - 1)
    blank = "\n" if above.strip() else ""
    heading = usual_heading(field, chinese=chinese)
    below = "\n" if line <= len(source.lines) and source.line(line).strip() else ""
    written = f"{blank}## {heading}\n\n{text}\n{below}"
    return (source.edit_lines(line, line - 1, written),)
