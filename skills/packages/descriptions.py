"""The description of an exported skill: what it does, when to use it and when not, in one field."""

import re

from core.text.graphemes import shortened
from kb_service.text.tokenizer import is_cjk_dominant
from skills.lint.rules.portability import LONGEST_DESCRIPTION, without_angles
from skills.schema import ParsedSkill

_LABELS = {
    False: (" Use when: ", " Not for: ", "; ", "."),
    True: (" 适用：", " 不适用：", "；", "。"),
}
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|[;；]")
_ENDED = (".", "!", "?", "。", "！", "？", ":", "：")
# A cut at the end of a sentence may not cost more than that of the text.
_LEAST_KEPT = 0.5


def portable_description(parsed: ParsedSkill) -> str:
    """The description with its triggers and exclusions, as the open standard wants it.

    Triggers that were taken from the description itself are not said twice.

    Returns:
        One line without angle brackets, at most ``LONGEST_DESCRIPTION`` characters.
    """
    when, not_for, between, full_stop = _LABELS[is_cjk_dominant(parsed.description)]
    text = without_angles(parsed.description)
    triggers = () if parsed.triggers_derived else parsed.trigger_conditions
    for label, phrases in ((when, triggers), (not_for, parsed.not_for)):
        joined = between.join(filter(None, map(without_angles, phrases)))
        if joined:
            ended = text if text.endswith(_ENDED) else text + full_stop
            text = f"{ended}{label}{joined}"
    return fitted(text, LONGEST_DESCRIPTION)


def fitted(text: str, most: int) -> str:
    """A text of at most so many characters: whole sentences where that keeps most of it."""
    if len(text) <= most:
        return text
    ends = [
        found.end() for found in _SENTENCE_END.finditer(text[: most + 1]) if found.end() <= most
    ]
    if ends and ends[-1] >= _LEAST_KEPT * most:
        return text[: ends[-1]].rstrip(";； ")
    blank = text.rfind(" ", 0, most - 1)
    return shortened(text, blank + 1 if blank >= _LEAST_KEPT * most else most)
