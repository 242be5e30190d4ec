"""The facts that somebody asks in so many words to be remembered: all that rules can distil."""

import re
from collections.abc import Iterator, Sequence

from kb_service.text.tokenizer import sentences

_ENGLISH = re.compile(
    r"""^(?:(?:ok|okay|hi|hello|and|also|so|please|kindly|but)[\s,]+)*
    (?:remember|note|keep\ in\ mind|do\ not\ forget|don['’]t\ forget|make\ a\ note)
    (?:\s*[:,]\s*|\s+that\s+|\s+this\s*[:,]\s*)
    (?P<fact>\S.*)$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_CHINESE = re.compile(
    r"^(?:请|请你|麻烦|麻烦你|你要|帮我|另外|还有|对了|好的|[\s，,、])*"
    r"(?:记住|记得|记下来?|记一下|别忘了?|不要忘记)"
    r"(?:[：:，,\s]|一下|这一?点|这件事)*"
    r"(?P<fact>\S.*)$",
    re.DOTALL,
)
_QUESTION = re.compile(r"[?？]\s*$|吗[。.!！\s]*$")
# What is said of remembering itself, not of what to remember.
_NO_FACT = re.compile(r"^(?:了|过|没有|the\s+\w+\W*$|it\W*$|this\W*$|that\W*$)", re.IGNORECASE)
_CLOSING = " .!。！;；"


def stated_facts(messages: Sequence[str], *, most: int) -> list[str]:
    """The facts after "remember that" and "记住" at the beginning of a sentence.

    Args:
        messages: of one person, in order.
        most: how many at most, the first ones.

    Returns:
        Their texts as they were said, each once, without the request before them.
    """
    found = dict.fromkeys(fact for message in messages for fact in _facts(message))
    return list(found)[:most]


def _facts(message: str) -> Iterator[str]:
    for line in message.splitlines():
        for sentence in sentences(line):
            match = _ENGLISH.match(sentence.strip()) or _CHINESE.match(sentence.strip())
            if match is None or _QUESTION.search(sentence) or _NO_FACT.match(match["fact"]):
                continue
            if fact := match["fact"].strip().rstrip(_CLOSING):
                yield fact
