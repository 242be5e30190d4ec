"""SK060 to SK064: how well a skill is found and distinguished from others."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from kb_service.text.tokenizer import tokenize
from skills.diagnostics import Finding
from skills.lint.context import LintContext, SiblingSkill
from skills.parser.draft import SkillDraft

LEAST_WORDS = 5
LEAST_HAN = 10
# Of the words of two descriptions, how many are the same where agents mix the skills up.
SIMILAR = 0.8

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W_]+)*")
_SAYS_WHEN = re.compile(
    r"\b(?:when|whenever|if|before|after|while|during|upon|triggers?|use (?:this|it|for|to|in)|used? for"
    r"|useful for|helpful for|ideal for|asks?|mentions?|invoke|for (?:any|all|every|each))\b"
    r"|[当在]|时|如果|用于|适用|适合|场景|触发|每[天日周月次]|一旦|之前|之后|遇到|需要",
    re.IGNORECASE,
)
_LONGEST_COMPARED = 4000
# What readers of the open standard get. There can be thousands of others, read at every look.
_LONGEST_SHOWN = 1024
_MOST_REPEATED = 6
_REPEATED_SHARE = 0.2
_MOST_SAME_TRIGGERS = 3


def check(draft: SkillDraft, context: LintContext) -> Iterable[Finding]:
    """Reasons for agents to miss the skill or take another."""
    line = draft.description_line or 1
    if draft.model.description:
        yield from _description(draft, line)
        yield from _stuffing(draft, line)
    yield from _siblings(draft, context.siblings, line)
    yield from _languages(draft)


def _description(draft: SkillDraft, line: int) -> Iterator[Finding]:
    text = draft.model.description[:_LONGEST_COMPARED]
    if not draft.model.trigger_conditions and not _SAYS_WHEN.search(text):
        yield Finding("SK060", line)
    han = len(_HAN.findall(text))
    words = len(_WORD.findall(_HAN.sub(" ", text)))
    # Two characters say about what one word does.
    if words < LEAST_WORDS and han < LEAST_HAN and words + han / 2 < LEAST_WORDS:
        is_chinese = han > words
        count = han if is_chinese else words
        english = "characters" if is_chinese else "words"
        facts = {
            "length": f"{count} {english.removesuffix('s') if count == 1 else english}",
            "length_zh": f"{count} 个{'汉字' if is_chinese else '词'}",
        }
        yield Finding("SK061", line, facts=facts)


def _stuffing(draft: SkillDraft, line: int) -> Iterator[Finding]:
    words = tokenize(draft.model.description[:_LONGEST_COMPARED])
    for word, count in Counter(words).most_common(1):
        if count >= _MOST_REPEATED and count > _REPEATED_SHARE * len(words):
            facts = {"what": "description", "what_zh": "描述", "word": word, "count": count}
            yield Finding("SK064", line, facts=facts)
    phrases = Counter(map(_key, draft.model.trigger_conditions))
    section = next(iter(draft.of("trigger_conditions")), None)
    for phrase, count in phrases.most_common(1):
        if count >= _MOST_SAME_TRIGGERS and section is not None:
            facts = {"what": "list of triggers", "what_zh": "触发条件", "word": phrase, "count": count}
            yield Finding("SK064", section.section.start_line, facts=facts)


def _siblings(draft: SkillDraft, siblings: Iterable[SiblingSkill], line: int) -> Iterator[Finding]:
    model = draft.model
    name = _key(model.name)
    words = frozenset(tokenize(model.description[:_LONGEST_SHOWN]))
    title = next(iter(draft.of("title")), None)
    nearest: tuple[float, SiblingSkill] | None = None
    for other in siblings:
        if name and _key(other.name) == name:
            facts = {"what": "name", "what_zh": "名称", "other": other.name}
            yield Finding("SK062", title.section.start_line if title else 1, facts=facts)
            return
        alike = _alike(words, frozenset(tokenize(other.description[:_LONGEST_SHOWN])))
        if alike >= SIMILAR and (nearest is None or alike > nearest[0]):
            nearest = alike, other
    if nearest is not None:
        facts = {"what": "description", "what_zh": "描述", "other": nearest[1].name}
        yield Finding("SK062", line, facts=facts)


def _alike(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / len(words | others) if words and others else 0.0


def _languages(draft: SkillDraft) -> Iterator[Finding]:
    triggers = draft.model.trigger_conditions
    section = next(iter(draft.of("trigger_conditions")), None)
    if not triggers or draft.model.triggers_derived or section is None:
        return
    text = "\n".join(triggers)
    has_han = _HAN.search(text) is not None
    has_words = len(_WORD.findall(_HAN.sub(" ", text))) >= 2
    if has_han != has_words:
        facts = {"language": "Chinese" if has_han else "English", "language_zh": "中文" if has_han else "英文"}
        yield Finding("SK063", section.section.start_line, facts=facts)


def _key(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
