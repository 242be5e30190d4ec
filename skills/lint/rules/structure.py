"""SK001 to SK007, SK013, SK014, SK022: title, description, sections, byte order mark, code blocks."""

import re
from collections.abc import Iterable, Iterator

from skills.diagnostics import Finding
from skills.parser import headings
from skills.parser.draft import SkillDraft
from skills.parser.outline import DraftSection, OutlineBlock
from skills.parser.sections import name_behind_prefix
from skills.schema import SkillFormat, TextEdit

_FENCE = re.compile(r"[ \t]{0,3}(?:`{3}|~{3})")
_QUOTED = re.compile(r"[>\s]*")


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Missing, repeated, empty or unclosed parts."""
    yield from _mark(draft)
    yield from _title(draft)
    yield from _missing(draft)
    yield from _empty(draft)
    yield from _open_fences(draft)


def _mark(draft: SkillDraft) -> Iterator[Finding]:
    if draft.source.has_mark:
        yield Finding("SK013", 1, edits=(TextEdit(0, draft.source.starts[0], ""),))


def _title(draft: SkillDraft) -> Iterator[Finding]:
    firsts = [section for section in draft.sections if section.section.level == 1]
    title = next((section for section in firsts if section.key == "title"), None)
    if title is None and draft.frontmatter is None:
        yield Finding("SK001", _first_line(draft), edits=_title_fix(draft))
    if title and name_behind_prefix(title.section.title) is None and _needs_prefix(draft, title):
        facts = {"title": title.section.title}
        yield Finding("SK002", title.section.start_line, facts=facts, edits=_prefix(draft, title))
    if not draft.model.name and (title or draft.frontmatter):
        yield Finding("SK003", title.section.start_line if title else 1)
    for other in firsts:
        if other is not title:
            edits = _demote(draft, other.heading)
            facts = {"title": other.section.title}
            yield Finding("SK004", other.section.start_line, facts=facts, edits=edits)


def _needs_prefix(draft: SkillDraft, title: DraftSection) -> bool:
    """Whether the title needs the prefix; the standard's ``name`` makes it superfluous."""
    return bool(title.section.title and not (draft.frontmatter and draft.frontmatter.text("name")))


def _first_line(draft: SkillDraft) -> int:
    lines = enumerate(draft.source.lines, start=1)
    return next((number for number, line in lines if line.strip()), 1)


def _title_fix(draft: SkillDraft) -> tuple[TextEdit, ...]:
    line = _first_line(draft)
    if not name_behind_prefix(draft.source.line(line)):
        return ()
    return (draft.source.edit(line, 1, 0, "# "),)


def _prefix(draft: SkillDraft, title: DraftSection) -> tuple[TextEdit, ...]:
    place = draft.source.line(title.section.start_line).find(title.heading.text)
    if place < 0:
        return ()
    return (draft.source.edit(title.section.start_line, place + 1, 0, "SKILL: "),)


def _demote(draft: SkillDraft, heading: OutlineBlock) -> tuple[TextEdit, ...]:
    place = draft.source.line(heading.start).find("#")
    if heading.tokens[0].markup != "#" or place < 0:
        return ()
    return (draft.source.edit(heading.start, place + 1, 0, "#"),)


def _missing(draft: SkillDraft) -> Iterator[Finding]:
    model = draft.model
    if draft.frontmatter and not draft.frontmatter.readable:
        # What can't be read may say it all: first things first.
        return
    title = next(iter(draft.of("title")), None)
    line = title.section.start_line if title else 1
    if not model.description:
        free = model.format is SkillFormat.AGENT_SKILLS
        place = draft.frontmatter.start_line if draft.frontmatter and free else line
        variant = "frontmatter" if free else ""
        yield Finding("SK005", place, variant=variant, edits=_description_fix(draft, title))
    if not model.trigger_conditions:
        yield Finding("SK006", line)
    if not model.steps:
        yield Finding("SK007", line)


