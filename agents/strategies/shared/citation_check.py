"""Resolution of the ``[n]`` marks of an answer to passages, and a check of its claims."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.evidence import Citation, Evidence, Passage, UnsupportedClaim
from core.types.text_pages import page_at
from kb_service.text.tokenizer import is_cjk_dominant, sentences, tokenize

_LEADING_MARKS = re.compile(r"^(?:\s*[\[【][\d,，、; ]{1,40}[\]】])+[.。]?")
_CLAIM_CHECK_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_BULLET = re.compile(r"^\s*(?:[-*+>•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$|\|)")
# A sentence about missing knowledge claims nothing about the documents.
_DISCLAIMER = re.compile(
    r"\b(?:no (?:passage|document|information|mention|source)|do(?:es)? not (?:say|mention|contain|"
    r"state|hold|cover|specify)|don't|doesn't|not (?:mentioned|stated|found|specified)|"
    r"could(?: not|n't)|can(?:not|'t)|unable|unknown|sorry)\b"
    r"|没有(?:提到|提及|说明|找到|相关|给出|涉及)|未(?:提到|提及|说明|找到|给出|涉及)|无法|不清楚|抱歉",
    re.IGNORECASE,
)
_FEWEST_TOKENS = 3
_LONGEST_ANSWER = 100_000
_MOST_CLAIMS = 50
_CLAIM_CHECK_LONGEST_CLAIM = 500


def unsupported_claims(answer: str, evidence: Evidence, *, uncited: str = "") -> tuple[UnsupportedClaim, ...]:
    """The statements without a source, in order.

    If nothing was retrieved, only statements with marks count: the others claim no source.

    A statement is supported by its own marks, else by the next ones in its paragraph or list item, else
    by those before it there. Each figure must be in one of the cited passages, and within one language
    the statement must share a word with them; whether the passage means the same is not judged.

    Args:
        uncited: Tool output without numbers, which statements without a mark may rest on.
    """
    is_bare = not evidence.numbers()
    prose = _CLAIM_CHECK_CODE.sub("\n", answer[:_LONGEST_ANSWER])
    claims: list[UnsupportedClaim] = []
    for block in _blocks(prose):
        for claim, numbers in _with_marks(_statements(block)):
            verdict = _verdict(claim, numbers, evidence)
            is_borne_out = uncited and not numbers and _bears_out(uncited, claim)
            if verdict is not None and not is_borne_out and (numbers or not is_bare):
                claims.append(verdict)
    return tuple(claims[:_MOST_CLAIMS])


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and list items, without headings and tables."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        is_item = _BULLET.match(line) is not None
        if not line.strip() or is_item or _HEADING.match(line):
            if lines:
                yield " ".join(lines)
            lines = []
        if line.strip() and not _HEADING.match(line):
            lines.append(_BULLET.sub("", line).strip())


def _statements(block: str) -> list[str]:
    """The sentences of a block; marks after the full stop belong to the sentence before."""
    whole: list[str] = []
    for sentence in sentences(block):
        marks = _LEADING_MARKS.match(sentence)
        if marks and whole:
            whole[-1] += marks.group()
            sentence = sentence[marks.end() :]
        if sentence.strip():
            whole.append(sentence.strip())
    return whole


def _with_marks(statements: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    own = [[int(number) for mark in _MARK.findall(text) for number in re.findall(r"\d+", mark)] for text in statements]
    for place, statement in enumerate(statements):
        following = next((numbers for numbers in own[place:] if numbers), None)
        before = next((numbers for numbers in reversed(own[:place]) if numbers), list[int]())
        claim = re.sub(r"\s+([.,;:!?。，；：！？])", r"\1", _MARK.sub("", statement)).strip()
        yield claim, before if following is None else following


def _verdict(claim: str, numbers: Sequence[int], evidence: Evidence) -> UnsupportedClaim | None:
    tokens = set(tokenize(claim))
    says_much = len(tokens) >= _FEWEST_TOKENS or _FIGURE.search(claim) is not None
    if not says_much or claim.endswith((":", "：", "?", "？")) or _DISCLAIMER.search(claim):
        return None
    text = claim[:_CLAIM_CHECK_LONGEST_CLAIM]
    passages = [passage for number in numbers if (passage := evidence.get(number)) is not None]
    if not passages:
        return UnsupportedClaim(text, "no_source" if numbers else "uncited")
    sources = [" ".join([p.document_name, *p.heading_path, p.before, p.content, p.after]) for p in passages]
    is_borne_out = _bears_out(" ".join(sources), claim)
    return None if is_borne_out else UnsupportedClaim(text, "not_in_source")


def _bears_out(source: str, claim: str) -> bool:
    """Whether the source contains all figures of the claim, and one of its words."""
    # Texts in different languages need not share words.
    is_foreign = is_cjk_dominant(claim) != is_cjk_dominant(source)
    shares = is_foreign or not set(tokenize(claim)).isdisjoint(tokenize(source))
    return shares and _figures(claim) <= _figures(source)


def _figures(text: str) -> set[str]:
    """Numbers normalised for comparison: no thousands separators or trailing zeros."""
    plain: set[str] = set()
    for figure in _FIGURE.findall(text):
        digits = re.sub(r",(?=\d{3})", "", figure)
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        # "07:00" and "7:00" are the same time.
        plain.add(digits.lstrip("0") or "0")
    return plain


_MARK = re.compile(r"[\[【](\d{1,3}(?:\s*[,，、;]\s*\d{1,3})*)[\]】](?!\()")
_TRAILING_MARKS = re.compile(r"(?:\s*[\[【][\d,，、; ]{1,40}[\]】]){1,20}\s*$")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LONGEST_QUOTE = 600
_LONGEST_CLAIM = 1200


@dataclass(frozen=True, slots=True)
class CheckedCitations:
    """The citations of an answer, by number, and the numbers without a passage."""

    citations: tuple[Citation, ...]
    invalid_numbers: tuple[int, ...]


def check_citations(answer: str, evidence: Evidence) -> CheckedCitations:
    """Resolve every cited number; each quote is the part of the passage nearest to its claims."""
    claims: dict[int, list[str]] = {}
    # Brackets in code are indices; blanked out, so that positions stay.
    prose = _CODE.sub(lambda code: " " * len(code.group()), answer)
    for mark in _MARK.finditer(prose):
        claim = _claim_before(answer[max(0, mark.start() - _LONGEST_CLAIM) : mark.start()])
        for number in re.findall(r"\d+", mark.group(1)):
            claims.setdefault(int(number), []).append(claim)
    citations: list[Citation] = []
    invalid: list[int] = []
    for number, texts in claims.items():
        passage = evidence.get(number)
        if passage is None:
            invalid.append(number)
        else:
            citations.append(_cite(number, passage, texts))
    return CheckedCitations(tuple(citations), tuple(invalid))


def without_marks(answer: str) -> str:
    """The answer without its marks: in a later run the numbers mean other passages."""
    return _MARK.sub("", answer)


def _claim_before(text: str) -> str:
    """The sentence or part of a paragraph in front of a mark."""
    paragraph = _TRAILING_MARKS.sub("", text).rsplit("\n\n", 1)[-1]
    pieces = sentences(paragraph)
    return pieces[-1] if pieces and not paragraph.lstrip().startswith(">") else paragraph


def _cite(number: int, passage: Passage, claims: list[str]) -> Citation:
    start, end = _quoted_span(passage.content, claims)
    quote = passage.content[start:end]
    # A cut table carries its header in front: its text is no plain slice of the document.
    is_slice = len(passage.content) == passage.char_end - passage.char_start
    char_start = passage.char_start + start if is_slice else passage.char_start
    return Citation(
        number=number,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        document_name=passage.document_name,
        knowledge_base_id=passage.knowledge_base_id,
        revision=passage.revision,
        heading_path=passage.heading_path,
        page=page_at(char_start, passage.page, passage.later_pages),
        char_start=char_start,
        char_end=passage.char_start + end if is_slice else passage.char_end,
        quote=quote,
        retrieval_id=passage.retrieval_id,
    )


def _quoted_span(content: str, claims: list[str]) -> tuple[int, int]:
    """From the first to the last sentence that a claim rests on, or the best one if far apart."""
    spans = _sentence_spans(content)
    tokens = [set(tokenize(content[start:end])) for start, end in spans]
    chosen = [nearest for claim in claims if (nearest := _nearest(set(tokenize(claim)), tokens))]
    if not chosen:
        return _trimmed(content, 0, min(len(content), _LONGEST_QUOTE))
    first, last = min(item[1] for item in chosen), max(item[2] for item in chosen)
    if spans[last][1] - spans[first][0] > _LONGEST_QUOTE:
        _, first, last = max(chosen)
    return _trimmed(content, spans[first][0], spans[last][1])


def _nearest(claim: set[str], tokens: list[set[str]]) -> tuple[float, int, int] | None:
    """Score, first and last of the sentences nearest to a claim, with neighbours that it repeats."""
    scores = [len(claim & have) / (len(have) + 4) for have in tokens]
    best = max(range(len(scores)), key=scores.__getitem__, default=0)
    if not scores or scores[best] == 0:
        return None
    first = last = best
    while first > 0 and tokens[first - 1] and tokens[first - 1] <= claim:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1] and tokens[last + 1] <= claim:
        last += 1
    return scores[best], first, last


def _sentence_spans(content: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    place = 0
    for block in re.split(r"\n\s*\n", content):
        for sentence in sentences(block):
            start = content.index(sentence, place)
            place = start + len(sentence)
            spans.append((start, place))
    return spans


def _trimmed(content: str, start: int, end: int) -> tuple[int, int]:
    text = content[start:end]
    left = len(text) - len(text.lstrip())
    return start + left, start + max(left, len(text.rstrip()))
