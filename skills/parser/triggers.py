"""Trigger conditions in a skill's description, and their kinds."""

import re

from skills.schema import TriggerKind

_DERIVED = re.compile(
    r"(?:^|(?<=[\s.。;；!！,，(（]))(?:"
    r"use (?:this skill |this |it )?(?:when(?:ever)?|if|for)(?![\w-])|triggers?(?: on| when)?\s*[:：]"
    r"|(?:be|is|are) used (?:when(?:ever)?|if)(?![\w-])|when to use\s*[:：]|activate when\b"
    r")\s*(?P<english>[^.。;；!！\n]{3,400})"
    r"|(?:适用|适用于|适用场景|使用场景|触发条件|触发词|关键词|何时使用)\s*[:：]\s*(?P<listed>[^。\n]{2,400})"
    r"|(?:^|(?<=[\s.。;；!！,，、]))当(?P<when>[^。\n，,；;]{2,100}?)(?:的?时候?(?:使用|调用|触发)?)(?=[，,。；;\s]|$)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*[、；;]\s*")
_KEYWORDS = re.compile(r"\s*(?:关键词|关键字|触发词|keywords?|trigger words?)\s*[:：]", re.IGNORECASE)
_SLASH = re.compile(r"`?/[a-z][\w-]*`?", re.IGNORECASE)
_REGEX = re.compile(r"`[^`]+`")


def classify(condition: str) -> TriggerKind:
    """A condition's kind: a list of keywords, ``/command``, a pattern in code marks, else meaning."""
    text = condition.strip()
    if _KEYWORDS.match(text):
        return TriggerKind.KEYWORDS
    if _SLASH.fullmatch(text):
        return TriggerKind.SLASH
    return TriggerKind.REGEX if _REGEX.fullmatch(text) else TriggerKind.SEMANTIC


def derive_triggers(description: str) -> tuple[str, ...]:
    """The conditions that a description names after "Use when", "当…时", "适用：" or "Triggers:"."""
    conditions: dict[str, None] = {}
    for match in _DERIVED.finditer(description):
        if listed := match["listed"]:
            conditions |= dict.fromkeys(_LISTED.split(listed.strip()))
        else:
            conditions[(match["english"] or match["when"]).strip()] = None
    return tuple(text for text in conditions if text)