def _description_fix(draft: SkillDraft, title: DraftSection | None) -> tuple[TextEdit, ...]:
    paragraphs = [block for block in title.blocks if block.kind == "paragraph"] if title else []
    if not paragraphs or draft.of("description"):
        return ()
    chinese = any("\u3400" <= sign <= "\u9fff" for sign in paragraphs[0].text)
    heading = "描述" if chinese else "Description"
    return (draft.source.edit_lines(paragraphs[0].start, paragraphs[0].start - 1, f"## {heading}\n\n"),)


def _empty(draft: SkillDraft) -> Iterator[Finding]:
    for section in draft.sections:
        if section.section.level == 2 and all(_says_nothing(block) for block in section.blocks):
            section = section.section
            edit = TextEdit(section.start, section.end, "")
            facts = {"title": section.title}
            yield Finding("SK022", section.start_line, end_line=section.end_line, facts=facts, edits=(edit,))


def _says_nothing(block: OutlineBlock) -> bool:
    return block.kind == "hr" or (block.kind == "html_block" and _is_comment(block.text))


def _is_comment(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("<!--") and stripped.endswith("-->") and "-->" not in stripped[4:-3]


def _open_fences(draft: SkillDraft) -> Iterator[Finding]:
    first = draft.outline.first_line
    for token in draft.outline.tokens:
        if token.type != "fence" or not token.map:
            continue
        start, end = token.map[0] + first, token.map[1] + first - 1
        last = _QUOTED.sub("", draft.source.line(end), count=1).rstrip()
        if end > start and set(last) == {token.markup[0]} and len(last) >= len(token.markup):
            continue
        line = draft.source.line(start)
        column = max(line.find(token.markup), 0) + 1
        edits = () if token.level else _close(draft, start, end, token.markup)
        facts = {"fence": token.markup}
        yield Finding("SK014", start, column, end, facts, edits=edits)


def _close(draft: SkillDraft, start: int, end: int, fence: str) -> tuple[TextEdit, ...]:
    """Closes the block before the first known heading inside it, else at the end.

    A heading before another fence is quoted with it.
    """
    lines = range(start + 1, end + 1)
    last_fence = max((at for at in lines if _FENCE.match(draft.source.line(at))), default=start)
    for number in lines:
        line = draft.source.line(number)
        if number > last_fence and line.startswith("## ") and headings.resolve(line[3:]):
            return (draft.source.edit_lines(number, number - 1, f"{fence}\n\n"),)
    last = end
    while last > start and not draft.source.line(last).strip():
        last -= 1
    return (draft.source.edit_lines(last + 1, last, f"{fence}\n"),)


MOST_LINES = 500
MOST_TOKENS = 5000
LONGEST_DESCRIPTION = 1024
LONGEST_NAME = 64


def check_sizes(draft: SkillDraft) -> Iterable[Finding]:
    """Sizes beyond what the open standard or a context advises."""
    model, first = draft.model, draft.outline.first_line
    lines = model.body.rstrip().count("\n") + 1
    if lines > MOST_LINES:
        facts = {"lines": lines, "limit": MOST_LINES}
        yield Finding("SK050", first + MOST_LINES, facts=facts)
    if model.token_estimate > MOST_TOKENS:
        facts = {"tokens": model.token_estimate, "limit": MOST_TOKENS}
        yield Finding("SK051", first, facts=facts)
    if len(model.description) > LONGEST_DESCRIPTION:
        facts = {"length": len(model.description), "limit": LONGEST_DESCRIPTION}
        yield Finding("SK053", draft.description_line or 1, facts=facts)
    if len(model.name) > LONGEST_NAME:
        title = next(iter(draft.of("title")), None)
        facts = {"length": len(model.name), "limit": LONGEST_NAME}
        yield Finding("SK054", title.section.start_line if title else 1, facts=facts)
