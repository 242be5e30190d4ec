"""Strict skills: agents see one step at a time and report them in order."""

from skills.parser.param_types import read_flag
from skills.schema import ParsedSkill

_STRICT = "strict"


def is_strict(parsed: ParsedSkill) -> bool:
    """Whether a skill has steps and the metadata ``strict: true``."""
    return bool(parsed.steps) and read_flag(parsed.metadata.get(_STRICT, "")) is True


def body_without_steps(parsed: ParsedSkill) -> str:
    """The markdown without frontmatter and without the sections of steps."""
    lines = parsed.body.removesuffix("\n").split("\n")
    if not parsed.sections:
        return parsed.body
    # The last section ends with the file, whose lines are counted with the frontmatter's.
    before = parsed.sections[-1].end_line - len(lines)
    hidden = {
        number
        for section in parsed.sections
        if section.key == "steps"
        for number in range(section.start_line, section.end_line + 1)
    }
    visible = [line for number, line in enumerate(lines, start=before + 1) if number not in hidden]
    return "\n".join(visible)
